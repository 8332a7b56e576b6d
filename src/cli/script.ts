/**
 * The argument that gives an action list: the JSON itself, a file, or `-` for standard input.
 */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { field } from "../core/fields";
import { parseScript, readScript } from "../core/script";
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";

export const SCRIPT = field(v.string(), "Actions as JSON, a .json file, or - for stdin");

/** Whether `given` is not the path of a file. */
export const isInline = (given: string) => /^\s*[[{]|^-$/.test(given);

/** @throws a `bad_input` failure when `given`, which is not inline JSON, names no file. */
export function mustExist(given: string): void {
  if (existsSync(given)) return;
  throw badInput(`script: expected JSON, or the path of a .json file, but found ${printable(given, 200)}`);
}

/** @throws a `bad_input` failure when it is not an action list. */
export async function actionsIn(given: string): Promise<unknown[]> {
  if (!isInline(given)) mustExist(given);
  const [text, expected] =
    given === "-" ? [await Bun.stdin.bytes(), "JSON on stdin"] : [given, "JSON, or the path of a .json file"];
  const actions = isInline(given)
    ? parseScript(text, `script: expected ${expected}`)
    : await readScript(given);
  if (Array.isArray(actions)) return actions;
  throw badInput("script: expected a list of actions");
}

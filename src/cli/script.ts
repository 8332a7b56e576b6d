/**
 * The argument that gives an action list: the JSON itself, a file, or `-` for standard input.
 */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { field } from "../core/fields";
import { notationOf, parseScript, readScript, SCRIPT_FILE, type Script, withPlaces } from "../core/script";
import type { RunDefaults } from "../core/script-head";
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";

export const SCRIPT = field(v.string(), `Actions as JSON, ${SCRIPT_FILE}, or - for stdin`);

/** Whether `given` is not the path of a file. */
export const isInline = (given: string) => /^\s*[[{]|^-$/.test(given);

/** @throws a `bad_input` failure when `given`, which is not inline JSON, names no file. */
export function mustExist(given: string): void {
  if (existsSync(given)) return;
  if (notationOf(given)) throw badInput(`script: there is no file ${printable(given, 200)}`);
  throw badInput(`script: expected JSON, or the path of ${SCRIPT_FILE}, but found ${printable(given, 200)}`);
}

/**
 * What `work` does with the actions in `given`, and with what the script says of its run.
 *
 * @throws a `bad_input` failure when it is not an action list; what `work` throws. What is wrong in the list is named with
 *   its place in `given`.
 */
export async function withActions<T>(
  given: string,
  work: (actions: unknown[], defaults: RunDefaults) => Promise<T>,
): Promise<T> {
  const script = await scriptIn(given);
  const { actions, defaults } = script;
  if (!Array.isArray(actions)) throw badInput("script: expected a list of actions");
  return withPlaces(script, () => work(actions, defaults));
}

/**
 * What a script says of its run, for runs on other hosts, which are given no pace and no needs.
 *
 * @throws a `bad_input` failure for a script that has one.
 */
export function forHosts({ pace, needs, ...others }: RunDefaults): Omit<RunDefaults, "pace" | "needs"> {
  const odd = needs ? "needs" : pace === undefined ? undefined : "pace";
  if (odd === undefined) return others;
  throw badInput(`script: its ${odd} cannot be sent to hosts: leave it out`);
}

async function scriptIn(given: string): Promise<Script> {
  if (given === "-")
    return parseScript(await Bun.stdin.bytes(), "stdin", "script: expected UTF-8 on stdin", "any");
  if (isInline(given)) return parseScript(given, "script", "", "any");
  mustExist(given);
  return readScript(given);
}

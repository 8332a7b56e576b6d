/**
 * Script files: an action list, or `{"auto_control": [ … ]}` around it, in a regular `.json` file.
 */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { badInput, Failure, messageOf, systemCode } from "../lib/errors";
import { faultIn, placesIn, pointerTo, type TextPlace } from "../lib/json-places";
import { printable } from "../lib/sanitize";
import { type Offence, sentence, sentences } from "./input";

/** The largest script that is read, in bytes: much more than 1,000 actions need. */
export const MAX_SCRIPT_BYTES = 4 * 1024 * 1024;

/** A script as it was read. */
export interface Script {
  /** What messages call it: its path, or where it came from. */
  readonly name: string;
  readonly text: string;
  /** The unchecked action list, and the JSON Pointer to it. */
  readonly actions: unknown;
  readonly root: "" | "/auto_control";
}

/**
 * The script at `path`.
 *
 * @throws a `bad_input` failure when there is no such file, it is not a regular `.json` file (also behind a symbolic
 *   link), it is too large, or it is not JSON in UTF-8. No message quotes the content.
 */
export async function readScript(path: string): Promise<Script> {
  return parseScript(await readRegularJson(path), path, "path: the file is not in UTF-8");
}

/**
 * The script in `content`. Bytes may begin with a byte order mark.
 *
 * @param undecodable the message when they are not UTF-8.
 * @throws a `bad_input` failure when it is not JSON in UTF-8.
 */
export function parseScript(content: string | Uint8Array, name: string, undecodable: string): Script {
  const text = decode(content, undecodable);
  const parsed = parse(text, name);
  const wrapped = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  return wrapped && "auto_control" in parsed
    ? { name, text, actions: parsed.auto_control, root: "/auto_control" }
    : { name, text, actions: parsed, root: "" };
}

/** The refusal of an action list: every offence, and every unknown name, in the body of the error too. */
export class ListFault extends Failure {
  override readonly lines: readonly string[];

  /**
   * @param offences with paths from the list on. Without a script, the list is the field `actions` of a body.
   * @param unknown the unknown names, sorted.
   */
  constructor(
    private readonly offences: readonly Offence[],
    private readonly unknown: readonly string[],
    script?: Script,
  ) {
    const root = script?.root ?? "/actions";
    const pointers = offences.map(({ path = [] }) => root + pointerTo(path));
    const places = script ? placesIn(script.text, pointers) : [];
    const problems = offences.map(({ field, message }, nth) => {
      const problem = { action: field, message, pointer: pointers[nth] ?? "" };
      return { ...problem, ...places[nth] };
    });
    const worded = script ? problems.map((problem) => placed(script.name, problem)) : offences;
    super("bad_input", sentence(worded), { unknown_commands: unknown, problems });
    this.lines = sentences(worded);
  }

  /** The same, with the places in `script`, which the list came from. */
  in(script: Script): ListFault {
    return new ListFault(this.offences, this.unknown, script);
  }
}

/** What `work` makes of the actions of `script`. @throws what it throws, the refusal of the list with its places. */
export async function withPlaces<T>(script: Script, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ListFault ? error.in(script) : error;
  }
}

/** As compilers name a place: `nightly.json:3:14: /2/1/seconds: …`. */
function placed(
  name: string,
  { line = 1, column = 1, pointer, message }: Partial<TextPlace> & Record<"pointer" | "message", string>,
): Offence {
  const at = pointer && `${printable(pointer, 200)}: `;
  return { field: `${name}:${line}:${column}`, message: at + message };
}

async function readRegularJson(path: string): Promise<Uint8Array> {
  try {
    const real = await realpath(path);
    if (!path.endsWith(".json") || !real.endsWith(".json")) throw badInput("path: expected a .json file");
    // Without O_NONBLOCK, opening a FIFO waits for a writer (open(2)).
    const file = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = await file.stat();
      if (!found.isFile()) throw badInput("path: expected a regular file");
      if (found.size > MAX_SCRIPT_BYTES) throw badInput(`path: expected at most ${MAX_SCRIPT_BYTES} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput("path: no such file");
    if (code === "EACCES" || code === "EPERM") throw badInput("path: not readable");
    if (/^(ELOOP|ENAMETOOLONG|EINVAL|ERR_INVALID_ARG_VALUE)$/.test(code ?? "")) {
      throw badInput("path: not a usable path");
    }
    throw badInput(`path: cannot be read (${code ?? messageOf(error)})`);
  }
}

function decode(content: string | Uint8Array, undecodable: string): string {
  if (typeof content === "string") return content;
  try {
    // Not lenient: a replacement character would be typed on the keyboard.
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw badInput(undecodable);
  }
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.trim() === "") throw badInput(`${name}: expected a list of actions but found nothing`);
    const { line = 1, column = 1, expected = "JSON" } = faultIn(text) ?? {};
    throw badInput(`${name}:${line}:${column}: not JSON: expected ${expected}`);
  }
}

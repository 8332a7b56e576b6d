/**
 * Script files: an action list, `{"auto_control": [ … ]}` around it, or `{…, "actions": [ … ]}` with defaults of its run, in a regular file of JSON, JSON5 or YAML 1.2. However it
 * is written, it is the same list.
 */
import { realpath } from "node:fs/promises";
import { badInput, Failure, messageOf, systemCode } from "../lib/errors";
import { boundOf, excessIn } from "../lib/json-bounds";
import { faultIn, placesIn, pointerTo, type TextFault, type TextPlace } from "../lib/json-places";
import { readRegularFile } from "../lib/regular-file";
import { printable } from "../lib/sanitize";
import { Requester } from "../lib/slots";
import { nextTurn } from "../lib/turn";
import { createYamlReader, MAX_YAML, type YamlReader } from "../lib/yaml";
import { type Offence, sentence, sentences } from "./input";
import { type RunDefaults, readHead } from "./script-head";

/** The largest script that is read, in bytes: much more than 1,000 actions need. */
export const MAX_SCRIPT_BYTES = 4 * 1024 * 1024;

/** The most that is read of JSON5, in characters: it is read slower. */
const MAX_JSON5 = 256 * 1024;

/** How scripts may be written, by the ends of the names of files. */
const NOTATIONS = { json: "json", json5: "json5", yaml: "yaml", yml: "yaml" } as const;

type ScriptNotation = (typeof NOTATIONS)[keyof typeof NOTATIONS];

/** What the name of a file of actions ends in, in words. */
export const SCRIPT_FILE = "a .json, .json5, .yaml or .yml file";

/** How the script in the file at `path` is written, by the end of its name. */
export function notationOf(path: string): ScriptNotation | undefined {
  const end = path.slice(path.lastIndexOf(".") + 1);
  return path.includes(".") && Object.hasOwn(NOTATIONS, end)
    ? NOTATIONS[end as keyof typeof NOTATIONS]
    : undefined;
}

/** Who has a script read, and what reads it where it is written in YAML. */
export interface ScriptReader {
  readonly yaml: YamlReader;
  readonly requester: Requester;
}

/** A script as it was read. */
export interface Script {
  /** What messages call it: its path, or where it came from. */
  readonly name: string;
  /** The places of what these JSON Pointers lead to. */
  places(pointers: readonly string[]): TextPlace[] | Promise<TextPlace[]>;
  /** The unchecked action list, and the JSON Pointer to it. */
  readonly actions: unknown;
  readonly root: string;
  /** What it says of its own run. */
  readonly defaults: RunDefaults;
}

/**
 * The script at `path`.
 *
 * @param reader default: for the owner of the host.
 * @param options.quote whether messages of a file that cannot be read name it (default true).
 * @throws a `bad_input` failure when there is no such file, it is not a regular file with the end of a script (also behind a
 *   symbolic link), it is too large, or it is not what its name says in UTF-8. No message quotes the content.
 */
export async function readScript(
  path: string,
  reader?: ScriptReader,
  { quote = true }: { readonly quote?: boolean } = {},
): Promise<Script> {
  const content = await readScriptFile(path, quote);
  return parseScript(content, path, "path: the file is not in UTF-8", notationOf(path), reader);
}

/**
 * The script in `content`. Bytes may begin with a byte order mark.
 *
 * @param undecodable the message when they are not UTF-8.
 * @param notation how it is written; `any`: as it looks.
 * @throws a `bad_input` failure when it is not written so in UTF-8, or says something of its run that cannot be.
 */
export async function parseScript(
  content: string | Uint8Array,
  name: string,
  undecodable: string,
  notation: ScriptNotation | "any" = "json",
  reader?: ScriptReader,
): Promise<Script> {
  const text = decode(content, undecodable);
  if (text.trim() === "") throw badInput(`${name}: expected a list of actions but found nothing`);
  const { parsed, places } = await parse(
    text,
    name,
    notation === "any" ? await likely(text) : notation,
    reader,
  );
  const plain: Script = { name, places, actions: parsed, root: "", defaults: {} };
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return plain;
  if ("auto_control" in parsed) return { ...plain, actions: parsed.auto_control, root: "/auto_control" };
  if (!("actions" in parsed)) return plain;
  const head = readHead(parsed as Record<string, unknown>);
  if ("offences" in head) throw await new ListFault(head.offences, []).in(plain);
  return { ...plain, actions: parsed.actions, root: "/actions", defaults: head.defaults };
}

/** How a text that comes without a name is written. */
async function likely(text: string): Promise<ScriptNotation> {
  if (!/^\s*(?:[[{]|\/[/*])/.test(text)) return "yaml";
  // Of two that it is not, the one that it is longer.
  const json = await faultIn(text);
  const json5 = json && text.length <= MAX_JSON5 && (await faultIn(text, "json5"));
  if (!json || json5 === false) return "json";
  return !json5 || json5.line > json.line || (json5.line === json.line && json5.column > json.column)
    ? "json5"
    : "json";
}

interface ScriptText {
  readonly parsed: unknown;
  readonly places: Script["places"];
}

/** The most values and names of JSON: 1,000 actions need fewer. */
const MAX_VALUES = 100_000;

/** A text that is parsed in a turn of its own, in characters. */
const LONG = 64 * 1024;

async function parse(
  text: string,
  name: string,
  notation: ScriptNotation,
  { yaml, requester }: ScriptReader = { yaml: createYamlReader(), requester: new Requester(null) },
): Promise<ScriptText> {
  const [label, most] = LIMITS[notation];
  if (text.length > most) throw badInput(`${name}: expected at most ${most} characters of ${label}`);
  const refused = ({ line, column, expected }: TextFault) =>
    badInput(`${name}:${line}:${column}: not ${label}: expected ${expected}`);
  if (notation === "yaml") {
    const read = await yaml.read(text, requester);
    if ("fault" in read) throw refused(read.fault);
    return { parsed: read.value, places: (pointers) => yaml.places(text, pointers, requester) };
  }
  const places = (pointers: readonly string[]) => placesIn(text, pointers, notation);
  const unknown = { line: 1, column: 1, expected: label };
  // `Bun.JSON5` takes the last of two fields of one name, and numbers that JSON does not have.
  const fault = notation === "json5" ? await faultIn(text, notation) : undefined;
  if (fault) throw refused(fault);
  const excess = notation === "json" ? excessIn(text, MAX_VALUES) : undefined;
  if (excess === "values") throw badInput(`${name}: expected ${boundOf(excess, MAX_VALUES)}`);
  if (text.length > LONG) await nextTurn();
  try {
    if (excess) throw new SyntaxError(excess);
    return { parsed: notation === "json" ? JSON.parse(text) : Bun.JSON5.parse(text), places };
  } catch {
    throw refused((await faultIn(text, notation)) ?? unknown);
  }
}

/** What each is called, and the longest that is read, in characters. */
const LIMITS = {
  json: ["JSON", MAX_SCRIPT_BYTES],
  json5: ["JSON5", MAX_JSON5],
  yaml: ["YAML", MAX_YAML],
} as const;

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
    script?: Pick<Script, "name" | "root">,
    places: readonly TextPlace[] = [],
  ) {
    const pointers = pointersOf(offences, script?.root ?? "/actions");
    const problems = offences.map(({ field, message }, nth) => {
      const problem = { action: field, message, pointer: pointers[nth] ?? "" };
      return { ...problem, ...places[nth] };
    });
    const worded = script ? problems.map((problem) => placed(script.name, problem)) : offences;
    super("bad_input", sentence(worded), { unknown_commands: unknown, problems });
    this.lines = sentences(worded);
  }

  /** The same, with the places in `script`, which the list came from. */
  async in(script: Script): Promise<ListFault> {
    const places = await script.places(pointersOf(this.offences, script.root));
    return new ListFault(this.offences, this.unknown, script, places);
  }
}

const pointersOf = (offences: readonly Offence[], root: string) =>
  offences.map(({ path = [] }) => root + pointerTo(path));

/** What `work` makes of the actions of `script`. @throws what it throws, the refusal of the list with its places. */
export async function withPlaces<T>(script: Script, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ListFault ? await error.in(script) : error;
  }
}

/** As compilers name a place: `nightly.json:3:14: actions[2].seconds: …`. */
function placed(
  name: string,
  { line = 1, column = 1, action, message }: Partial<TextPlace> & Record<"action" | "message", string>,
): Offence {
  const at = action && `${printable(action, 200)}: `;
  return { field: `${name}:${line}:${column}`, message: at + message };
}

async function readScriptFile(path: string, quote: boolean): Promise<Uint8Array> {
  const shown = quote ? `: ${printable(path, 200)}` : "";
  try {
    const real = await realpath(path);
    if (!notationOf(path) || !notationOf(real)) throw badInput(`path: expected ${SCRIPT_FILE}${shown}`);
    return await readRegularFile(real, MAX_SCRIPT_BYTES, (expected) => badInput(`path: ${expected}${shown}`));
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput(`path: no such file${shown}`);
    if (code === "EACCES" || code === "EPERM") throw badInput(`path: not readable${shown}`);
    if (/^(ELOOP|ENAMETOOLONG|EINVAL|ERR_INVALID_ARG_VALUE)$/.test(code ?? "")) {
      throw badInput(`path: not a usable path${shown}`);
    }
    throw badInput(`path: cannot be read (${code ?? messageOf(error)})${shown}`);
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

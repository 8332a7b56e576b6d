/**
 * Bounds on JSON from outside, looked at before it is parsed: 1 MB of `{},{},…` takes the event loop a hundred times as long as 1 MB of
 * text, and what is nested 10,000 deep breaks whatever walks over it.
 */
import { badInput } from "./errors";

/** The deepest JSON that is read, in levels: all that svc exchanges has fewer than 100. Each level takes some of the stack. */
export const MAX_JSON_DEPTH = 500;

/** That bound in words. */
export const DEPTH_BOUND = `at most ${MAX_JSON_DEPTH} levels of nesting`;

/** The fewest bytes that a value or a name takes on the average; of samples for the inspector it is 8.5, of all else more. */
const BYTES_OF_A_VALUE = 8;

/** The most values and names that a text may have for its limit in bytes. */
export const mostValues = (maxBytes: number): number =>
  Math.max(1_000, Math.floor(maxBytes / BYTES_OF_A_VALUE));

/** What a JSON text has too much of. */
type JsonExcess = "depth" | "values";

/**
 * What `json` has too much of; undefined where it has not. Time is linear in its length, some nanoseconds a byte. It need not be JSON:
 * `JSON.parse` says so.
 *
 * @param maxValues the most values; the name of a field counts as one.
 */
export function excessIn(
  json: Uint8Array | string,
  maxValues: number,
  maxDepth = MAX_JSON_DEPTH,
): JsonExcess | undefined {
  const bytes = typeof json === "string" ? Buffer.from(json) : json;
  let values = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfText(bytes, at + 1);
      continue;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++;
      if (depth > maxDepth) return "depth";
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth--;
      continue;
    } else if (byte !== COMMA && byte !== COLON) continue;
    if (++values > maxValues) return "values";
  }
  return undefined;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

function endOfText(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * The value of a JSON text in UTF-8 of at most `maxBytes`.
 *
 * @throws a `bad_input` failure for what is nested too deep or has too many values; another error where it is no JSON in UTF-8.
 */
export function parseBoundedJson(json: Uint8Array, name: string, maxBytes: number): unknown {
  const maxValues = mostValues(maxBytes);
  const excess = excessIn(json, maxValues);
  if (excess) throw badInput(`${name}: expected ${boundOf(excess, maxValues)}`);
  return JSON.parse(UTF_8.decode(json));
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/** The bound that was exceeded, in words. */
export const boundOf = (excess: JsonExcess, maxValues: number): string =>
  excess === "depth" ? DEPTH_BOUND : `at most ${maxValues} values and names`;

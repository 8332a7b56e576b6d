/**
 * Where the values of a JSON text are, and where a text stops being JSON (RFC 8259). `JSON.parse` says neither. The same for
 * JSON5 (spec.json5.org), which refuses a name that an object has twice, and numbers that JSON does not have.
 *
 * The promise: time is linear in the length of the text, memory is not taken for its values, and a long text is read in slices,
 * between which the event loop serves others.
 *
 * `@humanwhocodes/momoa` 3.3.13 was tried in its place. It is linear, but takes a line feed in a string for JSON, and an octal escape
 * for JSON5; it refuses `+.5`; its errors do not say what was expected; 4 MiB of JSON become 770 MB in one piece of 1.4 s, and what is
 * nested deep is a `RangeError`.
 */
import { type Fault, Json5Scanner, JsonScanner, type PlaceTree, type TextPlace } from "./json-scanner";
import { inSlices } from "./turn";

export type { TextPlace } from "./json-scanner";

/** A JSON Pointer (RFC 6901). */
export function pointerTo(keys: ReadonlyArray<string | number>): string {
  return keys.map((key) => `/${`${key}`.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The keys that a JSON Pointer leads through. */
export const keysOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));

type Notation = "json" | "json5";

/** The places of the values at `pointers` in `text`, which is in this notation; of what is not there, the place of what it would be in. */
export async function placesIn(
  text: string,
  pointers: readonly string[],
  notation: Notation = "json",
): Promise<TextPlace[]> {
  const tree: PlaceTree = { inner: new Map() };
  for (const pointer of pointers) {
    let node = tree;
    for (const key of keysOf(pointer)) node = innerOf(node, key);
  }
  await scan(text, notation, tree);
  return pointers.map((pointer) => {
    let place = tree.place ?? { line: 1, column: 1 };
    let node: PlaceTree | undefined = tree;
    for (const key of keysOf(pointer)) {
      node = node.inner.get(key);
      if (node?.place === undefined) break;
      place = node.place;
    }
    return place;
  });
}

function innerOf({ inner }: PlaceTree, key: string): PlaceTree {
  const known = inner.get(key);
  if (known) return known;
  const made: PlaceTree = { inner: new Map() };
  inner.set(key, made);
  return made;
}

/** A place at which a text is not what it should be, and what would be right there. */
export interface TextFault extends TextPlace {
  readonly expected: string;
}

/** The first place at which `text` is not JSON, and what JSON has there; undefined when it is JSON. */
export async function faultIn(text: string, notation: Notation = "json"): Promise<TextFault | undefined> {
  const fault = await scan(text, notation, undefined);
  return fault ? { ...fault.place, expected: fault.expected } : undefined;
}

/** Where `text` stops being JSON, and what JSON has there, in words that quote nothing of it. */
export const faultText = async (text: string): Promise<string> =>
  placedText(await faultIn(text)) ?? "expected JSON";

/** Where an object of this JSON text has a name a second time, of which `JSON.parse` takes the last; undefined where none has. */
export const nameTwice = async (text: string): Promise<string | undefined> =>
  placedText(await faultIn(text, "json5"));

const placedText = (fault: TextFault | undefined): string | undefined =>
  fault && `line ${fault.line}, column ${fault.column}: expected ${fault.expected}`;

/** The line at which `text`, which is short, is not JSON; undefined when it is JSON. */
export function faultyLine(text: string): number | undefined {
  const scanner = new JsonScanner(text, undefined);
  while (!scanner.goOn());
  return scanner.fault?.place.line;
}

async function scan(
  text: string,
  notation: Notation,
  places: PlaceTree | undefined,
): Promise<Fault | undefined> {
  const scanner = notation === "json" ? new JsonScanner(text, places) : new Json5Scanner(text, places);
  await inSlices(() => scanner.goOn());
  return scanner.fault;
}

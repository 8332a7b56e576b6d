/**
 * JSON of long lists, written in slices: of ten thousand rows, that takes some 30 ms, in which others would wait.
 */
import { isObject } from "./is-object";
import { inSlices } from "./turn";

/** Items that are written in one piece, which takes a millisecond or two. */
const PIECE = 250;

/** A list that is shorter is written at once. */
const LONG = 1_000;

/** Whether {@link jsonInSlices} writes `value` in slices: a long list, or an object that has one. */
export function hasLongList(value: unknown): value is object {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  if (Array.isArray(value)) return value.length > LONG;
  return Object.values(value).some((one) => Array.isArray(one) && one.length > LONG);
}

/** What `JSON.stringify` makes of `value`, which is as it is while this goes on. */
export async function jsonInSlices(value: object): Promise<string> {
  if (Array.isArray(value)) return listInSlices(value);
  const fields: string[] = [];
  for (const [name, one] of Object.entries(value)) {
    const text = hasLongList(one) ? await listInSlices(one as readonly unknown[]) : JSON.stringify(one);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(",")}}`;
}

async function listInSlices(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  let at = 0;
  await inSlices(() => {
    pieces.push(JSON.stringify(list.slice(at, at + PIECE)).slice(1, -1));
    at += PIECE;
    return at >= list.length;
  });
  return `[${pieces.join(",")}]`;
}

/** How many characters of a long text are written in one piece, which takes a millisecond or two. */
const PIECE_LENGTH = 1_048_576;

/**
 * What `JSON.stringify` makes of `value`, piece by piece, where it is a long text, or an object that has some. Two halves of a character
 * that are in two pieces are written as escapes, and so read as that character.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === "string" && value.length > PIECE_LENGTH) {
    yield '"';
    for (let at = 0; at < value.length; at += PIECE_LENGTH)
      yield JSON.stringify(value.slice(at, at + PIECE_LENGTH)).slice(1, -1);
    yield '"';
  } else if (isObject(value)) {
    yield "{";
    yield* jsonFields(value);
    yield "}";
  } else yield JSON.stringify(value);
}

/** The same of the fields of an object, without its brackets. */
export function* jsonFields(value: object): Generator<string> {
  let comma = "";
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined) continue;
    yield `${comma}${JSON.stringify(name)}:`;
    yield* jsonPieces(one);
    comma = ",";
  }
}

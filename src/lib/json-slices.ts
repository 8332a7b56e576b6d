/**
 * JSON of long lists, written in slices: of ten thousand rows, that takes some 30 ms, in which others would wait.
 */
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

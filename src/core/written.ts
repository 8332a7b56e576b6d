/** An action as it is written: its references to variables, and its arguments by their places. */
import type { InputSchema } from "./operation";
import { baseOf, entryOf, metadataOf } from "./schema";

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}";
const PATH = String.raw`(?:\.[A-Za-z_][\w-]{0,99}|\[\d{1,7}\]|\['[^']{1,100}'\]){0,16}`;

/** What a text has in it that refers to a variable, or to none with another `$` before it. */
export const REFERENCE_PATTERN = String.raw`\$\{(${NAME})(${PATH})\}`;

/** As {@link REFERENCE_PATTERN}, with the other `$`: for `matchAll` and `search`. */
export const REFERENCE = new RegExp(String.raw`(\$?)${REFERENCE_PATTERN}`, "g");

/** A variable or a part of one, as it is between the braces. */
export const REFERENCE_TEXT = new RegExp(`^${NAME}${PATH}$`);

/** Whether `value` contains a `${name}` or `$${name}` anywhere. */
export function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.search(REFERENCE) >= 0;
  return typeof value === "object" && value !== null && Object.values(value).some(hasReference);
}

/** How many references are in `value`, at most `most`: no more are counted. */
export function countReferences(value: unknown, most: number): number {
  if (most <= 0) return 0;
  let count = 0;
  if (typeof value === "string") {
    for (const _ of value.matchAll(REFERENCE)) if (++count >= most) break;
  } else if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) count += countReferences(inner, most - count);
  return count;
}

/** The arguments that were written in order, by the names of their fields. @param values no more than there are fields. */
export function byName(
  schema: InputSchema,
  values: readonly unknown[],
): Array<[field: string, value: unknown]> {
  const names = Object.keys(schema.entries);
  return values.map((value, nth) => {
    const name = names[nth] ?? "";
    const entry = Array.isArray(value) ? entryOf(schema, name) : undefined;
    return [(entry && metadataOf(entry).listedAs) ?? name, value];
  });
}

/**
 * Whether `written` is the one argument of a command that takes a list and nothing else: `["AC_hotkey", ["ctrl", "c"]]`. In
 * `["AC_hotkey", ["${keys}"]]` the variable is the list.
 */
export function isWholeList(schema: InputSchema, written: readonly unknown[]): boolean {
  const [field, ...others] = Object.values(schema.entries);
  if (field === undefined || others.length > 0 || baseOf(field).type !== "array") return false;
  return written.length > 1 || written.some((item) => !Array.isArray(item) && !hasReference(item));
}

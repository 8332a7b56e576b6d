/**
 * The fields of an action: which it has, and how they were written.
 */
import * as v from "valibot";
import { type InputSchema, redact } from "../../core/operation";
import { baseOf, entryOf, isOptional, metadataOf } from "../../core/schema";
import { byName, hasReference, isWholeList } from "../../core/written";
import { isReference } from "./variables";

type Keywords = Readonly<Record<string, unknown>>;

/** The arguments without those that are null and may be left out: authors of other languages write `None` for the default. */
export function withoutNulls(schema: InputSchema, keywords: Keywords): Keywords {
  const isLeftOut = ([field, value]: readonly [string, unknown]) =>
    value === null && isNullLeftOut(entryOf(schema, field));
  return Object.fromEntries(Object.entries(keywords).filter((one) => !isLeftOut(one)));
}

/** Whether null for a field means in scripts that it is left out: it is optional, and null is no value of it. */
export const isNullLeftOut = (entry: v.GenericSchema | undefined): boolean =>
  entry !== undefined && isOptional(entry) && !v.is(entry, null);

/** Whether the field takes a list and was given something else. */
export function isUnwrapped(schema: InputSchema, field: string, keywords: Keywords): boolean {
  const entry = entryOf(schema, field);
  return entry !== undefined && baseOf(entry).type === "array" && !Array.isArray(keywords[field]);
}

/**
 * The arguments of a checked action as they were written, as keywords; secrets are `"***"`, and lists of actions are left out.
 * A `${name}` alone is no secret, nor is what a variable is set to where the action itself says that it is none.
 *
 * @param written what followed its name.
 */
export function asWritten(schema: InputSchema, written: unknown): Record<string, unknown> {
  const values = Array.isArray(written) && isWholeList(schema, written) ? [written] : written;
  const keywords = Array.isArray(values)
    ? Object.fromEntries(byName(schema, values))
    : ((values ?? {}) as Record<string, unknown>);
  const lists = listFields(schema);
  const shown = Object.entries(keywords).filter(([field]) => !lists.includes(field) && field !== "as");
  const isOpen = (field: string, value: unknown) =>
    isReference(value) ||
    (keywords.secret === false && metadataOf(entryOf(schema, field) ?? v.unknown()).passed === true);
  const open = shown.filter(([field, value]) => isOpen(field, value));
  return { ...redact(schema, Object.fromEntries(shown)), ...Object.fromEntries(open) };
}

/** `a, b or c`. */
export const listed = (names: readonly string[]) => names.join(", ").replace(/, ([^,]*)$/, " or $1");

/** The fields of `schema` that hold action lists. */
export const listFields = (schema: InputSchema): string[] => fieldsWith(schema, "actions");

/** Those that hold lists for other hosts. */
export const remoteFields = (schema: InputSchema): string[] => fieldsWith(schema, "remote");

function fieldsWith(schema: InputSchema, mark: "actions" | "remote" | "unfilled"): string[] {
  return Object.entries(schema.entries)
    .filter(([, entry]) => metadataOf(entry)[mark])
    .map(([field]) => field);
}

/** The fields whose values are known when the action runs alone: they have a reference. */
export function deferredFields(schema: InputSchema, keywords: Keywords): string[] {
  const lists = [...listFields(schema), ...fieldsWith(schema, "unfilled")];
  return Object.keys(schema.entries).filter(
    (field) => Object.hasOwn(keywords, field) && !lists.includes(field) && hasReference(keywords[field]),
  );
}

/** `schema`, accepting any value in `fields`. */
export function withUnchecked(schema: InputSchema, fields: readonly string[]): InputSchema {
  if (fields.length === 0) return schema;
  const unchecked = Object.fromEntries(fields.map((field) => [field, v.unknown()]));
  return v.strictObject({ ...schema.entries, ...unchecked });
}

/**
 * Schemas of the table as JSON Schema, for the API document and the command reference.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import type { Metadata } from "./schema";

/**
 * @param typeMode what a caller may send (`input`), or what svc answers (`output`).
 * @param marks whether the marks of `fields.ts` stay in it, as keywords that JSON Schema does not know (default true).
 */
export function jsonSchema(
  schema: v.GenericSchema,
  typeMode: "input" | "output",
  { marks = true }: { readonly marks?: boolean } = {},
): Record<string, unknown> {
  const { $schema: _dialect, ...converted } = toJsonSchema(schema, {
    typeMode,
    errorMode: "ignore",
    // The dialect of OpenAPI 3.1.
    target: "draft-2020-12",
    overrideAction: ({ valibotAction: { type }, jsonSchema }) =>
      type === "metadata" && !marks ? withoutMarks(jsonSchema) : undefined,
  });
  if ("entries" in schema) describeFields(converted, schema.entries as v.ObjectEntries);
  return converted;
}

const withoutMarks = <J extends object>({ secret: _s, actions: _a, text: _t, ...keywords }: J & Metadata) =>
  keywords;

/** Gives fields the description that stands behind a transformation, where the conversion does not look. */
function describeFields(
  { properties = {} }: ReturnType<typeof toJsonSchema>,
  entries: v.ObjectEntries,
): void {
  for (const [name, entry] of Object.entries(entries)) {
    const property = properties[name];
    const description = v.getDescription(entry);
    if (typeof property === "object" && description !== undefined) property.description ??= description;
  }
}

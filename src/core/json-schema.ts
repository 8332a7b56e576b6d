/**
 * Schemas of the table as JSON Schema, for the API document and the command reference.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

/** @param typeMode what a caller may send (`input`), or what comes of it (`output`). */
export function jsonSchema(schema: v.GenericSchema, typeMode: "input" | "output"): Record<string, unknown> {
  // The dialect of OpenAPI 3.1.
  const options = { typeMode, errorMode: "ignore", target: "draft-2020-12" } as const;
  const { $schema: _dialect, ...converted } = toJsonSchema(schema, options);
  if ("entries" in schema) describeFields(converted, schema.entries as v.ObjectEntries);
  return converted;
}

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

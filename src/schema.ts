/**
 * Schemas of the table as JSON Schema, for the API document and the command reference.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

/** @param typeMode what a caller may send (`input`), or what comes of it (`output`). */
export function jsonSchema(schema: v.GenericSchema, typeMode: "input" | "output"): Record<string, unknown> {
  const { $schema: _dialect, ...converted } = toJsonSchema(schema, { typeMode, errorMode: "ignore" });
  return converted;
}

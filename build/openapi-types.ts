/** The types of an API document, as openapi-typescript writes them. */
import { plugin } from "bun";
import type { SchemaObject } from "openapi-typescript";
import typescript from "typescript5";

/** The text of a module of declarations: `paths`, `components`, … @param document the API document, as JSON. */
export async function typesOf(document: string): Promise<string> {
  // openapi-typescript needs the compiler's API of TypeScript 5, which TypeScript 7 no longer has.
  plugin({
    name: "typescript 5",
    setup: (build) =>
      void build.module("typescript", () => ({ exports: { default: typescript }, loader: "object" })),
  });
  const { default: openapiTS, astToString, transformSchemaObject } = await import("openapi-typescript");
  const nodes = await openapiTS(document, {
    // Of an answer in lines, the type of a line.
    transform: (schema, options) =>
      "contentSchema" in schema
        ? transformSchemaObject(schema.contentSchema as SchemaObject, options)
        : undefined,
  });
  return astToString(nodes);
}

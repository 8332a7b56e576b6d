/**
 * Writes the types of the API document to `dashboard/openapi.d.ts`, from which the dashboard takes the types of all it
 * sends and receives. `npm run check` calls this first; the file is not committed.
 */
import { join } from "node:path";
import { plugin } from "bun";
import type { SchemaObject } from "openapi-typescript";
import typescript from "typescript5";
import { schemasOf } from "../src/events/schema";
import { openApiDocument } from "../src/http/openapi";
import { eventTypes, operations } from "../src/operations";
import { ROOT } from "./targets";

// openapi-typescript needs the compiler's API of TypeScript 5, which TypeScript 7 no longer has.
plugin({
  name: "typescript 5",
  setup: (build) =>
    void build.module("typescript", () => ({ exports: { default: typescript }, loader: "object" })),
});
const { default: openapiTS, astToString, transformSchemaObject } = await import("openapi-typescript");

const document = JSON.stringify(openApiDocument(operations, "http://127.0.0.1:9939", schemasOf(eventTypes)));
const nodes = await openapiTS(document, {
  // Of an answer in lines, the type of a line.
  transform: (schema, options) =>
    "contentSchema" in schema
      ? transformSchemaObject(schema.contentSchema as SchemaObject, options)
      : undefined,
});
await Bun.write(join(ROOT, "dashboard", "openapi.d.ts"), astToString(nodes));

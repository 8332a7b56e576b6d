/**
 * Writes the types of the API document to `dashboard/openapi.d.ts`, from which the dashboard takes the types of all it
 * sends and receives. `npm run check` calls this first; the file is not committed.
 */
import { join } from "node:path";
import { schemasOf } from "../src/events/schema";
import { openApiDocument } from "../src/http/openapi";
import { eventTypes, operations } from "../src/operations";
import { typesOf } from "./openapi-types";
import { ROOT } from "./targets";

const document = JSON.stringify(openApiDocument(operations, "http://127.0.0.1:9939", schemasOf(eventTypes)));
await Bun.write(join(ROOT, "dashboard", "openapi.d.ts"), await typesOf(document));

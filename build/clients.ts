/**
 * `npm run clients`: writes a client of the API for TypeScript to `dist/clients/typescript`, or to the folder that is named. Its types are
 * those of the API document of this source tree.
 */
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import packages from "../package.json";
import { schemasOf } from "../src/events/schema";
import { openApiDocument } from "../src/http/openapi";
import { eventTypes, operations } from "../src/operations";
import { typesOf } from "./openapi-types";
import { ROOT } from "./targets";

/** Writes the client to `folder`: `index.ts` (`build/clients/typescript.ts`), `api.ts` with the types, and `package.json`. */
export async function writeTypescriptClient(folder: string): Promise<void> {
  const document = JSON.stringify(openApiDocument(operations, "/", schemasOf(eventTypes)));
  const about = {
    name: "svc-client",
    version: packages.version,
    private: true,
    license: "MIT",
    type: "module",
    exports: "./index.ts",
    dependencies: { "openapi-fetch": packages.devDependencies["openapi-fetch"] },
  };
  await Bun.write(join(folder, "api.ts"), await typesOf(document));
  await Bun.write(join(folder, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
  cpSync(join(ROOT, "build/clients/typescript.ts"), join(folder, "index.ts"));
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(ROOT, "dist/clients/typescript"));
  await writeTypescriptClient(folder);
  console.info(folder);
}

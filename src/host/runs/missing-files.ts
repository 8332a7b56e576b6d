/**
 * Which files a checked list names that are not there: found before a run.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { metadataOf } from "../../core/schema";
import { jsonLine } from "../../lib/sanitize";
import { type Action, flatten } from "./actions";

/** How a PNG begins where its content is given in place of a path, in base64. */
const CONTENT = /^(?:data:|iVBORw0KGgo)/;

/**
 * What is probably a mistake, in sentences: files that the list names and that are in none of `folders`. Names with a
 * `${…}` are known when it runs.
 */
export function missingFiles(actions: readonly Action[], folders: readonly string[]): string[] {
  return flatten(actions).flatMap(({ operation, input, deferred, at }) =>
    Object.entries(operation.input.entries).flatMap(([field, schema]) => {
      const name = input[field];
      if (!metadataOf(schema).content || typeof name !== "string") return [];
      if (deferred.includes(field) || CONTENT.test(name)) return [];
      if (folders.some((folder) => existsSync(resolve(folder, name)))) return [];
      return [`${at}: ${field}: there is no file ${jsonLine(name)} now`];
    }),
  );
}

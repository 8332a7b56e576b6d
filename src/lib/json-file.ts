/** Files of JSON that may be lost: what is in them can be made again, or is asked anew. */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { unlessMissing } from "./files";
import { orElse } from "./or-else";

/** What is in `file`; undefined where it is missing, cannot be read, or has something else. */
export function jsonFileOf<T>(file: string, schema: v.GenericSchema<unknown, T>): T | undefined {
  return orElse(() => jsonFileToChange(file, schema), undefined);
}

/**
 * As {@link jsonFileOf}, for whoever writes it anew with what is in it.
 *
 * @throws the system error where it cannot be read, as with too many open files: what is in it would be lost.
 */
export function jsonFileToChange<T>(file: string, schema: v.GenericSchema<unknown, T>): T | undefined {
  const text = unlessMissing(() => readFileSync(file, "utf8"));
  return text === undefined ? undefined : orElse(() => v.parse(schema, JSON.parse(text)), undefined);
}

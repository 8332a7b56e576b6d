/** Files of JSON that may be lost: what is in them can be made again, or is asked anew. */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { orElse } from "./or-else";

/** What is in `file`; undefined where it is missing, cannot be read, or has something else. */
export function jsonFileOf<T>(file: string, schema: v.GenericSchema<unknown, T>): T | undefined {
  return orElse(() => v.parse(schema, JSON.parse(readFileSync(file, "utf8"))), undefined);
}

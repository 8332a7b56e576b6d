/** Texts of JSON from outside, read by a schema. */
import * as v from "valibot";
import { jsonIn } from "./json-in";

/** The value of a JSON text; undefined for a text that is no JSON, or of another form. */
export function valueIn<S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> | undefined {
  const read = v.safeParse(schema, jsonIn(text));
  return read.success ? read.output : undefined;
}

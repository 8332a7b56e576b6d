/** Values from outside, read by a schema. */
import * as v from "valibot";
import { jsonIn } from "./json-in";

/** `value` as the schema has it; undefined for one of another form. */
export function valueAs<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> | undefined {
  const read = v.safeParse(schema, value, { abortEarly: true });
  return read.success ? read.output : undefined;
}

/** The value of a JSON text; undefined for no text, one that is no JSON, or of another form. */
export const valueIn = <S extends v.GenericSchema>(schema: S, text: string | undefined) =>
  text === undefined ? undefined : valueAs(schema, jsonIn(text));

/**
 * What `svc execute` and `svc scripts run` share: the flags that set variables, and how a person sees the outcomes.
 */
import * as v from "valibot";
import { assignments, field, secret } from "../core/fields";
import type { Outcome } from "../core/run";
import { printable } from "../lib/sanitize";

export const VARIABLE_FIELDS = {
  var: field(
    v.optional(
      assignments(v.array(v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}=/, "NAME=VALUE")))),
    ),
    "Initial value of a variable: NAME=VALUE, which is JSON where it parses and text otherwise",
  ),
  var_file: field(
    v.optional(
      secret(
        v.pipe(
          v.unknown(),
          // A list would pass as a record.
          v.check(isObject, 'an object such as {"count": 3}'),
          v.record(v.string(), v.unknown()),
        ),
      ),
    ),
    "Initial values of variables: an object",
  ),
};

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Variables = v.InferOutput<v.ObjectSchema<typeof VARIABLE_FIELDS, undefined>>;

/** The input with the variables of all flags. Of one that is given twice, the value of `--var` counts. */
export function withVariables<I extends { readonly variables?: object | undefined }>(
  input: I,
  extra: Variables,
): I {
  const assigned = (extra.var ?? []).map((text) => {
    const at = text.indexOf("=");
    return [text.slice(0, at), jsonOrText(text.slice(at + 1))];
  });
  return { ...input, variables: { ...input.variables, ...extra.var_file, ...Object.fromEntries(assigned) } };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** An outcome on one line. */
export function outcomeLine({ command, ok, result, error, duration_ms }: Outcome): string {
  const text = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
  return `${ok ? "ok    " : "FAILED"}  ${command}  ${text}  (${duration_ms} ms)`;
}

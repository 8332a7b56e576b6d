/**
 * Schemas of the table as JSON Schema, for the API document and the command reference.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import type { Metadata } from "./schema";

type Mode = "input" | "output";

/**
 * The marks of `fields.ts` are keywords of their own: `x-svc-secret`, `x-svc-actions`, `x-svc-text`. A secret that a caller
 * sends is also `writeOnly`.
 *
 * @param typeMode what a caller may send (`input`), or what svc answers (`output`).
 */
export function jsonSchema(schema: v.GenericSchema, typeMode: Mode): Record<string, unknown> {
  const { $schema: _dialect, ...converted } = toJsonSchema(withoutResponse(schema), {
    typeMode,
    errorMode: "ignore",
    // The dialect of OpenAPI 3.1.
    target: "draft-2020-12",
    overrideAction({ valibotAction: action, jsonSchema }) {
      if (action.type === "metadata") return withKeywords(jsonSchema, typeMode);
      return "requirement" in action && action.requirement instanceof RegExp
        ? { ...jsonSchema, pattern: patternOf(action.requirement) }
        : undefined;
    },
  });
  if ("entries" in schema) describeFields(converted, schema.entries as v.ObjectEntries);
  return converted;
}

/** What an operation answers with as JSON, where it also answers with a `Response` of its own. */
function withoutResponse(schema: v.GenericSchema): v.GenericSchema {
  if (schema.type !== "union" || !("options" in schema)) return schema;
  const options = (schema.options as v.GenericSchema[]).filter(({ type }) => type !== "instance");
  const [only] = options;
  return options.length === 1 && only ? only : schema;
}

/** A regular expression as JSON Schema has it: without flags. */
function patternOf({ source, ignoreCase }: RegExp): string {
  if (!ignoreCase) return source;
  const both = (text: string) => text.toLowerCase() + text.toUpperCase();
  return source.replace(/\\(?:p\{[^}]*\}|.)|(\[(?:\\.|[^\]\\])*\])|[a-z]/gi, (part, set?: string) => {
    if (set)
      return set.replace(/\\(?:p\{[^}]*\}|.)|[a-z](?:-[a-z])?/gi, (one) =>
        one.startsWith("\\") ? one : both(one),
      );
    return part.startsWith("\\") ? part : `[${both(part)}]`;
  });
}

function withKeywords<J extends object>(
  {
    secret,
    actions,
    text,
    form,
    choices: _offered,
    passed: _passed,
    judged: _judged,
    remote: _remote,
    unfilled: _unfilled,
    branches: _branches,
    listedAs: _listedAs,
    variable: _variable,
    place: _place,
    content: _content,
    open: _open,
    ...others
  }: J & Metadata,
  mode: Mode,
) {
  return {
    ...(form && jsonSchema(form, mode)),
    ...others,
    ...(secret && { ...(mode === "input" && { writeOnly: true }), "x-svc-secret": true }),
    ...(actions && { "x-svc-actions": true }),
    ...(text && { "x-svc-text": text }),
  };
}

/** Gives fields the description that stands behind a transformation, where the conversion does not look. */
function describeFields(
  { properties = {} }: ReturnType<typeof toJsonSchema>,
  entries: v.ObjectEntries,
): void {
  for (const [name, entry] of Object.entries(entries)) {
    const property = properties[name];
    const description = v.getDescription(entry);
    if (typeof property === "object" && description !== undefined) property.description ??= description;
  }
}

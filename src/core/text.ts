/**
 * Text as the schema's types: what a query, a flag or an environment variable spells out becomes a value here.
 */
import * as v from "valibot";
import { badInput } from "../lib/errors";
import { jsonIn } from "../lib/json-in";
import { printable } from "../lib/sanitize";
import { parseAgo, parseDuration, parseSize } from "../lib/units";
import type { InputSchema } from "./operation";
import { alternativesOf, baseOf, entryOf, metadataOf } from "./schema";

/**
 * The fields of a query string: a list is its field once for each item; a tuple of numbers may also be one field, with
 * commas.
 *
 * @throws a `bad_input` failure for any other field given twice.
 */
export function fromQuery(schema: InputSchema, query: URLSearchParams): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, pairs] of Map.groupBy(query, ([key]) => key)) {
    const texts = pairs.map(([, text]) => text);
    const value = fromTexts(name, entryOf(schema, name), texts);
    // A field named `__proto__` is a field.
    Object.defineProperty(input, name, { value, enumerable: true });
  }
  return input;
}

/**
 * The value of a field that was given as `texts`, once or several times.
 *
 * @param name what the caller typed, for messages: the field or the flag.
 * @throws a `bad_input` failure when it was given several times and takes one value.
 */
export function fromTexts(
  name: string,
  schema: v.GenericSchema | undefined,
  texts: readonly string[],
): unknown {
  const base = schema && baseOf(schema);
  if (base?.type === "array" && !holdsJson(base)) return texts.map((text) => fromText(itemOf(base), text));
  if (base?.type === "strict_tuple") {
    return texts.flatMap((text) => text.split(",")).map((text) => fromText(v.number(), text));
  }
  if (texts.length > 1) throw badInput(`${printable(name, 200)}: given more than once`);
  return fromText(schema, texts[0] ?? "");
}

/** The value of one text; the text itself where it is no such value, for the input check to refuse. */
function fromText(schema: v.GenericSchema | undefined, text: string): unknown {
  if (schema === undefined) return text;
  const base = baseOf(schema);
  const { text: form } = metadataOf(schema);
  if (base.type === "number" || (base.type === "union" && form)) return numberOf(form, text);
  if (base.type === "boolean") return BOOLEANS.get(text) ?? text;
  if (form === "time") return parseAgo(text) ?? text;
  return base.type === "union" && isNumber(text) ? Number(text) : text;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

const isNumber = (text: string) => /^-?\d+(\.\d+)?$/.test(text);

function numberOf(form: string | undefined, text: string): unknown {
  if (isNumber(text)) return Number(text);
  if (form === "duration") return parseDuration(text) ?? text;
  return form === "size" ? (parseSize(text) ?? text) : text;
}

/**
 * What a person types as a value: JSON where it parses, else the text. A number that would be written otherwise stays a text: of
 * `1.10` and `12345678901234567890`, which may be a version and an order, nothing is lost.
 */
export function jsonOrText(text: string): unknown {
  const value = jsonIn(text);
  return value === undefined || (typeof value === "number" && `${value}` !== text.trim()) ? text : value;
}

const itemOf = (base: v.GenericSchema) => ("item" in base ? (base.item as v.GenericSchema) : undefined);

/** Whether one text is enough for each value. */
function isPlain(schema: v.GenericSchema): boolean {
  const base = baseOf(schema);
  const alternatives = alternativesOf(base);
  return (
    /^(string|number|picklist)$/.test(base.type) || (alternatives.length > 0 && alternatives.every(isPlain))
  );
}

/** Whether the value is written as JSON where only text can be given: an object, or a list of what is no plain value. */
export function holdsJson(schema: v.GenericSchema): boolean {
  const base = baseOf(schema);
  if (base.type === "array") return !isPlain(itemOf(base) ?? base);
  return /^(any|unknown|record|(strict_|loose_)?object)$/.test(base.type);
}

/** An action as it is written: its references to variables, and its arguments by their places. */
import { innerValues } from "../lib/inner-values";
import type { InputSchema } from "./operation";
import { baseOf, entryOf, metadataOf } from "./schema";

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}";

/** The name of a variable. */
export const VARIABLE_NAME = new RegExp(`^${NAME}$`);

/** A secret of the host: it has the form of its scope (`rights.ts`). */
const SECRET_NAME = "secret:[A-Za-z0-9][A-Za-z0-9._-]{0,63}";
const PATH = String.raw`(?:\.[A-Za-z_][\w-]{0,99}|\[\d{1,7}\]|\['[^']{1,100}'\]){0,16}`;

/** What a text has in it that refers to a variable, or to none with another `$` before it. */
const REFERENCE_PATTERN = String.raw`\$\{(${SECRET_NAME}|${NAME})(${PATH})\}`;

/** As {@link REFERENCE_PATTERN}, with the other `$`: for `matchAll` and `search`. */
export const REFERENCE = new RegExp(String.raw`(\$?)${REFERENCE_PATTERN}`, "g");

/** A text that is a reference and nothing else. */
export const REFERENCE_ALONE = new RegExp(`^${REFERENCE_PATTERN}$`);

/** A variable or a part of one, as it is between the braces. */
export const REFERENCE_TEXT = new RegExp(`^${NAME}${PATH}$`);

/** What a text has that is filled in when the action runs: a {@link REFERENCE_PATTERN}, or an expression. */
export const FILLED_PATTERN = String.raw`${REFERENCE_PATTERN}|\$\{=`;

const EXPRESSION_START = "${=";

/** A part of a text: an expression, `${= … }`, or what is between two. */
export interface TextPart {
  readonly text: string;
  /** What is in the braces; undefined for a part that is no expression, and for one behind another `$`, which stands for itself. */
  readonly expression?: string;
}

/**
 * The parts of a text, in their order. Braces within an expression are in pairs, or in quotes.
 *
 * @returns undefined where an expression has no end.
 */
export function partsOfText(text: string): TextPart[] | undefined {
  const parts: TextPart[] = [];
  let from = 0;
  for (let at = text.indexOf(EXPRESSION_START); at >= 0; at = text.indexOf(EXPRESSION_START, from)) {
    const end = endOfExpression(text, at + EXPRESSION_START.length);
    if (end === undefined) return undefined;
    const isEscaped = text[at - 1] === "$";
    parts.push({ text: text.slice(from, isEscaped ? at - 1 : at) });
    const whole = text.slice(at, end + 1);
    const expression = text.slice(at + EXPRESSION_START.length, end).trim();
    parts.push(isEscaped ? { text: whole } : { text: whole, expression });
    from = end + 1;
  }
  parts.push({ text: text.slice(from) });
  return parts;
}

/** So many characters more each expression counts: the shortest takes some time to read. */
export const EACH_EXPRESSION = 16;

/** How many characters the expressions in `value` have together, each with {@link EACH_EXPRESSION} more; none where one has no end. */
export function sizeOfExpressions(value: unknown): number {
  if (typeof value === "string") {
    const parts = value.includes(EXPRESSION_START) ? partsOfText(value) : undefined;
    const sizeOf = ({ expression }: TextPart) =>
      expression === undefined ? 0 : expression.length + EACH_EXPRESSION;
    return parts?.reduce((size, part) => size + sizeOf(part), 0) ?? 0;
  }
  if (typeof value !== "object" || value === null) return 0;
  return innerValues(value).reduce((size: number, inner) => size + sizeOfExpressions(inner), 0);
}

/** Where the brace is that closes the one before `from`. */
function endOfExpression(text: string, from: number): number | undefined {
  let depth = 0;
  let quote = "";
  for (let at = from; at < text.length; at++) {
    const one = text[at] as string;
    if (quote !== "") {
      if (one === "\\") at++;
      else if (one === quote) quote = "";
    } else if (one === '"' || one === "'") quote = one;
    else if (one === "{") depth++;
    else if (one === "}" && depth-- === 0) return at;
  }
  return undefined;
}

/** Whether `value` contains a `${name}`, a `$${name}` or a `${= … }` anywhere. */
export function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.includes(EXPRESSION_START) || value.search(REFERENCE) >= 0;
  return typeof value === "object" && value !== null && innerValues(value).some(hasReference);
}

const ANY_REFERENCE = new RegExp(FILLED_PATTERN, "g");

/** How many references and expressions are in `value`, at most `most`: no more are counted. */
export function countReferences(value: unknown, most: number): number {
  if (most <= 0) return 0;
  let count = 0;
  if (typeof value === "string") {
    for (const _ of value.matchAll(ANY_REFERENCE)) if (++count >= most) break;
  } else if (typeof value === "object" && value !== null)
    for (const inner of innerValues(value)) count += countReferences(inner, most - count);
  return count;
}

/** The arguments that were written in order, by the names of their fields. @param values no more than there are fields. */
export function byName(
  schema: InputSchema,
  values: readonly unknown[],
): Array<[field: string, value: unknown]> {
  const names = Object.keys(schema.entries);
  return values.map((value, nth) => {
    const name = names[nth] ?? "";
    const entry = Array.isArray(value) ? entryOf(schema, name) : undefined;
    return [(entry && metadataOf(entry).listedAs) ?? name, value];
  });
}

/**
 * Whether `written` is the one argument of a command that takes a list and nothing else: `["AC_hotkey", ["ctrl", "c"]]`. In
 * `["AC_hotkey", ["${keys}"]]` the variable is the list.
 */
export function isWholeList(schema: InputSchema, written: readonly unknown[]): boolean {
  const [field, ...others] = Object.values(schema.entries);
  if (field === undefined || others.length > 0 || baseOf(field).type !== "array") return false;
  return written.length > 1 || written.some((item) => !Array.isArray(item) && !hasReference(item));
}

/** How deep a value may be. */
const MAX_DEPTH = 64;

/**
 * `value` as an argument that stands for itself: nothing in it is filled in.
 *
 * @returns undefined where that cannot be written: an expression in it has no end, or it is too deep.
 */
export function literal(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (typeof value === "string") {
    if (!partsOfText(value)) return undefined;
    return value.replaceAll(REFERENCE, "$$$&").replaceAll(EXPRESSION_START, "$$$${=");
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => literal(item, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  const entries = Object.entries(value).map(([key, item]) => [key, literal(item, depth + 1)] as const);
  return entries.some(([, item]) => item === undefined) ? undefined : Object.fromEntries(entries);
}

/**
 * What `AC_set_var` computes: arithmetic on numbers, functions of texts and lists. Nothing is ever evaluated.
 *
 * Promise: no result is larger than a variable may be, and none is made first that is. No message quotes a value: it may be
 * secret.
 */
import { kindOf } from "../../core/input";
import { badInput } from "../../lib/errors";
import { indexIn, splitAt } from "../../lib/find-text";
import { jsonOr } from "../../lib/json-in";
import { MAX_FILLED, written } from "./variables";

type Compute = (current: unknown, value: unknown) => unknown;

/** A function of two numbers. */
const ofNumbers =
  (compute: (left: number, right: number) => number): Compute =>
  (current, value) =>
    finite(compute(number(current, CURRENT), number(value, VALUE)));

const ofText =
  (compute: (text: string) => unknown): Compute =>
  (current) =>
    compute(text(current, CURRENT));

/** Those that need a `value`: the operand. */
export const WITH_VALUE = {
  add: ofNumbers((left, right) => left + right),
  sub: ofNumbers((left, right) => left - right),
  mul: ofNumbers((left, right) => left * right),
  div: ofNumbers((left, right) => left / right),
  mod: ofNumbers((left, right) => left % right),
  min: ofNumbers(Math.min),
  max: ofNumbers(Math.max),
  append: (current, value) => within(text(current, CURRENT) + written(value)),
  push: (current, value) => [...list(current), value],
  split: (current, value) => parts(text(current, CURRENT), filled(value)),
  join: (current, value) => joined(list(current), text(value, VALUE)),
  replace: (current, value) => replaced(text(current, CURRENT), value),
  slice: (current, value) => sliced(current, value),
} satisfies Record<string, Compute>;

/** Those that need none. */
export const ALONE = {
  round: (current) => finite(Math.round(number(current, CURRENT))),
  upper: ofText((text) => within(text.toUpperCase())),
  lower: ofText((text) => within(text.toLowerCase())),
  trim: ofText((text) => text.trim()),
  length: (current) => (Array.isArray(current) ? current : text(current, CURRENT)).length,
  number: ofText((text) => numberIn(text)),
  text: written,
  json: ofText((text) => jsonOr(text, () => badInput(`${CURRENT}: expected a text that is JSON`))),
} satisfies Record<string, Compute>;

export type Computation = keyof typeof WITH_VALUE | keyof typeof ALONE;

/** @throws a `bad_input` failure where the function has no result for such values. */
export function compute(op: Computation, current: unknown, value: unknown): unknown {
  return ({ ...WITH_VALUE, ...ALONE } as Record<Computation, Compute>)[op](current, value);
}

const CURRENT = "the variable";
const VALUE = "value";

function number(value: unknown, what: string): number {
  if (typeof value === "number") return value;
  throw badInput(`${what}: expected a number but found ${kindOf(value)}`);
}

function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw badInput(`${what}: expected a text but found ${kindOf(value)}`);
}

function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw badInput(`${CURRENT}: expected a list but found ${kindOf(value)}`);
}

function filled(value: unknown): string {
  const found = text(value, VALUE);
  if (found !== "") return found;
  throw badInput("value: expected a text that is not empty");
}

/** JSON has no other numbers, and none below 0 that is 0. */
function finite(result: number): number {
  if (Number.isFinite(result)) return result === 0 ? 0 : result;
  throw badInput("the result is not a number: a division by zero, or too large");
}

function within(text: string): string {
  limit(text.length);
  return text;
}

function limit(length: number): void {
  if (length > MAX_FILLED.bytes) throw badInput(`expected a result of at most ${MAX_FILLED.bytes} bytes`);
}

/** Counted first: a million texts take far longer to make than to refuse. */
function parts(whole: string, separator: string): string[] {
  const count = countOf(whole, separator);
  // Of each item, its quotation marks and a comma too (`sizeWithin`).
  limit(whole.length - count * separator.length + 3 * (count + 1));
  return splitAt(whole, separator);
}

/** How often `part` is in `whole`, without overlaps. */
function countOf(whole: string, part: string): number {
  let count = 0;
  for (let at = indexIn(whole, part); at >= 0; at = indexIn(whole, part, at + part.length)) count++;
  return count;
}

function joined(items: readonly unknown[], separator: string): string {
  const texts = items.map(written);
  limit(texts.reduce((sum, one) => sum + one.length + separator.length, 0));
  return texts.join(separator);
}

function replaced(whole: string, value: unknown): string {
  const [from, to, ...others] = Array.isArray(value) ? value : [];
  if (typeof from !== "string" || typeof to !== "string" || from === "" || others.length > 0) {
    throw badInput('value: expected ["text to replace", "text in its place"]');
  }
  limit(whole.length + countOf(whole, from) * (to.length - from.length));
  return splitAt(whole, from).join(to);
}

function sliced(current: unknown, value: unknown): unknown {
  const [start, end, ...others] = Array.isArray(value) ? value : [];
  const isPlace = (one: unknown) => Number.isSafeInteger(one);
  if (!isPlace(start) || (end !== undefined && !isPlace(end)) || others.length > 0) {
    throw badInput("value: expected [start] or [start, end], whole numbers; below 0 they count from the end");
  }
  return Array.isArray(current) ? current.slice(start, end) : text(current, CURRENT).slice(start, end);
}

/** As a person writes it, in decimals. */
function numberIn(text: string): number {
  const trimmed = text.trim();
  if (/^[-+]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:e[-+]?\d{1,3})?$/i.test(trimmed))
    return finite(Number(trimmed));
  throw badInput(`${CURRENT}: expected a text that is a number, such as -12.5`);
}

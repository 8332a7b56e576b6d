/**
 * Comparing JSON values, as `AC_if_var` does.
 */
import { badInput } from "../lib/errors";

/** Equal, not equal, less, less or equal, greater, greater or equal, contains. */
export const COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "contains"] as const;

export type Comparison = (typeof COMPARISONS)[number];

/**
 * Whether `left` compares so to `right`. Values of different types are never equal: `"5"` is not `5`.
 *
 * @throws a `bad_input` failure for an order that is not between two numbers or two texts, and for `contains` on what is
 *   neither text, list nor object. No message quotes a value: it may be secret.
 */
export function compare(left: unknown, op: Comparison, right: unknown): boolean {
  if (op === "eq") return Bun.deepEquals(left, right, true);
  if (op === "ne") return !Bun.deepEquals(left, right, true);
  if (op === "contains") return contains(left, right);
  const order = orderOf(left, right);
  if (op === "lt") return order < 0;
  if (op === "le") return order <= 0;
  return op === "gt" ? order > 0 : order >= 0;
}

function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(whole)) return whole.some((item) => Bun.deepEquals(item, part, true));
  if (typeof whole === "string" && typeof part === "string") return whole.includes(part);
  if (typeof whole === "object" && whole !== null && typeof part === "string")
    return Object.hasOwn(whole, part);
  throw badInput("contains: expected text in a text, an item of a list or the name of a field of an object");
}

function orderOf(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0;
  throw badInput("lt, le, gt, ge: expected two numbers or two texts");
}

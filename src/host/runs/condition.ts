/**
 * What `AC_if_var`, `AC_while` and `AC_assert` ask of a variable.
 */
import * as v from "valibot";
import { field, passed, readsVariable } from "../../core/fields";
import { kindOf } from "../../core/input";
import type { RunContext } from "../../core/run";
import { REFERENCE_TEXT } from "../../core/written";
import { badInput } from "../../lib/errors";
import { indexIn } from "../../lib/find-text";
import { printable } from "../../lib/sanitize";

const equal = (left: unknown, right: unknown) => Bun.deepEquals(left, right, true);

/**
 * Comparisons of two JSON values. Values of different types are never equal: `"5"` is not `5`. One that does not compare
 * such values throws a `bad_input` failure, which quotes none of them: they may be secret.
 */
const COMPARISONS = {
  eq: equal,
  ne: (left: unknown, right: unknown) => !equal(left, right),
  lt: (left: unknown, right: unknown) => orderOf(left, right) < 0,
  le: (left: unknown, right: unknown) => orderOf(left, right) <= 0,
  gt: (left: unknown, right: unknown) => orderOf(left, right) > 0,
  ge: (left: unknown, right: unknown) => orderOf(left, right) >= 0,
  contains,
};

/** The fields of a condition. */
export const CONDITION = {
  name: field(
    readsVariable(
      v.pipe(
        v.string(),
        v.regex(REFERENCE_TEXT, "the name of a variable, or a part of it as in row.fields[0]"),
      ),
    ),
    "The variable, or a part of it (`row.fields[0]`); it must be set",
  ),
  op: field(
    v.optional(v.picklist(Object.keys(COMPARISONS) as Array<keyof typeof COMPARISONS>), "eq"),
    "The comparison; `lt`, `le`, `gt` and `ge` compare two numbers or two texts",
  ),
  value: field(passed(v.unknown()), "The value to compare it with"),
};

type Condition = v.InferOutput<v.StrictObjectSchema<typeof CONDITION, undefined>>;

/** Whether the condition is true now. @throws a `bad_input` failure when there is no such variable, or no such comparison. */
export const holds = (run: RunContext, { name, op, value }: Condition): boolean =>
  COMPARISONS[op](run.valueOf(name), value);

/** What a comparison expects of the variable, before the value. */
const EXPECTED = {
  eq: "not",
  ne: "expected anything but",
  lt: "expected less than",
  le: "expected at most",
  gt: "expected more than",
  ge: "expected at least",
  contains: "expected to contain",
} as const;

/** The longest value that a message quotes, in characters. */
const MAX_QUOTED = 200;

/**
 * Why the condition does not hold, with both values unless one of them is secret. A value in the script itself is as open as the
 * variable that it is compared with.
 *
 * @param message the author's own words, which come first.
 */
export function whyNot(run: RunContext, { name, op, value }: Condition, message?: string): string {
  const found = run.valueOf(name);
  const isOtherKind = op === "eq" && kindIn(found) !== kindIn(value);
  if (!run.isShown([`\${${name}}`, run.written("value")])) {
    if (message !== undefined) return message;
    const kinds = isOtherKind ? `: ${kindIn(found)} is never equal to ${kindIn(value)}` : "";
    return `${name} is not ${op} the value${kinds} (one of them is secret: neither is shown)`;
  }
  const quoted = (one: unknown) => {
    const text = printable(JSON.stringify(one) ?? "nothing", MAX_QUOTED);
    return isOtherKind ? `${text} (${kindIn(one).replace(/^an? /, "")})` : text;
  };
  const separator = op === "eq" ? "," : ":";
  const why = `${name} is ${quoted(found)}${separator} ${EXPECTED[op]} ${quoted(value)}`;
  return message === undefined ? why : `${message}: ${why}`;
}

const kindIn = (value: unknown): string =>
  typeof value === "string" ? "a text" : kindOf(value).replace("an array", "a list");

function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(whole)) return whole.some((item) => equal(item, part));
  if (typeof whole === "string" && typeof part === "string") return indexIn(whole, part) >= 0;
  if (typeof whole === "object" && whole !== null && typeof part === "string")
    return Object.hasOwn(whole, part);
  throw badInput("contains: expected text in a text, an item of a list or the name of a field of an object");
}

function orderOf(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0;
  throw badInput("lt, le, gt, ge: expected two numbers or two texts");
}

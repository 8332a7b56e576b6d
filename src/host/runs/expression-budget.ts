/** What an expression may take: steps, and time of the processor. */
import { usedMs } from "../../lib/clock";
import { sizeWithin } from "../../lib/json-size";

/** The most steps: values that are computed, and bytes of a value that is looked at. */
const MAX_STEPS = 100_000;
/** How many bytes count as one step. */
export const STEP_BYTES = 64;
/** How long it may take, in milliseconds of the processor: some functions, such as those with a time zone, take as long as many steps. */
const MAX_MS = 30;

/** The largest value that an expression looks at: that of all variables. */
export const MAX_VALUE = { bytes: 4 * 1024 * 1024, depth: 64 };
/** What each value in a list or an object counts at least, in bytes: of a million empty texts, copying alone takes 100 ms. */
const LEAST_BYTES = 16;

/** A bound that an expression does not keep, in words. */
export class Bounds extends Error {}

/** Nothing is left of what the expression may take: no part of it has a value any more. */
export class BudgetSpent extends Bounds {}

/** What an expression may take. Both throw a {@link BudgetSpent} once nothing is left. */
export interface Budget {
  take(steps: number): void;
  /** Takes what a value that was computed costs. */
  look(value: unknown): void;
}

/** The budget of one expression, from now on. */
export function createBudget(): Budget {
  let left = MAX_STEPS;
  const [began, used] = [performance.now(), usedMs()];
  // The clock first: to ask for the processor's takes longer.
  const isLate = () => performance.now() - began > MAX_MS && usedMs() - used > MAX_MS;
  const sizes = new WeakMap<object, number>();
  const take = (steps: number) => {
    left -= steps;
    if (left < 0 || isLate())
      throw new BudgetSpent("the expression takes too long: it has to be shorter, or its lists");
  };
  const sizeOf = (value: object): number => {
    const known = sizes.get(value);
    if (known !== undefined) return known;
    // What nothing is left for is not gone over to its end.
    const bounds = { ...MAX_VALUE, bytes: left * STEP_BYTES, least: LEAST_BYTES };
    const isJson = Array.isArray(value) || isPlainObject(value);
    const size = isJson ? (sizeWithin(value, bounds) ?? Number.POSITIVE_INFINITY) : 0;
    sizes.set(value, size);
    return size;
  };
  return {
    take,
    look(value: unknown): void {
      const size =
        typeof value === "string" ? value.length : typeof value === "object" && value ? sizeOf(value) : 0;
      take(1 + Math.ceil(size / STEP_BYTES));
    },
  };
}

/** Whether it is an object as JSON has it. */
export const isPlainObject = (value: object) => Object.getPrototypeOf(value) === Object.prototype;

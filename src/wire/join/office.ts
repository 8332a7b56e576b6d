/**
 * Which desk speaks: of several desks of the same hosts each has a line of its own, and within a line, the one with the highest generation
 * is the desk, for each take-over by a standby raises it.
 *
 * The promise: a host that has heard of a generation begins no job of an earlier one of that line. A desk that was never taken over says
 * nothing of either, so hosts with an earlier svc take its jobs as ever.
 */
import * as v from "valibot";
import { field } from "../../core/fields";

/** A desk among those of its hosts. */
export interface Office {
  /** Which of several desks of the same hosts; empty for the first. */
  readonly line: string;
  /** It rises with each take-over by a standby; 0 before the first. */
  readonly generation: number;
}

const LINE = v.pipe(v.string(), v.regex(/^(?:[a-z2-7]{8})?$/, "the line of a desk, or nothing"));

export const OFFICE = {
  line: field(LINE, "Which of several desks of the same hosts it is; empty for the first"),
  generation: field(
    v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
    "Of that desk: it rises with each take-over by a standby",
  ),
};

/** The `code` of a refusal, beside its `error`: the request is of a desk that was taken over. */
export const TAKEN_OVER = "taken_over";

/** By how much a word may raise a generation: a thousand take-overs. Whoever has the key takes it to where it cannot be raised in many steps only. */
export const MAX_STEP = 1_000 * 2 ** 20;

/** The desk that its jobs are of which say nothing of it. */
const FIRST: Office = { line: "", generation: 0 };

/** Whether a desk need not say which it is. */
export const isFirst = ({ line, generation }: Office): boolean => line === "" && generation === 0;

/** What the desk's key for jobs signs of it, for one host. */
export const officeMessage = (hostId: string, { line, generation }: Office): string =>
  ["svc-desk-generation-v1", hostId, line, generation].join("\n");

/**
 * The generation by which a desk is over; undefined where it is the desk, as far as is known.
 *
 * @param known the newest generations that were heard of, a line each.
 * @param sender absent where a job says nothing of it.
 */
export function laterThan(
  known: readonly Office[],
  { line, generation }: Office = FIRST,
): number | undefined {
  const newest = known.find((one) => one.line === line)?.generation ?? 0;
  return newest > generation ? newest : undefined;
}

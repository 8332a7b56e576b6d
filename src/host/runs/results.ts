/**
 * What a run keeps of the results of its actions until it ends: so much that memory is bounded.
 */
import type { NestedReport, Outcome } from "../../core/run";
import { messageOf } from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import { errorOf } from "./report";

/** The most outcomes of nested actions that a run reports, and as many again of those that failed. */
const MAX_NESTED_OUTCOMES = 2_000;

/** The most that the results of a run may take. Its report has each twice: by its action, and with its outcome. */
const MAX_RESULTS = { bytes: 32 * 1024 * 1024, depth: 1_000 };

/** @param hold counts bytes for all runs; false, where there is no room for them. */
export function createResults(hold: (bytes: number) => boolean) {
  let held = 0;
  const nested = { ok: 0, failed: 0 };
  return {
    /** Whether there is room for the result; then it counts. */
    fits(result: unknown): boolean {
      const bytes = sizeWithin(result, { ...MAX_RESULTS, bytes: MAX_RESULTS.bytes - held });
      if (bytes === undefined || !hold(bytes)) return false;
      held += bytes;
      return true;
    },
    /** What became of a list inside an action. @param signal that of the list. */
    report(all: readonly Outcome[], { aborted, reason }: AbortSignal): NestedReport {
      const failed = all.find(({ ok }) => !ok);
      const outcomes = all.filter(({ ok }) => ++nested[ok ? "ok" : "failed"] <= MAX_NESTED_OUTCOMES);
      const error = aborted ? messageOf(reason) : failed ? errorOf(failed) : null;
      return {
        ok: error === null,
        error,
        cancelled: aborted,
        outcomes,
        omitted: all.length - outcomes.length,
      };
    },
  };
}

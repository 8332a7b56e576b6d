/**
 * What ends a run besides its last action, and its end in all that keeps it.
 */
import type { Caller } from "../../core/caller";
import type { EndedRun } from "../../core/run";
import { cancelled, Failure, messageOf } from "../../lib/errors";
import type { RunRecord } from "../../wire/receipt/run-record";
import type { RunTrace } from "../trace/traces";
import type { ActiveRun } from "./active-run";
import type { RunPlace, RunSpan } from "./executor-parts";

/** The place, with which the run ends; but not once the run gives it back. */
export function endsRun(place: RunPlace, active: Pick<ActiveRun, "abort">): RunPlace {
  const { lost } = place;
  if (!lost) return place;
  const end = () => {
    const { reason } = lost;
    const [code, more] =
      reason instanceof Failure ? [reason.code, reason.more] : ["unavailable" as const, {}];
    active.abort(new Failure(code, `its desktop has ended: ${messageOf(reason)}`, more));
  };
  lost.addEventListener("abort", end);
  if (lost.aborted) end();
  return {
    ...place,
    end() {
      lost.removeEventListener("abort", end);
      return place.end();
    },
  };
}

/** Ends the run when this process stops, and when the client goes that asks for it with a token of its own host. */
export function endWith(caller: Caller, active: Pick<ActiveRun, "abort">): Disposable {
  const endOn = (signal: AbortSignal, why: string) => {
    const end = () => active.abort(cancelled(why));
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    return () => signal.removeEventListener("abort", end);
  };
  const ends = [endOn(caller.signal, "the process that runs it is stopping")];
  // A desk goes when the token for which it asks is revoked; this host would not learn of that.
  const gone = caller.request?.gone;
  if (caller.grant.limited && gone) ends.push(endOn(gone, "the client that asked for it has gone"));
  return {
    [Symbol.dispose]() {
      for (const end of ends) end();
    },
  };
}

/** Ends a run in all that keeps it: its trace first, which is whole once the run counts as ended. */
export const endOf =
  (active: ActiveRun, trace: RunTrace | undefined, span: RunSpan | undefined, record: RunRecord) =>
  async (
    { status, error_text }: Pick<EndedRun, "error_text"> & { status: Parameters<ActiveRun["end"]>[0] },
    scrub: (text: string) => string,
  ) => {
    const kept = await trace?.end({ status, error_text }, scrub);
    record.end(status, active.outcomes, kept?.sha256 ?? null);
    active.end(status, error_text);
    span?.end(status, error_text);
  };

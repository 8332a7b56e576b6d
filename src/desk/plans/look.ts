/**
 * What is looked at each second: what other processes have decided, tokens that have ended, and hosts that are to be tried again.
 */
import { Failure } from "../../lib/errors";
import { cancelAtHosts, decide } from "./decision";
import { drop } from "./dispatch";
import type { Plan } from "./ledger/rows";
import type { Run } from "./run";
import type { HowEnded, RunnerParts } from "./runner-parts";
import { guarded, inOrder, tryAgain } from "./scheduler";
import { pause, report } from "./waves";

/** Never rejects: what cannot be read now is read later. */
export async function look(shared: RunnerParts): Promise<void> {
  try {
    const endOf = await shared.uses.endings();
    if (shared.stopping.signal.aborted) return;
    const now = Date.now();
    for (const run of shared.runs.values()) if (run.isReading) guarded(run, () => heedMeanwhile(run));
    for (const run of inOrder(shared)) guarded(run, () => lookAt(run, endOf, now));
    shared.pump();
  } catch (error) {
    shared.complain(undefined, error);
  }
}

/** What is decided while hosts are read again holds at once: after a pause, nothing more is sent. Whoever reads them does so once more then. */
function heedMeanwhile(run: Run): void {
  try {
    run.plan = run.shared.uses.ledger.plan(run.plan.seq);
  } catch (error) {
    if (!isForgotten(error)) throw error;
  }
}

function lookAt(run: Run, endOf: HowEnded, now: number): void {
  const fresh = readAgain(run, now);
  if (!fresh) return;
  if (fresh.revision !== run.plan.revision || run.isStale) decide(run, () => fresh);
  // It is looked at once that is read.
  if (run.isReading) return;
  endWithToken(run, endOf, now);
  cancelAtHosts(run);
  tryAgain(run);
  report(run);
}

/** Undefined for one that somebody has forgotten, since all of its hosts had ended: then this process no longer runs it. */
function readAgain(run: Run, now: number): Plan | undefined {
  const { ledger } = run.shared.uses;
  try {
    return ledger.expire(run.plan.seq, now) ?? ledger.plan(run.plan.seq);
  } catch (error) {
    if (!isForgotten(error)) throw error;
    for (const entry of [...run.entries.values()]) drop(entry);
    run.release();
    return undefined;
  }
}

const isForgotten = (error: unknown): boolean => error instanceof Failure && error.code === "not_found";

/** Cancels a plan whose token was revoked, and pauses one whose token has expired. */
function endWithToken(run: Run, endOf: HowEnded, now: number): void {
  const { token, applied, state, seq, revision } = run.plan;
  if (token === null || !run.policy.followsToken) return;
  const ended = endOf(token, new Date(applied ?? now).toISOString());
  const why = `its token ${token} ${ended}`;
  if (ended === "was revoked" && state !== "cancelled" && state !== "expired")
    decide(run, () => run.shared.uses.ledger.cancel(seq, why, now, revision));
  if (ended === "has expired" && state === "running") pause(run, why);
}

/**
 * What a decision about a plan does at its hosts. Each that may have a job of a cancelled plan is asked to refuse or end it, until it
 * answers.
 */
import { inSlices } from "../../lib/turn";
import { drop, leave } from "./dispatch";
import { UnreadableBookError } from "./hosts";
import { PIECE_HOSTS } from "./ledger/creation";
import type { Plan } from "./ledger/rows";
import { type Entry, jobOf, type Run } from "./run";
import { ASK, laterThan } from "./runner-parts";

/** Takes what `change` returns for the plan: another process, or the same, has decided something about it. */
export function decide(run: Run, change: () => Plan): void {
  const { ledger } = run.shared.uses;
  run.plan = change();
  const { gone, sent } = run.load(ledger.open(run.plan.seq), ledger.counts(run.plan.seq));
  heed(run, gone, sent);
}

/**
 * Takes all hosts of a large plan that this process has just begun to run, in slices: nobody else changes them. What was decided about the
 * plan meanwhile is taken as well.
 *
 * @returns false where this process runs it no longer.
 */
export async function readInSlices(run: Run): Promise<boolean> {
  const { uses, runs } = run.shared;
  const { seq, hosts } = run.plan;
  let at = 0;
  const isLeft = () => runs.get(seq) !== run;
  await inSlices(() => {
    if (isLeft()) return true;
    run.take(uses.ledger.between(seq, at, at + PIECE_HOSTS));
    at += PIECE_HOSTS;
    return at >= hosts;
  });
  if (isLeft()) return false;
  const now = uses.ledger.plan(seq);
  if (now.revision === run.plan.revision) heed(run, [], run.loaded());
  else decide(run, () => now);
  return true;
}

/** Has hosts go on as the plan is now. @param gone those that have ended. @param sent those that may run a job. */
function heed(run: Run, gone: readonly Entry[], sent: readonly Entry[]): void {
  for (const entry of sent) {
    entry.due = 0;
    if (entry.cancel) entry.cancel.due = 0;
  }
  for (const entry of gone) if (entry.phase !== "asking") drop(entry);
  if (run.plan.state !== "running") {
    for (const entry of run.entries.values())
      if (entry.phase !== "asking" && entry.way === null) leave(entry);
  }
  cancelAtHosts(run);
}

/** Has hosts end what they may have, until each has answered. */
export function cancelAtHosts({ plan, entries }: Run): void {
  if (plan.state !== "cancelled") return;
  const now = performance.now();
  for (const entry of entries.values())
    if (entry.way === "job" && (entry.cancel?.due ?? 0) <= now) void cancelAt(entry);
}

/** Asks a host once. Never rejects. */
export async function cancelAt(entry: Entry): Promise<void> {
  const { plan, policy, shared } = entry.run;
  const { uses, hosts, stopping, complain } = shared;
  entry.cancel ??= { due: 0, tries: 0 };
  const { cancel } = entry;
  let isDone: boolean | undefined = false;
  try {
    const found = hosts.targetOf(entry);
    if (found?.identity !== entry.identity) return;
    cancel.due = Number.POSITIVE_INFINITY;
    const options = { signal: stopping.signal, client: policy.clientOf(plan) };
    isDone = await uses.cancelJob?.(found, jobOf(entry), options);
  } catch (error) {
    if (error instanceof UnreadableBookError) complain(entry.run, error);
  }
  if (isDone) entry.due = 0;
  else cancel.due = laterThan(ASK, cancel.tries++);
}

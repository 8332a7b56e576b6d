/**
 * What a decision about a plan does at its hosts. Each that may have a job of a cancelled plan is asked to refuse or end it, until it
 * answers.
 */
import { Failure } from "../../lib/errors";
import { inSlices } from "../../lib/turn";
import { drop, leave } from "./dispatch";
import { UnreadableBookError } from "./hosts";
import { PIECE_HOSTS } from "./ledger/creation";
import type { Plan } from "./ledger/rows";
import { type Entry, jobOf, type Run } from "./run";
import { ASK, laterThan } from "./runner-parts";

/**
 * Takes what `change` returns for the plan: another process, or the same, has decided something about it. What that makes of the hosts of a
 * large plan is read in slices.
 */
export function decide(run: Run, change: () => Plan): void {
  const { ledger } = run.shared.uses;
  const before = run.plan;
  run.plan = change();
  if (isPauseAlone(before, run.plan)) heed(run, run.loaded());
  else if (run.plan.hosts > PIECE_HOSTS) void rereadInSlices(run);
  else {
    const { gone, sent } = run.load(ledger.open(run.plan.seq), ledger.counts(run.plan.seq));
    dropAll(gone);
    heed(run, sent);
  }
}

/** Whether nothing else was decided than a pause, which leaves each host as it was. */
const isPauseAlone = (before: Plan, now: Plan): boolean =>
  now.state === "paused" && now.revision === before.revision + 1;

/**
 * Takes the hosts of a large plan that this process runs as they are by what was decided last, also while it reads. Nothing of the plan begins
 * meanwhile. What cannot be read is read later: with the next look. Never rejects.
 */
async function rereadInSlices(run: Run): Promise<void> {
  const { uses, runs, complain, pump } = run.shared;
  const { seq, hosts } = run.plan;
  const isLeft = () => runs.get(seq) !== run;
  run.isStale = true;
  // Whoever reads already takes this as well.
  if (run.isReading) return;
  run.isReading = true;
  try {
    while (run.isStale && !isLeft()) {
      const { revision } = run.plan;
      let at = 0;
      run.beginReading();
      await inSlices(() => {
        if (isLeft()) return true;
        dropAll(run.takeAgain(uses.ledger.between(seq, at, at + PIECE_HOSTS)));
        at += PIECE_HOSTS;
        return at >= hosts;
      });
      if (isLeft()) return;
      run.plan = uses.ledger.plan(seq);
      run.isStale = run.plan.revision !== revision;
      if (run.isStale) continue;
      run.counts = { ...uses.ledger.counts(seq) };
      heed(run, run.loaded());
    }
  } catch (error) {
    // That the plan was forgotten is for the next look.
    const isForgotten = error instanceof Failure && error.code === "not_found";
    if (!isForgotten && !isLeft()) complain(run, error);
  } finally {
    run.isReading = false;
    pump();
  }
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
  if (now.revision === run.plan.revision) heed(run, run.loaded());
  else decide(run, () => now);
  return true;
}

/** @param gone those that have ended. Of one with a request under way, that is noted with its answer. */
function dropAll(gone: readonly Entry[]): void {
  for (const entry of gone) if (entry.phase !== "asking") drop(entry);
}

/** Has hosts go on as the plan is now. @param sent those that may run a job. */
function heed(run: Run, sent: readonly Entry[]): void {
  for (const entry of sent) {
    entry.due = 0;
    if (entry.cancel) entry.cancel.due = 0;
  }
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

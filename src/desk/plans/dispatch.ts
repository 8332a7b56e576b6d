/**
 * One job at its host: it is sent, or asked about, and what the host answers is written down.
 *
 * The promise: the ledger knows that a job is sent before it is.
 */

import type { AnswerIntake } from "../../client/intake";
import { answerRoom } from "../../client/intake";
import { messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { DeliverOptions, JobResult, Way } from "../../wire/job/job";
import { UnreadableBookError } from "./hosts";
import type { Step } from "./ledger/rows";
import { STEPS, type StepName } from "./plan";
import { stepAfter } from "./protocol";
import { type Entry, jobOf, type Run } from "./run";
import { ASK, laterThan, TRY } from "./runner-parts";

/** How long after its time limits a host whose answer was lost may still say what became of its job, in milliseconds. */
const GRACE_MS = 30_000;

/** Sends it, or asks about it. */
export function start(entry: Entry): void {
  const { run } = entry;
  const { uses, complain, pump } = run.shared;
  run.begin(entry);
  void attempt(entry)
    .catch((error) => {
      if (error instanceof TargetEndedError) return drop(entry);
      if (error instanceof UnreadableBookError) {
        entry.due = laterThan(ASK, entry.tries++);
        return complain(run, error);
      }
      uses.log.error(`a job for ${printable(entry.label, 130)} failed: ${messageOf(error)}`, error);
      return end(entry, entry.way === null ? "failed" : "unknown", { error: "internal error" });
    })
    .finally(() => {
      run.rest(entry);
      pump();
    });
}

async function attempt(entry: Entry): Promise<void> {
  const { run, label, way: before } = entry;
  const { policy, shared } = run;
  const freeSlot = shared.slotsAt(shared.hosts.serverOf(entry)).take();
  // Its answer is in memory until whoever waits for it has it.
  using room = answerRoom(policy.clientOf(run.plan));
  try {
    const found = shared.hosts.targetOf(entry);
    if (found?.identity !== entry.identity) {
      const error = found
        ? "another host has this label since the plan was made"
        : "no longer in the address book";
      return await end(entry, before ? "unknown" : "refused", { error });
    }
    if (!before && policy.waits && shared.hosts.isOffline(label))
      return await offline(entry, shared.hosts.whyOffline(label));
    const done = await policy.deliver(found, jobOf(entry), optionsFor(entry, freeSlot, room));
    // Writing down how it ended needs none.
    freeSlot();
    if (!shared.stopping.signal.aborted) await noteResult(entry, before, done);
  } finally {
    freeSlot();
  }
}

/** @param idle is called when its host runs it for long. */
function optionsFor(entry: Entry, idle: () => void, room: AnswerIntake): DeliverOptions {
  const { run, way: before, records, state } = entry;
  return {
    signal: run.shared.stopping.signal,
    client: run.policy.clientOf(run.plan),
    before,
    records,
    idle,
    room,
    hasBegun: state === "running",
    maySend: () => run.plan.state === "running",
    async sent(way, records = null) {
      if (entry.way === way && entry.records === records) return;
      entry.since = performance.now();
      if (!(await write(entry, "send", { way, records }))) throw new TargetEndedError();
    },
    running: () => void write(entry, "run"),
  };
}

/** Writes down what a delivery has come back with. @param before how the job had been sent when that began. */
async function noteResult(entry: Entry, before: Way | null, { state, result }: JobResult): Promise<void> {
  const { plan, policy } = entry.run;
  if (state === "offline" && !policy.waits) return end(entry, "unreachable", result);
  const step = stepAfter(state, result.delivered, { before, way: entry.way, plan: plan.state });
  if (step === "offline") return offline(entry, result.error ?? "unreachable");
  if (step === "unseen") return unseen(entry);
  if (step === "lost") return lost(entry);
  if (state === "unseen" || state === "offline") return end(entry, step, { error: notBegun(entry.run) });
  // The step `sent` may be missing: what ran was sent.
  if (entry.way === null && !(STEPS[step].from as readonly string[]).includes("planned"))
    await write(entry, "send", { way: "job" });
  return end(entry, step, result);
}

/** Its host, and so all that wait behind it there, is not reached. */
async function offline(entry: Entry, error: string): Promise<void> {
  const why = printable(error, 300);
  const behind = entry.run.shared.queues.behind(entry.label);
  const waiting = behind.filter((one) => one.phase !== "asking" && one.way === null);
  for (const one of [entry, ...waiting]) {
    const isKnown = one.state === "waiting" && (one !== entry || one.why === why);
    if (!one.run.plan.spec.queue) await end(one, "unreachable", { error });
    else if (!isKnown && !(await write(one, "wait", one === entry ? { error: why } : {}))) drop(one);
  }
  entry.why = why;
  entry.due = laterThan(TRY, entry.tries++);
}

/** The host does not have it, and it may not be sent now. As a job it may have it yet: what was sent before may be on its way. */
async function unseen(entry: Entry): Promise<void> {
  if (entry.way === "execute" && !(await write(entry, "unsend"))) {
    drop(entry);
    return;
  }
  if (entry.way === null) leave(entry);
  else if (entry.run.plan.state === "cancelled") return lost(entry);
  entry.due = laterThan(ASK, entry.tries++);
}

/** Its answer was lost: it may have run. */
async function lost(entry: Entry): Promise<void> {
  const { overdue, plan } = entry.run;
  const { spec, expires } = plan;
  entry.due = laterThan(ASK, entry.tries++);
  if (performance.now() < entry.since + (spec.delivery_timeout_s + spec.timeout_s) * 1_000 + GRACE_MS) return;
  // A queued job may be known once its host is back; until then it counts as failed.
  if (spec.queue && Date.now() < (expires ?? 0)) overdue.set(entry, overdue.get(entry) ?? "counted");
  else await end(entry, "unknown", { error: "the answer was lost: it may have run" });
}

/** Takes note of a step once it is on disk. @returns false where the host is not in a state for it. */
export async function write(entry: Entry, step: StepName, more: Partial<Step> = {}): Promise<boolean> {
  const { run, n, attempt } = entry;
  run.writing++;
  const made = await run.shared.writer.write({ plan: run.plan.seq, n, attempt, step, ...more }, () => {
    const { state } = entry;
    entry.state = STEPS[step].to;
    if (step === "send") Object.assign(entry, { way: more.way ?? null, records: more.records ?? null });
    if (step === "wait" || step === "unsend") Object.assign(entry, { way: null, records: null });
    run.note(entry, state);
  });
  run.writing--;
  return made;
}

/** Writes down how it ended. */
export async function end(
  entry: Entry,
  step: StepName,
  result: Partial<Pick<JobResult["result"], "error" | "run_id">>,
): Promise<void> {
  const { run } = entry;
  const error = result.error === undefined ? undefined : printable(result.error, 300);
  const isKept = !run.plan.spec.part || step === "unreachable";
  await run.policy.written(write(entry, step, { error: isKept ? error : undefined, run_id: result.run_id }));
  if (step !== "ok") run.noteBad(entry);
  const isForgiven = run.overdue.get(entry) === "forgiven";
  const handedOver = drop(entry, step === "cancelled" ? step : "failed", error);
  // Whoever has decided something about the plan meanwhile has counted anew.
  if (isForgiven && entry.state === "ok") run.change({ forgiven: Math.max(0, run.plan.forgiven - 1) });
  await handedOver;
}

/** The entry has ended, here or in the ledger. @returns as `ended` of a policy. */
export function drop(
  entry: Entry,
  status: "failed" | "cancelled" = "cancelled",
  error = notBegun(entry.run),
): Promise<unknown> | undefined {
  const handedOver = entry.run.remove(entry) ? entry.run.policy.ended(entry, status, error) : undefined;
  leave(entry);
  return handedOver;
}

/** Gives up its turn at the host. */
export function leave(entry: Entry): void {
  const next = entry.run.shared.queues.leave(entry.label, entry);
  if (!next || next.phase === "asking") return;
  next.due = 0;
  next.run.again(next);
}

const notBegun = ({ plan }: Run) =>
  `not begun: its plan ${plan.state === "expired" ? "has expired" : "was cancelled"}`;

/** The host has ended in the ledger meanwhile. */
class TargetEndedError extends Error {}

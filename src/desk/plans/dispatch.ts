/**
 * One job at its host: it is sent, or asked about, and what the host answers is written down.
 *
 * The promise: the ledger knows that a job is sent before it is.
 */
import { messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { JobResult } from "../../wire/job/job";
import { type Hosts, Unread } from "./hosts";
import type { Step } from "./ledger/records";
import { NOT_LINKED, STEPS, type StepName } from "./plan";
import { stepAfter } from "./protocol";
import { type Entry, jobOf, type Run } from "./run";
import { ASK, laterThan, type Shared, TRY } from "./shared";

/** How long after its time limits a host whose answer was lost may still say what became of its job, in milliseconds. */
const GRACE_MS = 30_000;

export type Dispatch = ReturnType<typeof createDispatch>;

export function createDispatch(
  { uses, queues, slots, writer, stopping, pump, complain }: Shared,
  hosts: Hosts,
) {
  const { ledger, log } = uses;
  const write = async (entry: Entry, step: StepName, more: Partial<Step> = {}): Promise<boolean> => {
    const { run, n, attempt } = entry;
    run.writing++;
    const made = await writer.write({ plan: run.plan.seq, n, attempt, step, ...more });
    run.writing--;
    if (!made) return false;
    const { state } = entry;
    entry.state = STEPS[step].to;
    if (step === "send") Object.assign(entry, { way: more.way ?? null, records: more.records ?? null });
    if (step === "wait" || step === "unsend") Object.assign(entry, { way: null, records: null });
    run.note(entry, state);
    return true;
  };
  const leave = (entry: Entry) => {
    const next = queues.leave(entry.label, entry);
    if (!next || next.phase === "asking") return;
    next.due = 0;
    next.run.again(next);
  };
  const notBegun = ({ plan }: Run) =>
    `not begun: its plan ${plan.state === "expired" ? "has expired" : "was cancelled"}`;
  /** The entry has ended, here or in the ledger. */
  const drop = (entry: Entry, status: "failed" | "cancelled" = "cancelled", error?: string) => {
    const { run } = entry;
    if (run.remove(entry)) run.broadcast?.ended(entry, status, error ?? notBegun(run));
    leave(entry);
  };
  const end = async (entry: Entry, step: StepName, result?: JobResult["result"] | { error: string }) => {
    const error = result?.error === undefined ? undefined : printable(result.error, 300);
    const run_id = result && "run_id" in result ? result.run_id : undefined;
    const written = write(entry, step, { error, run_id });
    await (entry.run.broadcast?.writing(written) ?? written);
    if (step !== "ok") entry.run.noteBad(entry);
    const isForgiven = entry.run.overdue.get(entry) === "forgiven";
    drop(entry, step === "cancelled" ? step : "failed", error);
    if (!isForgiven || entry.state !== "ok") return;
    // Whoever has decided something about the plan meanwhile has counted anew.
    entry.run.change(ledger, { forgiven: Math.max(0, entry.run.plan.forgiven - 1) });
  };
  const offline = async (entry: Entry, error: string) => {
    const why = printable(error, 300);
    const behind = queues.behind(entry.label).filter((one) => one.phase !== "asking" && one.way === null);
    for (const one of [entry, ...behind]) {
      const isKnown = one.state === "waiting" && (one !== entry || one.why === why);
      if (!one.run.plan.spec.queue) await end(one, "unreachable", { error });
      else if (!isKnown && !(await write(one, "wait", one === entry ? { error: why } : {}))) drop(one);
    }
    entry.why = why;
    entry.due = laterThan(TRY, entry.tries++);
  };
  const lost = async (entry: Entry) => {
    const { spec, expires } = entry.run.plan;
    entry.due = laterThan(ASK, entry.tries++);
    if (performance.now() < entry.since + (spec.delivery_timeout_s + spec.timeout_s) * 1_000 + GRACE_MS)
      return;
    // A queued job may be known once its host is back; until then it counts as failed.
    const { overdue } = entry.run;
    if (spec.queue && Date.now() < (expires ?? 0)) overdue.set(entry, overdue.get(entry) ?? "counted");
    else await end(entry, "unknown", { error: "the answer was lost: it may have run" });
  };

  /** The host does not have it, and it may not be sent now. As a job it may have it yet: what was sent before may be on its way. */
  const unseen = async (entry: Entry) => {
    if (entry.way === "execute" && !(await write(entry, "unsend"))) return drop(entry);
    if (entry.way === null) leave(entry);
    else if (entry.run.plan.state === "cancelled") return lost(entry);
    entry.due = laterThan(ASK, entry.tries++);
  };

  const attempt = async (entry: Entry): Promise<void> => {
    const { run, label } = entry;
    const { broadcast } = run;
    const before = entry.way;
    const freeSlot = slots.take();
    try {
      const found = hosts.targetOf(entry);
      const fault =
        found === undefined
          ? "no longer in the address book"
          : found.identity === entry.identity
            ? undefined
            : "another host has this label since the plan was made";
      if (!found || fault !== undefined) {
        return await end(entry, before ? "unknown" : "refused", { error: fault ?? "" });
      }
      if (!before && !broadcast && hosts.isOffline(label)) return await offline(entry, NOT_LINKED);
      const job = jobOf(entry);
      const deliver = broadcast?.deliver ?? uses.deliver;
      const { state, result } = await deliver(found, job, {
        signal: stopping,
        client: run.plan.token,
        before,
        hasBegun: entry.state === "running",
        records: entry.records,
        maySend: () => run.plan.state === "running",
        async sent(way, records = null) {
          if (entry.way === way && entry.records === records) return;
          entry.since = performance.now();
          if (!(await write(entry, "send", { way, records }))) throw new Gone();
        },
        running: () => void write(entry, "run"),
        idle: freeSlot,
      });
      // Writing down how it ended needs none.
      freeSlot();
      if (stopping.aborted) return;
      if (state === "offline" && broadcast) return end(entry, "unreachable", result);
      const step = stepAfter(state, result.delivered, { before, way: entry.way, plan: run.plan.state });
      if (step === "offline") return offline(entry, result.error ?? "unreachable");
      if (step === "unseen") return unseen(entry);
      if (step === "lost") return lost(entry);
      if (state === "unseen" || state === "offline") return end(entry, step, { error: notBegun(run) });
      // The step `sent` may be missing: what ran was sent.
      if (entry.way === null && (STEPS[step].from as readonly string[]).indexOf("planned") < 0)
        await write(entry, "send", { way: "job" });
      return end(entry, step, result);
    } finally {
      freeSlot();
    }
  };
  const start = (entry: Entry): void => {
    entry.run.begin(entry);
    void attempt(entry)
      .catch((error) => {
        if (error instanceof Gone) return drop(entry);
        if (error instanceof Unread) {
          entry.due = laterThan(ASK, entry.tries++);
          return complain(entry.run, error);
        }
        log.error(`a job for ${printable(entry.label, 130)} failed: ${messageOf(error)}`, error);
        return end(entry, entry.way === null ? "failed" : "unknown", { error: "internal error" });
      })
      .finally(() => {
        entry.run.rest(entry);
        pump();
      });
  };

  return {
    /** Takes note of a step once it is on disk. @returns false where the host is not in a state for it. */
    write,
    /** Gives up its turn at the host. */
    leave,
    drop,
    /** Writes down how it ended. */
    end,
    /** Sends it, or asks about it. */
    start,
  };
}

/** The host has ended in the ledger meanwhile. */
class Gone extends Error {}

/**
 * The runner of plans: sends the jobs of plans that were applied, wave by wave, and takes note of what became of them.
 *
 * Promises. One process runs a plan at a time (a lock of the plan). Before a job is sent, the ledger knows: whoever goes on after a
 * crash asks the host for that job, and sends no other. A host has one job of a plan of this process at a time, in the order in which
 * plans came to it. Jobs that have waited for their host begin at a limited rate. Nothing is sent but while its plan runs; what another process
 * has decided, such as a pause, is read within a second. Where a plan was cancelled, hosts are asked to refuse or end what they may have until
 * they answer.
 */
import { join } from "node:path";
import { conflict, Failure, messageOf } from "../../lib/errors";
import { tryLock } from "../../lib/lock";
import { type BroadcastCaller, createBroadcast } from "./broadcast";
import { createCancellation } from "./cancellation";
import { createDispatch } from "./dispatch";
import { aboutPlan, planPaused } from "./events";
import { createHostQueues } from "./host-queue";
import { createHosts } from "./hosts";
import type { Plan } from "./ledger/records";
import { FAILURES } from "./plan";
import { createRun, type Entry, type Run } from "./run";
import { createScheduler } from "./scheduler";
import { type HowEnded, LOOK_MS, type RunnerUses, type Shared } from "./shared";
import { createSlots } from "./slots";
import { createWaves } from "./waves";
import { createWriter } from "./writer";

export type Runner = ReturnType<typeof createRunner>;

export function createRunner(uses: RunnerUses) {
  const { ledger, log, publish } = uses;
  const runs = new Map<number, Run>();
  const queues = createHostQueues<Entry>();
  const slots = createSlots(() => pump());
  const stopping = new AbortController();
  const writer = createWriter(ledger, log, () => pump());
  const complaints = new Map<number, string>();
  let timer: Timer | undefined;

  const complain = (run: Run | undefined, error: unknown): void => {
    const what = `${run ? `the plan ${run.plan.id}` : "plans"} cannot go on for now: ${messageOf(error)}`;
    const key = run?.plan.seq ?? 0;
    if (complaints.get(key) !== what) log.warn(what);
    complaints.set(key, what);
  };

  let isPumping = false;
  const pump = (): void => {
    if (isPumping) return;
    isPumping = true;
    setImmediate(begin);
  };

  const release = (run: Run): void => {
    runs.delete(run.plan.seq);
    complaints.delete(run.plan.seq);
    run.release();
    run.over.resolve();
    if (runs.size === 0) clearInterval(timer);
  };

  /** Another process, or the same, has decided something about the plan. */
  const decide = (run: Run, change: () => Plan): void => {
    run.plan = change();
    const { gone, sent } = run.load(ledger.open(run.plan.seq), ledger.counts(run.plan.seq));
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
  };

  const shared: Shared = { uses, runs, queues, slots, writer, stopping: stopping.signal, pump, complain };
  const hosts = createHosts(uses);
  const dispatch = createDispatch(shared, hosts);
  const { leave, drop } = dispatch;
  const { cancelAtHosts, cancelAt } = createCancellation(shared, hosts);
  const { beginOne, tryAgain } = createScheduler(shared, hosts, dispatch);
  const { settle, report } = createWaves(shared, dispatch, { decide, release });

  const guarded = <T>(run: Run, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      // Another process has decided something meanwhile: the next look reads it.
      if (!(error instanceof Failure && error.code === "conflict")) complain(run, error);
      return undefined;
    }
  };
  /** The order in which plans get places: first those whose caller waits, then those in which no host began for longest. */
  const inOrder = () =>
    [...runs.values()].sort(
      (a, b) => Number(a.broadcast === undefined) - Number(b.broadcast === undefined) || a.began - b.began,
    );
  /** Begins what may begin: one host of each plan after the other, so that none takes all places. */
  const begin = (): void => {
    isPumping = false;
    const order = inOrder();
    const [plans, broadcasts] = [false, true].map((is) => order.filter((run) => is === !!run.broadcast));
    for (let able of [broadcasts ?? [], plans ?? []]) {
      while (able.length > 0) able = able.filter((run) => guarded(run, () => beginOne(run)));
    }
    for (const run of order) guarded(run, () => settle(run));
  };
  /** Never rejects: what cannot be read now is read later. */
  const look = async (): Promise<void> => {
    try {
      const endOf = await uses.endings();
      if (!stopping.signal.aborted) lookAt(endOf);
    } catch (error) {
      complain(undefined, error);
    }
  };
  const lookAt = (endOf: HowEnded): void => {
    const now = Date.now();
    for (const run of inOrder()) guarded(run, () => lookAtRun(run, endOf, now));
    pump();
  };
  const lookAtRun = (run: Run, endOf: HowEnded, now: number): void => {
    const { seq } = run.plan;
    const fresh = readAgain(run, now);
    if (!fresh) return;
    if (fresh.revision !== run.plan.revision) decide(run, () => fresh);
    const { token, applied } = run.plan;
    // The caller of a broadcast stops waiting when its token ends.
    const ended =
      token === null || run.broadcast ? null : endOf(token, new Date(applied ?? now).toISOString());
    const why = `its token ${token} ${ended}`;
    if (ended === "was revoked" && run.plan.state !== "cancelled" && run.plan.state !== "expired")
      decide(run, () => ledger.cancel(seq, why, now, run.plan.revision));
    if (ended === "has expired" && run.plan.state === "running") {
      decide(run, () => ledger.pause(seq, why, run.plan.revision));
      publish(planPaused, { ...aboutPlan(run.plan), reason: why });
    }
    cancelAtHosts(run);
    tryAgain(run);
    report(run);
  };
  /** Undefined for one that somebody has forgotten, since all of its hosts had ended: then this process no longer runs it. */
  const readAgain = (run: Run, now: number): Plan | undefined => {
    try {
      return ledger.expire(run.plan.seq, now) ?? ledger.plan(run.plan.seq);
    } catch (error) {
      if (!(error instanceof Failure && error.code === "not_found")) throw error;
      for (const entry of [...run.entries.values()]) drop(entry);
      release(run);
      return undefined;
    }
  };

  const lockOf = (id: string) => tryLock(join(uses.locks, `${id}.lock`));
  const add = (run: Run): void => {
    decide(run, () => run.plan);
    runs.set(run.plan.seq, run);
    // Jobs that may run already come before all others.
    for (const entry of run.entries.values()) if (entry.way !== null) queues.take(entry.label, entry);
    if (runs.size === 1) timer = setInterval(look, LOOK_MS);
    setImmediate(look);
  };

  const runner = {
    /** Whether this process runs the plan. */
    has: (seq: number): boolean => runs.has(seq),
    /**
     * Runs a plan that was applied, unless somebody does.
     *
     * @returns whether this process does.
     */
    run(seq: number): boolean {
      if (runs.has(seq)) return true;
      if (stopping.signal.aborted) return false;
      const release = lockOf(ledger.plan(seq).id);
      if (!release) return false;
      try {
        // Somebody may have ended it before this process had the lock.
        let plan = ledger.plan(seq);
        if (plan.applied === null || plan.ended !== null) {
          release();
          return false;
        }
        // The actions of a broadcast are not kept.
        if (plan.spec.kind === "broadcast" && plan.state === "running")
          plan = ledger.cancel(seq, "the process that ran it has ended", Date.now());
        const failed = ledger.targets(seq, FAILURES).map(({ n }) => n);
        add(createRun(plan, ledger.content(seq), failed, release));
        return true;
      } catch (error) {
        release();
        throw error;
      }
    },
    /**
     * Applies a new plan that ends with this process, and runs it.
     *
     * @param apply is called with the lock of the plan.
     * @returns when each host has its result, which all are in the ledger unless that cannot be written any more.
     * @throws what `apply` throws: then nothing was sent.
     */
    async attend({ seq, id, spec }: Plan, apply: () => Plan, caller: BroadcastCaller): Promise<void> {
      const unlock = lockOf(id);
      if (!unlock) throw conflict(`the plan ${id} is run by another process`);
      using broadcast = createBroadcast(caller, spec, uses.deliver);
      let run: Run;
      try {
        run = createRun(apply(), caller.content, [], unlock, broadcast);
        add(run);
      } catch (error) {
        unlock();
        throw error;
      }
      const { signal } = caller;
      const leaveHosts = () => {
        for (const entry of run.entries.values()) if (entry.way === "job") void cancelAt(entry);
        pump();
      };
      signal.addEventListener("abort", leaveHosts, { once: true });
      if (signal.aborted) leaveHosts();
      pump();
      await Promise.race([run.over.promise, broadcast.left]);
      signal.removeEventListener("abort", leaveHosts);
      // One whose hosts have all ended ends once that can be written.
      if (runs.get(seq) === run && run.entries.size > 0) release(run);
      for (const entry of run.entries.values()) {
        const why = entry.way === null ? "cancelled" : "cancelled: it may still run";
        if (run.remove(entry)) broadcast.ended(entry, "cancelled", why);
      }
    },
    /**
     * Runs the plans that were applied and that no process runs, in the order in which they were: after a restart, or where another
     * process has died.
     *
     * @throws what one of them cannot be run for now, when all were tried.
     */
    takeOver(): void {
      const faults: unknown[] = [];
      const open = ledger.plans({ open: true });
      for (const { seq } of open.sort((a, b) => (a.applied ?? 0) - (b.applied ?? 0) || a.seq - b.seq)) {
        try {
          runner.run(seq);
        } catch (error) {
          faults.push(error);
        }
      }
      if (faults.length > 0) throw faults[0];
    },
    /** Reads at once what was decided about a plan. */
    wake: (): Promise<void> => look(),
    /** The host is reachable again: its queued jobs begin soon. */
    hostUp(label: string): void {
      const entry = queues.first(label);
      if (!entry) return;
      entry.due = 0;
      if (entry.cancel && entry.cancel.due < Number.POSITIVE_INFINITY) entry.cancel.due = 0;
    },
    /** Resolves when this process no longer runs the plan. */
    over: async (seq: number): Promise<void> => runs.get(seq)?.over.promise,
    /** Stops running plans; another process may continue them. */
    stop(): void {
      stopping.abort();
      clearInterval(timer);
      writer.close();
      for (const run of [...runs.values()]) release(run);
    },
  };
  return runner;
}

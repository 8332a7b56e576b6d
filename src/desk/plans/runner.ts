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
import { conflict, unavailable } from "../../lib/errors";
import { type Release, tryLock } from "../../lib/lock";
import { nextTurn } from "../../lib/turn";
import { Broadcast, type BroadcastCaller } from "./broadcast";
import { cancelAt, decide, readInSlices } from "./decision";
import { PIECE_HOSTS } from "./ledger/creation";
import type { Plan } from "./ledger/rows";
import { look } from "./look";
import { unattended } from "./policy";
import { Run } from "./run";
import { createRunnerParts, LOOK_MS, type RunnerParts, type RunnerUses } from "./runner-parts";
import { begin } from "./scheduler";

/** Runs the plans of this process. */
export interface Runner {
  /** Whether this process runs the plan. */
  has(seq: number): boolean;
  /**
   * Runs a plan that was applied, unless somebody does.
   *
   * @returns whether this process does.
   */
  run(seq: number): boolean;
  /**
   * Applies a new plan that ends with this process, and runs it.
   *
   * @param apply is called with the lock of the plan.
   * @returns when each host has its result, which all are in the ledger unless that cannot be written any more.
   * @throws what `apply` throws: then nothing was sent.
   */
  attend(plan: Plan, apply: () => Plan, caller: BroadcastCaller): Promise<void>;
  /**
   * Runs the plans that were applied and that no process runs, in the order in which they were: after a restart, or where another
   * process has died.
   *
   * @throws what one of them cannot be run for now, when all were tried.
   */
  takeOver(): void;
  /** Reads at once what was decided about a plan. */
  wake(): Promise<void>;
  /** The host is reachable again: its queued jobs begin soon. */
  hostUp(label: string): void;
  /** The entries of these hosts have changed, or any: one may be reached over another server now. */
  hostsChanged(labels: ReadonlySet<string> | undefined): void;
  /** The host of that identity has another label from now on; a broadcast goes by those that it began with. */
  rename(identity: string, from: string, to: string): void;
  /** Resolves when this process no longer runs the plan. */
  over(seq: number): Promise<void>;
  /** Stops running plans; another process may continue them. */
  stop(): void;
}

export function createRunner(uses: RunnerUses): Runner {
  const { ledger } = uses;
  const shared = createRunnerParts(uses, begin);
  const { runs, queues, stopping } = shared;
  const policy = unattended(uses.deliver);
  let timer: Timer | undefined;
  /** Runs what `make` makes under the lock of the plan. @returns undefined where another process has that, or it makes none. */
  const open = (id: string, make: (released: () => void) => Run | undefined): Run | undefined => {
    const unlock: Release | undefined = tryLock(join(uses.locks, `${id}.lock`));
    if (!unlock) return undefined;
    try {
      const run = make(() => {
        unlock();
        if (runs.size === 0) clearInterval(timer);
      });
      if (run) add(run);
      else unlock();
      return run;
    } catch (error) {
      unlock();
      throw error;
    }
  };
  const add = (run: Run): void => {
    if (run.plan.hosts <= PIECE_HOSTS) decide(run, () => run.plan);
    else {
      run.loading = read(run);
      run.loading.catch((error) => {
        if (!stopping.signal.aborted) shared.complain(undefined, error);
      });
    }
    runs.set(run.plan.seq, run);
    if (!run.loading) queueSent(run);
    if (runs.size === 1) timer = setInterval(look, LOOK_MS, shared);
    setImmediate(look, shared);
  };
  /** Reads the hosts of a large plan, in slices: as with a small one, this process does not run it where that fails. */
  const read = async (run: Run): Promise<void> => {
    try {
      // Not before it is among those that this process runs.
      await nextTurn();
      if (!(await readInSlices(run))) throw unavailable("svc runs this plan no longer");
      run.loading = undefined;
      queueSent(run);
      setImmediate(look, shared);
    } catch (error) {
      if (runs.get(run.plan.seq) === run) run.release();
      throw error;
    }
  };

  const runner: Runner = {
    has: (seq) => runs.has(seq),
    run(seq) {
      if (runs.has(seq)) return true;
      if (stopping.signal.aborted) return false;
      return !!open(ledger.plan(seq).id, (released) => {
        const plan = runnable(shared, seq);
        const failed = plan && plan.hosts <= PIECE_HOSTS ? ledger.failed(seq) : [];
        return plan && new Run(shared, policy, plan, ledger.content(seq), failed, released);
      });
    },
    async attend({ id, spec }, apply, caller) {
      using broadcast = new Broadcast(caller, spec, uses.deliver);
      const run = open(id, (end) => new Run(shared, broadcast, apply(), caller.content, [], end));
      if (!run) throw conflict(`the plan ${id} is run by another process`);
      await attended(run, broadcast, caller.signal);
    },
    takeOver() {
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
    wake: () => look(shared),
    hostUp(label) {
      const entry = queues.first(label);
      if (!entry) return;
      entry.due = 0;
      if (entry.cancel && entry.cancel.due < Number.POSITIVE_INFINITY) entry.cancel.due = 0;
    },
    hostsChanged: (labels) => moveHosts(shared, labels),
    rename(identity, from, to) {
      const entries = [...runs.values()]
        .filter((run) => run.policy.waits)
        .flatMap((run) => [...run.entries.values()])
        .filter((entry) => entry.label === from && entry.identity === identity);
      if (entries.length === 0) return;
      for (const entry of entries) entry.label = to;
      queues.rename(from, to);
    },
    over: async (seq) => runs.get(seq)?.over.promise,
    stop() {
      stopping.abort();
      clearInterval(timer);
      shared.writer.close();
      for (const run of [...runs.values()]) run.release();
    },
  };
  return runner;
}

/** Jobs that may run already come before all others. */
function queueSent({ entries, shared }: Run): void {
  for (const entry of entries.values()) if (entry.way !== null) shared.queues.take(entry.label, entry);
}

/** Has hosts with these labels, or any, wait where they are reached now. */
function moveHosts({ runs, pump }: RunnerParts, labels: ReadonlySet<string> | undefined): void {
  for (const run of runs.values()) run.moved(labels);
  pump();
}

/** The plan as this process, which has its lock, can go on with it; undefined where it does not run, or somebody has ended it. */
function runnable({ uses: { ledger } }: RunnerParts, seq: number): Plan | undefined {
  const plan = ledger.plan(seq);
  if (plan.applied === null || plan.ended !== null) return undefined;
  // The actions of a broadcast are not kept.
  return plan.spec.kind === "broadcast" && plan.state === "running"
    ? ledger.cancel(seq, "the process that ran it has ended", Date.now())
    : plan;
}

/** Resolves when each host of a broadcast has its result. */
async function attended(run: Run, broadcast: Broadcast, signal: AbortSignal): Promise<void> {
  const { runs, pump } = run.shared;
  if (run.loading) await run.loading;
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
  if (runs.get(run.plan.seq) === run && run.entries.size > 0) run.release();
  for (const entry of run.entries.values()) {
    const why = entry.way === null ? "cancelled" : "cancelled: it may still run";
    if (run.remove(entry)) broadcast.ended(entry, "cancelled", why);
  }
}

/**
 * The runner of plans: sends the jobs of plans that were applied, wave by wave, and takes note of what became of them.
 *
 * Promises. One process runs a plan at a time (a lock of the plan). Before a job is sent, the ledger knows: whoever goes on after a
 * crash asks the host for that job, and sends no other. A host has one job of this desk at a time, in the order in which plans came
 * to it. Jobs that have waited for their host begin at a limited rate. Nothing is sent but while its plan runs; where it was cancelled,
 * hosts are asked to refuse or end what they may have until they answer.
 */
import { join } from "node:path";
import type { Publish } from "../core/events";
import { createBuckets } from "../lib/buckets";
import { conflict, Failure, messageOf } from "../lib/errors";
import { tryLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { createSlots } from "./at-work";
import { type Attendance, createAttended } from "./attended";
import { aboutPlan, planEnded, planPaused, planTarget, planWave } from "./events";
import type { CancelJob, DeliverJob, Job, JobResult, Target } from "./job/job";
import type { Ledger, Plan, Step } from "./ledger";
import { FAILURES, jobId, STEPS, type StepName } from "./plan";
import { createRun, type Entry, type Run } from "./run";
import { createTurns } from "./turns";
import { createWriter } from "./writer";

/** How often waiting hosts, waves and decisions of other processes are looked at, in milliseconds. */
const LOOK_MS = 1_000;

/** After what time a host that was not there is tried again, and one whose answer was lost is asked, in milliseconds: the first and the longest. */
const TRY_MS = [15_000, 600_000] as const;
const ASK_MS = [2_000, 60_000] as const;

/** How long after its time limits a host whose answer was lost may still say what became of its job, in milliseconds. */
const GRACE_MS = 30_000;

/** How many hosts an event names. */
const MAX_NAMED = 16;

/** How a named token has ended; null while it is in force. @param since one of that name that was made later is another. */
export type HowEnded = (name: string, since?: string) => "was revoked" | "has expired" | null;

export interface RunnerUses {
  readonly ledger: Ledger;
  /** The folder of the locks. */
  readonly locks: string;
  readonly log: Log;
  readonly publish: Publish;
  readonly deliver: DeliverJob;
  readonly cancelJob?: CancelJob;
  /** The host as the address book has it now; undefined where it has none. */
  hostOf(label: string): (Target & { readonly identity: string }) | undefined;
  /** Whether the host is known to be unreachable. */
  isOffline?(label: string): boolean;
  /** Whether nobody can know yet, since this process has just started: it is waited for. */
  isExpected?(label: string): boolean;
  endings(): Promise<HowEnded>;
  /** How many waiting jobs begin in a minute (default 6,000). */
  readonly startsPerMinute?: number;
}

export type Runner = ReturnType<typeof createRunner>;

export function createRunner(uses: RunnerUses) {
  const { ledger, log, publish } = uses;
  const hostOf = (label: string) => reading(() => uses.hostOf(label));
  const targetOf = ({ label, identity, run: { attended } }: Entry) => {
    const target = attended?.targetOf(label);
    return target ? { ...target, identity } : hostOf(label);
  };
  const isOffline = (label: string) => reading(() => uses.isOffline?.(label) ?? false);
  const isExpected = (label: string) => reading(() => uses.isExpected?.(label) ?? false);
  const runs = new Map<number, Run>();
  const turns = createTurns<Entry>();
  const slots = createSlots(() => pump());
  const ratePerMinute = uses.startsPerMinute ?? 6_000;
  const mayStart = createBuckets({ ratePerMinute, burst: Math.max(1, Math.floor(ratePerMinute / 60)) });
  const stopping = new AbortController();
  const writer = createWriter(ledger, log, () => pump());
  let timer: Timer | undefined;

  const write = async (entry: Entry, step: StepName, more: Partial<Step> = {}): Promise<boolean> => {
    const made = await writer.write({
      plan: entry.run.plan.seq,
      n: entry.n,
      attempt: entry.attempt,
      step,
      ...more,
    });
    if (!made) return false;
    const { state } = entry;
    entry.state = STEPS[step].to;
    if (step === "send") entry.way = more.way ?? null;
    if (step === "wait") entry.way = null;
    entry.run.note(entry, state);
    return true;
  };
  const leave = (entry: Entry) => {
    const next = turns.leave(entry.label, entry);
    if (!next || next.isBusy) return;
    next.due = 0;
    next.run.again(next);
  };
  /** The entry has ended, here or in the ledger. */
  const drop = (entry: Entry, status: "failed" | "cancelled" = "cancelled", error?: string) => {
    const { run } = entry;
    const why =
      error ?? `not begun: its plan ${run.plan.state === "expired" ? "has expired" : "was cancelled"}`;
    if (run.remove(entry)) run.attended?.ended(entry, status, why);
    leave(entry);
  };
  const end = async (entry: Entry, step: StepName, result?: JobResult["result"] | { error: string }) => {
    const error = result?.error === undefined ? undefined : printable(result.error, 300);
    const run_id = result && "run_id" in result ? result.run_id : undefined;
    await write(entry, step, { error, run_id });
    if (step !== "ok") entry.run.noteBad(entry);
    drop(entry, step === "cancelled" ? step : "failed", error);
    if (!entry.isForgiven || entry.state !== "ok") return;
    entry.run.change(ledger, { forgiven: Math.max(0, entry.run.plan.forgiven - 1) });
  };
  const offline = async (entry: Entry, error: string) => {
    const behind = turns.behind(entry.label).filter((one) => !one.isBusy);
    for (const one of [entry, ...behind]) {
      if (!one.run.plan.spec.queue) await end(one, "unreachable", { error });
      else if (one.state !== "waiting")
        await write(one, "wait", one === entry ? { error: printable(error, 300) } : {});
    }
    entry.due = laterThan(TRY_MS, entry.tries++);
  };
  const lost = async (entry: Entry) => {
    const { spec, expires } = entry.run.plan;
    entry.due = laterThan(ASK_MS, entry.tries++);
    if (Date.now() < entry.since + (spec.delivery_timeout_s + spec.timeout_s) * 1_000 + GRACE_MS) return;
    // A queued job may be known once its host is back; until then it counts as failed.
    if (spec.queue && Date.now() < (expires ?? 0)) entry.run.overdue.add(entry);
    else await end(entry, "unknown", { error: "the answer was lost: it may have run" });
  };

  /** The host does not have it. It may have it yet: what was sent before may be on its way. */
  const unseen = async (entry: Entry) => {
    if (entry.run.plan.state === "cancelled") return lost(entry);
    entry.due = laterThan(ASK_MS, entry.tries++);
  };

  /** Whether to wait for the host, since it may yet come; or for the address book, to know that. */
  const mayCome = ({ run, label }: Entry): boolean => {
    try {
      return isExpected(label);
    } catch (error) {
      complain(run, error);
      return true;
    }
  };

  const attempt = async (entry: Entry): Promise<void> => {
    const { run, label } = entry;
    const { attended } = run;
    const before = entry.way;
    const freeSlot = slots.take();
    try {
      const found = targetOf(entry);
      const fault =
        found === undefined
          ? "no longer in the address book"
          : found.identity === entry.identity
            ? undefined
            : "another host has this label since the plan was made";
      if (!found || fault !== undefined) {
        return await end(entry, before ? "unknown" : "refused", { error: fault ?? "" });
      }
      if (!before && !attended && isOffline(label)) return await offline(entry, "not linked");
      const job = jobOf(entry);
      const deliver = attended?.deliver ?? uses.deliver;
      const { state, result } = await deliver(found, job, {
        signal: stopping.signal,
        client: run.plan.token,
        before,
        maySend: () => run.plan.state === "running",
        async sent(way) {
          if (entry.way !== null) return;
          entry.since = Date.now();
          if (!(await write(entry, "send", { way }))) throw new Gone();
        },
        running: () => void write(entry, "run"),
        idle: freeSlot,
      });
      // Writing down how it ended needs none.
      freeSlot();
      if (stopping.signal.aborted) return;
      if (state === "offline" && attended) return end(entry, "unreachable", result);
      if (state === "offline" && !before) return offline(entry, result.error ?? "unreachable");
      if (state === "unseen") return unseen(entry);
      if (state === "lost" || state === "offline") return lost(entry);
      // The step `sent` may be missing: what ran was sent.
      if (entry.way === null && (STEPS[state].from as readonly string[]).indexOf("planned") < 0)
        await write(entry, "send", { way: "job" });
      return end(entry, state === "cancelled" && result.delivered ? "stopped" : state, result);
    } finally {
      freeSlot();
    }
  };
  const start = (entry: Entry): void => {
    entry.isBusy = true;
    entry.isAwaited = false;
    entry.run.busy++;
    void attempt(entry)
      .catch((error) => {
        if (error instanceof Gone) return drop(entry);
        if (error instanceof Unread) {
          entry.due = laterThan(ASK_MS, entry.tries++);
          return complain(entry.run, error);
        }
        log.error(`a job for ${printable(entry.label, 130)} failed: ${messageOf(error)}`, error);
        return end(entry, entry.way === null ? "failed" : "unknown", { error: "internal error" });
      })
      .finally(() => {
        entry.isBusy = false;
        entry.run.busy--;
        pump();
      });
  };

  /** Says what a plan waits for: once, until it is another thing. It is tried again with each look. */
  const complain = (run: Run | undefined, error: unknown): void => {
    const what = `${run ? `the plan ${run.plan.id}` : "plans"} cannot go on for now: ${messageOf(error)}`;
    const key = run?.plan.seq ?? 0;
    if (complaints.get(key) !== what) log.warn(what);
    complaints.set(key, what);
  };
  const complaints = new Map<number, string>();

  /** Begins what may begin. */
  const begin = (): void => {
    isPumping = false;
    for (const run of [...runs.values()]) {
      try {
        beginAt(run);
        settle(run);
      } catch (error) {
        // Another process has decided something meanwhile: the next look reads it.
        if (!(error instanceof Failure && error.code === "conflict")) complain(run, error);
      }
    }
  };
  const beginAt = (run: Run): void => {
    while (!stopping.signal.aborted && mayBegin(run)) {
      const entry = run.nextReady();
      if (!entry) return;
      // The caller of a broadcast does not wait for plans.
      if (run.attended) start(entry);
      // It goes on when those before it have ended.
      else if (!turns.take(entry.label, entry)) waitBehind(entry);
      else if (mayCome(entry)) entry.isAwaited = true;
      else start(entry);
    }
  };
  const waitBehind = (entry: Entry): void => {
    const first = turns.first(entry.label);
    if (first?.state !== "waiting") return;
    if (entry.run.plan.spec.queue) void write(entry, "wait");
    // Whether the host is there has to be known now.
    else first.due = 0;
  };
  const hasTooManyFailed = (run: Run) => run.failures() > run.plan.forgiven + run.plan.spec.max_failures;
  const mayBegin = (run: Run) =>
    !hasTooManyFailed(run) &&
    run.plan.state === "running" &&
    run.stopped === undefined &&
    !run.attended?.isLeft() &&
    Date.now() < (run.plan.expires ?? 0) &&
    run.hasRoom() &&
    slots.isFree();
  let isPumping = false;
  const pump = (): void => {
    if (isPumping) return;
    isPumping = true;
    setImmediate(begin);
  };
  /** Tries hosts that were not there, and asks those whose answer was lost. */
  const tryAgain = (run: Run, now: number): void => {
    for (const entry of run.entries.values()) {
      if (entry.isBusy || entry.due > now || !slots.isFree()) continue;
      if (entry.state === "planned" && entry.due > 0) {
        entry.due = 0;
        run.again(entry);
      }
      const isSent = entry.state === "sent" || entry.state === "running";
      if (!isSent && ((entry.state !== "waiting" && !entry.isAwaited) || !mayBegin(run))) continue;
      if (!turns.take(entry.label, entry) && !isSent) continue;
      if (!isSent && mayCome(entry)) continue;
      if (!isSent && isOffline(entry.label)) {
        entry.isAwaited = false;
        if (entry.state === "planned") run.again(entry);
        // What came after it does not wait for ever.
        else if (turns.behind(entry.label).some(({ state }) => state === "planned")) start(entry);
        continue;
      }
      if (!isSent && mayStart("", performance.now()) > 0) continue;
      start(entry);
    }
  };

  /** Goes on to the next wave, pauses after too many failures, ends the plan. */
  const settle = (run: Run): void => {
    if (!runs.has(run.plan.seq) || stopping.signal.aborted) return;
    if (run.entries.size === 0) {
      finish(run);
      return;
    }
    const { plan } = run;
    // Hosts at work are asked to end their jobs; then each has its result.
    if (run.attended?.isLeft() && run.busy === 0) run.stopped ??= "cancelled";
    if (run.stopped !== undefined) {
      stopRun(run, run.stopped);
      return;
    }
    // Whoever resumes it has seen what is overdue by then, which the ledger alone does not know.
    if (plan.state === "paused") {
      if (run.failures() > plan.forgiven) run.change(ledger, { forgiven: run.failures() });
      for (const entry of run.overdue) entry.isForgiven = true;
    }
    if (plan.state === "running" && hasTooManyFailed(run)) {
      const failed = `${run.failures() - plan.forgiven} failed`;
      if (run.attended) {
        stopRun(run, `not begun: ${failed}`);
        return;
      }
      decide(run, () => ledger.pause(plan.seq, `${failed}, more than ${plan.spec.max_failures}`));
      publish(planPaused, { ...aboutPlan(plan), reason: run.plan.reason ?? "" });
      settle(run);
      return;
    }
    if (plan.state !== "running" || !run.isWaveOver()) return;
    if (run.attended && run.bad) {
      stopRun(run, `not begun: the canary ${printable(run.bad.label, 130)} is not ok`);
      return;
    }
    const now = Date.now();
    if (plan.wave_at === null) {
      const pause = run.hadWork ? plan.spec.pause_s * 1_000 : 0;
      run.change(ledger, { wave_at: now + pause });
      // Longer pauses end when it looks.
      if (pause < LOOK_MS * 60) setTimeout(pump, pause).unref();
      settle(run);
      return;
    }
    if (plan.wave_at > now) return;
    run.change(ledger, { wave: plan.wave + 1, wave_at: null });
    const { waves } = plan.spec;
    const wave = run.plan.wave + 1;
    const hosts = (waves[wave - 1] ?? plan.hosts) - (waves[wave - 2] ?? 0);
    publish(planWave, { ...aboutPlan(plan), wave, waves: waves.length, hosts });
    pump();
  };
  /** Begins nothing more of a broadcast; the hosts at work go on. */
  const stopRun = (run: Run, why: string): void => {
    const left = [...run.entries.values()].filter(({ isBusy }) => !isBusy);
    if (left.length > 0) run.stopped ??= why;
    for (const entry of left) {
      entry.isBusy = true;
      void end(entry, "cancelled", { error: why }).finally(pump);
    }
  };
  const finish = (run: Run): void => {
    const { seq, state, spec } = run.plan;
    const isOpen = state === "running" || state === "paused";
    const ended = !isOpen ? state : run.stopped === undefined ? "done" : "cancelled";
    const why = ended === "done" ? null : (run.plan.reason ?? run.stopped ?? null);
    const wave = ended === "done" ? spec.waves.length - 1 : run.plan.wave;
    ledger.update(seq, { state: ended, reason: why, ended: Date.now(), wave, wave_at: null });
    report(run);
    release(run);
    publish(planEnded, {
      ...aboutPlan(run.plan),
      state: ended,
      reason: why,
      counts: ledger.counts(seq),
    });
  };
  const release = (run: Run): void => {
    runs.delete(run.plan.seq);
    complaints.delete(run.plan.seq);
    run.release();
    run.over.resolve();
    if (runs.size === 0) clearInterval(timer);
  };
  const report = (run: Run): void => {
    const news = run.news();
    if (news.length === 0) return;
    const { seq } = run.plan;
    const targets = news.slice(0, MAX_NAMED);
    publish(planTarget, {
      ...aboutPlan(run.plan),
      targets,
      more: news.length - targets.length,
      counts: ledger.counts(seq),
    });
  };

  /** Another process, or the same, has decided something about the plan. */
  const decide = (run: Run, change: () => Plan): void => {
    run.plan = change();
    const { gone, sent } = run.load(ledger.open(run.plan.seq), ledger.counts(run.plan.seq));
    for (const entry of sent) Object.assign(entry, { due: 0, cancelDue: 0 });
    for (const entry of gone) if (!entry.isBusy) drop(entry);
    if (run.plan.state !== "running") {
      for (const entry of run.entries.values()) if (!entry.isBusy && entry.way === null) leave(entry);
    }
    cancelAtHosts(run, Date.now());
  };
  /** Has hosts end what they may have, until each has answered. */
  const cancelAtHosts = ({ plan, entries }: Run, now: number): void => {
    if (plan.state !== "cancelled") return;
    for (const entry of entries.values())
      if (entry.way === "job" && entry.cancelDue <= now) void cancelAt(entry);
  };
  const cancelAt = async (entry: Entry): Promise<void> => {
    const { attended, plan } = entry.run;
    const options = { signal: stopping.signal, client: attended ? attended.client : plan.token };
    let isDone: boolean | undefined = false;
    try {
      const found = targetOf(entry);
      if (found?.identity !== entry.identity) return;
      entry.cancelDue = Number.POSITIVE_INFINITY;
      isDone = await uses.cancelJob?.(found, jobOf(entry), options);
    } catch (error) {
      if (error instanceof Unread) complain(entry.run, error);
    }
    if (isDone) entry.due = 0;
    else entry.cancelDue = laterThan(ASK_MS, entry.cancelTries++);
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
    for (const run of [...runs.values()]) {
      const { seq } = run.plan;
      try {
        const fresh = ledger.expire(seq, now) ?? ledger.plan(seq);
        if (fresh.revision !== run.plan.revision) decide(run, () => fresh);
        const { token, applied } = run.plan;
        // The caller of a broadcast stops waiting when its token ends.
        const ended =
          token === null || run.attended ? null : endOf(token, new Date(applied ?? now).toISOString());
        const why = `its token ${token} ${ended}`;
        if (ended === "was revoked" && run.plan.state !== "cancelled" && run.plan.state !== "expired")
          decide(run, () => ledger.cancel(seq, why, now));
        if (ended === "has expired" && run.plan.state === "running") {
          decide(run, () => ledger.pause(seq, why));
          publish(planPaused, { ...aboutPlan(run.plan), reason: why });
        }
        cancelAtHosts(run, now);
        tryAgain(run, now);
        report(run);
      } catch (error) {
        complain(run, error);
      }
    }
    pump();
  };

  const lockOf = (id: string) => tryLock(join(uses.locks, `${id}.lock`));
  const add = (run: Run): void => {
    decide(run, () => run.plan);
    runs.set(run.plan.seq, run);
    // Jobs that may run already come before all others.
    for (const entry of run.entries.values()) if (entry.way !== null) turns.take(entry.label, entry);
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
    async attend({ seq, id, spec }: Plan, apply: () => Plan, attendance: Attendance): Promise<void> {
      const unlock = lockOf(id);
      if (!unlock) throw conflict(`the plan ${id} is run by another process`);
      using attended = createAttended(attendance, spec, uses.deliver);
      let run: Run;
      try {
        run = createRun(apply(), attendance.content, [], unlock, attended);
        add(run);
      } catch (error) {
        unlock();
        throw error;
      }
      const { signal } = attendance;
      const leaveHosts = () => {
        for (const entry of run.entries.values()) if (entry.way === "job") void cancelAt(entry);
        pump();
      };
      signal.addEventListener("abort", leaveHosts, { once: true });
      if (signal.aborted) leaveHosts();
      pump();
      await Promise.race([run.over.promise, attended.left]);
      signal.removeEventListener("abort", leaveHosts);
      if (runs.get(seq) === run) release(run);
      for (const entry of run.entries.values())
        attended.ended(entry, "cancelled", entry.way === null ? "cancelled" : "cancelled: it may still run");
    },
    /**
     * Runs the plans that were applied and that no process runs: after a restart, or where another process has died.
     *
     * @throws what one of them cannot be run for now, when all were tried.
     */
    takeOver(): void {
      const faults: unknown[] = [];
      for (const { seq } of ledger.plans({ open: true }).toReversed()) {
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
      const entry = turns.first(label);
      if (!entry) return;
      entry.due = 0;
      if (entry.cancelDue < Number.POSITIVE_INFINITY) entry.cancelDue = 0;
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

/** The host has ended in the ledger meanwhile. */
class Gone extends Error {}

/** The address book cannot be read: what it says is not known. */
class Unread extends Error {}

/** @throws {@link Unread} for whatever `read` throws. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Unread(messageOf(error), { cause: error });
  }
}

/** A random time from now on, which grows with the number of tries. */
function laterThan([first, longest]: readonly [number, number], tries: number): number {
  return Date.now() + Math.min(longest, first * 2 ** Math.min(tries, 20)) * (0.5 + Math.random() / 2);
}

const jobOf = ({ run: { plan, content }, n, attempt }: Entry): Job => ({
  id: jobId(plan.id, n, attempt),
  plan: plan.id,
  content,
  digest: plan.content_digest,
  not_before: new Date(plan.applied ?? plan.created).toISOString(),
  expires: new Date(plan.expires ?? plan.created).toISOString(),
  delivery_timeout_s: plan.spec.delivery_timeout_s,
  timeout_s: plan.spec.timeout_s,
});

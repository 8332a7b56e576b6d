/**
 * The scheduler: starts the scripts of jobs when they are due.
 *
 * Promise: of all processes on a `{config_dir}`, one runs the jobs. A time is crossed off in the file before its run
 * begins, so a crash may lose that run but never repeats it. Changes that another process makes to the jobs are noticed
 * within {@link POLL_MS}, and so is a clock that was set, or a host that slept.
 */
import type { Publish } from "../core/events";
import type { StartedRun } from "../core/run";
import { busy, conflict, messageOf, notFound } from "../lib/errors";
import { createJsonStore, type EntryList, parseBy } from "../lib/json-store";
import { type Release, tryLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { shortage } from "../lib/quota";
import { printable } from "../lib/sanitize";
import { createJobWatch } from "./changes";
import { JOB, type Job, nextRun } from "./job";
import type { JobState } from "./view";

/** How often to look at the file and the clock, in milliseconds. */
const POLL_MS = 1_000;

/** A run that is later than this was missed, in milliseconds: the host slept or the clock was set. */
const LATE_MS = 10_000;

/** How many jobs are in the file; those of a named token leave some to others. */
const JOBS = { what: "jobs", most: 1_000, times: 1 };

/**
 * How often the jobs of one named token start in a minute of the clock, which is as often as it may send requests
 * (`--rate-limit`): each start leaves an audit row.
 */
const TOKEN_STARTS = 120;

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `work` after `ms`. @returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
}

export interface SchedulerParts {
  /** The jobs, and the lock of those who change them. */
  readonly files: { readonly file: string; readonly lock: string };
  /** The lock of the process that runs the jobs. */
  readonly lock: string;
  /**
   * Starts the script of a job. Never throws: a script that cannot run is a run that ended with an error.
   *
   * @param signal cancels the run.
   */
  start(job: Job, signal?: AbortSignal): Promise<StartedRun>;
  /** Why the job may not run any more: its token was revoked, or the script that added it was removed. Null while it may. */
  ended(job: Job): Promise<string | null>;
  /** Default: that of the system. */
  readonly clock?: Clock;
  readonly log: Log;
  /** Takes the events of jobs. */
  readonly publish?: Publish;
  /** Whether there were no jobs so far: then the first ones are published as added. */
  readonly hadNone?: boolean;
  /** Default {@link POLL_MS}. */
  readonly pollMs?: number;
}

const systemClock: Clock = {
  now: Date.now,
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** Reads, changes and runs the jobs. */
export class Scheduler {
  /** The active runs, by job; null for one that is about to begin. */
  private readonly going = new Map<string, string | null>();
  private readonly queued = new Set<string>();
  /** How often jobs of each named token have started in this minute of the clock. */
  private readonly starts = new Map<string, number>();
  private minute = 0;
  private claim: Release | undefined;
  private startedAt = 0;
  private lastLook = 0;
  /** The error of the last look. */
  private complaint = "";
  private started = false;
  private callOff: () => void = () => {};
  private looking: Promise<void> = Promise.resolve();

  private readonly store;
  private readonly clock: Clock;
  /** Publishes what has changed since its last call. */
  private readonly publishChanges;

  constructor(private readonly parts: SchedulerParts) {
    const format = { what: "a list of jobs", list: "jobs", key: "job_id", parse: parseBy(JOB) } as const;
    this.store = createJsonStore<Job>({ ...parts.files, ...format }, parts.log);
    this.clock = parts.clock ?? systemClock;
    this.publishChanges = createJobWatch((job) => this.stateOf(job), parts.publish, parts.hadNone);
  }

  /**
   * Runs the jobs from now on, as soon as no other process does.
   *
   * @returns when the jobs that are due have been asked to start.
   */
  async start(): Promise<void> {
    if (this.started) return;
    this.started = true;
    await this.look();
  }

  /** Uses the jobs file as it is now, without waiting for the next look. */
  async refresh(): Promise<void> {
    if (this.started) await this.look();
  }

  /** Starts no further run. Active ones go on. */
  stop(): void {
    this.started = false;
    this.callOff();
    this.claim?.();
    this.claim = undefined;
  }

  problems(): string[] {
    return this.store.problems();
  }

  /** The number of jobs, for a gauge. Never throws: 0 when the file cannot be read. */
  async count(): Promise<number> {
    return this.store.load().then(
      (jobs) => jobs.length,
      () => 0,
    );
  }

  async jobs(): Promise<JobState[]> {
    return (await this.store.load()).map((job) => this.stateOf(job));
  }

  /** @throws `conflict` when the id is taken or there are too many jobs; `bad_input` for unusable times. */
  async add(job: Job): Promise<JobState> {
    const next = await nextRun(job, this.clock.now());
    if (next === null) throw conflict("cron_expression: there is no such time");
    const added = { ...job, next_run_at: job.enabled ? isoTime(next) : null };
    await this.change((list) => {
      if (list.has(job.job_id)) throw conflict(`job_id: ${job.job_id} is taken`);
      const tokens = list.entries.map(({ token }) => token);
      const full = shortage(JOBS, tokens, job.token);
      if (full !== undefined) throw busy(full, "conflict");
      list.add(added);
    });
    this.lookSoon();
    return this.stateOf(added);
  }

  /** Does not end its active run. @throws `not_found`. */
  async remove(id: string): Promise<void> {
    await this.change((list) => {
      if (!list.remove(id)) throw noSuchJob(id);
    });
    this.queued.delete(id);
    this.lookSoon();
  }

  /** Does not end its active run. @throws `not_found`. */
  pause(id: string): Promise<JobState> {
    this.queued.delete(id);
    return this.edit(id, (job) => ({ ...job, enabled: false, next_run_at: null }));
  }

  /**
   * Disables the jobs that a revoked token has added. Does not end their active runs.
   *
   * @returns how many they are.
   */
  async disown(by: "token" | "script", name: string): Promise<number> {
    return this.change((list) => {
      const jobs = list.entries.filter((job) => job[by] === name);
      for (const job of jobs) {
        this.queued.delete(job.job_id);
        list.replace(disowned(job, ENDED[by](name)));
      }
      return jobs.length;
    });
  }

  /** Counts its times from now. @throws `not_found`; `conflict` when it has had all its runs, or is disabled. */
  resume(id: string): Promise<JobState> {
    return this.edit(id, async (job) => {
      refuseDisabled(job);
      if (job.max_runs !== null && job.runs >= job.max_runs) {
        throw conflict(`${id} has had its ${job.max_runs} runs`);
      }
      if (job.enabled && job.next_run_at !== null) return job;
      const next = await nextRun(job, this.clock.now());
      return { ...job, enabled: true, next_run_at: next === null ? null : isoTime(next) };
    });
  }

  /**
   * Runs it now, also when it is paused. Its schedule does not change.
   *
   * @param signal cancels the run.
   * @throws `not_found`; `conflict` while it runs, when it is disabled, and when another process runs the jobs and may be
   *   running it.
   */
  async runNow(id: string, signal?: AbortSignal): Promise<StartedRun> {
    const claim = this.claim ?? tryLock(this.parts.lock);
    if (!claim) throw conflict("another process runs the jobs: use svc jobs run");
    if (claim !== this.claim) claim();
    return this.runOnce(id, () => true, signal);
  }

  /** Runs it now, if it is `wanted` as it is in the file. */
  private async runOnce(
    id: string,
    wanted: (job: Job) => boolean,
    signal?: AbortSignal,
  ): Promise<StartedRun> {
    if (this.going.has(id)) throw busy(`${id} runs already`, "conflict");
    this.going.set(id, null);
    try {
      const job = await this.edit(id, async (found) => {
        refuseDisabled(await this.owned(found));
        if (!wanted(found)) throw conflict(`${id} is paused`);
        return counted(found, this.clock.now());
      });
      return await this.launch(job, signal);
    } catch (error) {
      this.going.delete(id);
      throw error;
    }
  }

  /** Changes the file, and publishes the change. */
  private async change<T>(edit: (list: EntryList<Job>) => T | Promise<T>): Promise<T> {
    let after: readonly Job[] = [];
    const result = await this.store.change(async (list) => {
      this.publishChanges(list.entries);
      const edited = await edit(list);
      after = list.entries;
      return edited;
    });
    this.publishChanges(after);
    return result;
  }

  /** Changes one job. */
  private async edit(id: string, change: (job: Job) => Job | Promise<Job>): Promise<JobState> {
    const edited = await this.change(async (list) => {
      const job = list.entries.find(({ job_id }) => job_id === id);
      if (!job) throw noSuchJob(id);
      const changed = await change(job);
      if (changed !== job) list.replace(changed);
      return changed;
    });
    this.lookSoon();
    return this.stateOf(edited);
  }

  private stateOf(job: Job): JobState {
    return { ...job, run_id: this.going.get(job.job_id) ?? null };
  }

  private lookSoon(): void {
    if (this.claim) void this.look();
  }

  /** Looks at file and clock now, after a look that is under way, and again when the next job is due. */
  private look(): Promise<void> {
    this.looking = this.looking.then(async () => {
      if (!this.started) return;
      this.callOff();
      const next = await this.runDue().catch((error) => {
        const complaint = `the scheduler: ${messageOf(error)}`;
        if (complaint !== this.complaint) this.parts.log.error(complaint);
        this.complaint = complaint;
        return null;
      });
      if (!this.started) return;
      const { pollMs = POLL_MS } = this.parts;
      const wait = next === null ? pollMs : Math.min(pollMs, Math.max(0, next - this.clock.now()));
      this.callOff = this.clock.after(wait, () => void this.look());
    });
    return this.looking;
  }

  /** Starts the jobs that are due. @returns when the next one is, or null. */
  private async runDue(): Promise<number | null> {
    if (!this.claimed()) return null;
    const now = this.clock.now();
    const setBack = now < this.lastLook - LATE_MS;
    if (setBack) this.startedAt = now;
    const stale = (job: Job) => job.enabled && (setBack || job.next_run_at === null || timeOf(job) <= now);
    let jobs = await this.store.load();
    this.publishChanges(jobs);
    if (jobs.some(stale)) {
      const due: Job[] = [];
      const move = async (found: Job) => {
        const job = stale(found) ? await this.owned(found) : found;
        if (!stale(job)) return job;
        const moved = await this.moved(job, now);
        if (timeOf(job) > now || !this.mayStart(job, now)) return moved;
        const started = counted(moved, now);
        due.push(started);
        this.going.set(job.job_id, null);
        return started;
      };
      try {
        jobs = await this.change(async (list) => {
          const current = list.entries;
          const all = await Promise.all(current.map(move));
          for (const [at, job] of all.entries()) if (job !== current[at]) list.replace(job);
          return all;
        });
      } catch (error) {
        for (const { job_id } of due) this.going.delete(job_id);
        throw error;
      }
      // Not awaited: a script may be on a disk that does not answer.
      for (const job of due) void this.launch(job);
    }
    this.lastLook = now;
    this.complaint = "";
    const times = jobs.filter(({ enabled }) => enabled).map(timeOf);
    return times.length > 0 ? Math.min(...times) : null;
  }

  private claimed(): boolean {
    if (this.claim) return true;
    this.claim = tryLock(this.parts.lock);
    // The clock may have been set back before the first look.
    this.lastLook = Number.POSITIVE_INFINITY;
    return this.claim !== undefined;
  }

  /** `job`, disabled when it may not run any more, for instance because somebody edited the tokens by hand. */
  private async owned(job: Job): Promise<Job> {
    const why = await this.parts.ended(job);
    if (why === null) return job;
    this.parts.log.warn(`job ${job.job_id} is disabled: ${why}`);
    return disowned(job, why);
  }

  /** `job` with its next time after `now`; paused when it has none. */
  private async moved(job: Job, now: number): Promise<Job> {
    const time = job.next_run_at === null ? undefined : timeOf(job);
    const over = time !== undefined && time <= now && !job.repeat;
    if (over) return { ...job, enabled: false, next_run_at: null };
    try {
      const next = await nextRun(job, now, time);
      if (next !== null && next === time) return job;
      if (next !== null) return { ...job, next_run_at: isoTime(next) };
      this.parts.log.warn(`job ${job.job_id} has no further time and is paused`);
    } catch (error) {
      this.parts.log.error(`job ${job.job_id} is paused: ${printable(messageOf(error))}`);
    }
    return { ...job, enabled: false, next_run_at: null };
  }

  /** Whether a job whose time has come is started now. */
  private mayStart(job: Job, now: number): boolean {
    const { job_id } = job;
    const time = timeOf(job);
    const missed = time < this.startedAt || now - time > LATE_MS;
    if (missed && job.if_missed === "skip") {
      this.parts.log.warn(`job ${job_id} missed its run of ${job.next_run_at}`);
      return false;
    }
    const isGoing = this.going.has(job_id);
    if (isGoing && job.if_running === "skip") {
      this.parts.log.warn(`job ${job_id} still runs: its run of ${job.next_run_at} is skipped`);
      return false;
    }
    if (!this.spendStart(job.token, now)) return false;
    if (isGoing) this.queued.add(job_id);
    return !isGoing;
  }

  /** Counts a start of a job of that token. @returns false when it has had {@link TOKEN_STARTS} in this minute. */
  private spendStart(token: string | null, now: number): boolean {
    if (token === null) return true;
    const minute = Math.floor(now / 60_000);
    if (minute !== this.minute) this.starts.clear();
    this.minute = minute;
    const starts = (this.starts.get(token) ?? 0) + 1;
    this.starts.set(token, starts);
    if (starts === TOKEN_STARTS + 1) {
      const had = `the jobs of the token ${token} have started ${TOKEN_STARTS} times in this minute`;
      this.parts.log.warn(`${had}: its further runs are skipped until the next`);
    }
    return starts <= TOKEN_STARTS;
  }

  private async launch(job: Job, signal?: AbortSignal): Promise<StartedRun> {
    const { job_id } = job;
    const run = await this.parts.start(job, signal);
    this.going.set(job_id, run.runId);
    this.publishChanges();
    void run.ended.then(async ({ run_id, status, error_text }) => {
      this.going.delete(job_id);
      this.publishChanges();
      if (status !== "ok") {
        this.parts.log.warn(`job ${job_id}: run ${run_id}: ${status}: ${printable(error_text ?? "")}`);
      }
      if (!this.started || !this.queued.delete(job_id)) return;
      // A job that runs once was paused when it was queued.
      await this.runOnce(job_id, ({ enabled, repeat }) => enabled || !repeat).catch((error) =>
        this.parts.log.warn(`job ${job_id}: the queued run is skipped: ${messageOf(error)}`),
      );
    });
    return run;
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** When it runs next, in milliseconds; infinity when it has no time. */
const timeOf = ({ next_run_at }: Job) =>
  next_run_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_run_at);

/** Why a job may not run any more, by what has ended. */
export const ENDED = {
  token: (name: string) => `its token ${name} was revoked`,
  script: (name: string) => `the stored script ${name}, which added it, was removed`,
} as const;

function disowned(job: Job, disabled_reason: string): Job {
  return { ...job, enabled: false, next_run_at: null, disabled_reason };
}

function refuseDisabled({ job_id, disabled_reason }: Job): void {
  if (disabled_reason !== null)
    throw conflict(`${job_id} is disabled: ${disabled_reason}; remove it and add it again`);
}

/** `job` with one more run. */
function counted(job: Job, now: number): Job {
  const runs = job.runs + 1;
  const over = job.max_runs !== null && runs >= job.max_runs;
  return { ...job, runs, last_run_at: isoTime(now), ...(over && { enabled: false, next_run_at: null }) };
}

const noSuchJob = (id: string) => notFound(`no job ${printable(id, 100)}`);

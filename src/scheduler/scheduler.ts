/**
 * The scheduler: runs scripts at their times.
 *
 * Promise: of all processes on a `{config_dir}`, one runs the jobs. A time is written off in the file before its run
 * begins, so that a crash may lose that run and never repeats it. Jobs that another process adds, changes or removes are
 * noticed within {@link POLL_MS}; so is a clock that was set, or a host that slept.
 */

import type { RunStatus } from "../core/run";
import { conflict, messageOf, notFound } from "../lib/errors";
import { createJsonStore, type JsonStore, parseBy } from "../lib/json-store";
import { type Release, tryLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { JOB, type Job, nextRun } from "./job";

/** How often the file and the clock are looked at, in milliseconds. */
const POLL_MS = 1_000;

/** A run that is this late was missed, in milliseconds: nobody looked at the clock when it was time. */
const LATE_MS = 10_000;

/** The most jobs in the file. */
const MAX_JOBS = 1_000;

/** What became of the run of a job. */
export interface JobRun {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly error_text: string | null;
}

/** A run of a job that goes on. */
export interface StartedRun {
  readonly runId: string;
  /** Never rejects. */
  readonly ended: Promise<JobRun>;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `work` after `ms`; what it returns calls that off. */
  after(ms: number, work: () => void): () => void;
}

export interface SchedulerParts {
  readonly store: JsonStore<Job>;
  /** The lock of the process that runs the jobs. */
  readonly lock: string;
  /** Starts the script of a job. Never throws: a script that cannot be run is a run that ended with an error. */
  start(job: Job): Promise<StartedRun>;
  readonly clock: Clock;
  readonly log: Log;
  /** Default {@link POLL_MS}. */
  readonly pollMs?: number;
}

/** A job, and what the process that runs the jobs knows of it. */
export interface JobState extends Job {
  /** The run that goes on, when this process runs it. */
  readonly run_id: string | null;
}

export interface Scheduler {
  /**
   * Runs the jobs from now on; as soon as no other process does.
   *
   * @returns when the jobs that were due have been told to start.
   */
  start(): Promise<void>;
  /** Starts no further run. Those that go on are the business of whoever runs them. */
  stop(): void;
  jobs(): Promise<JobState[]>;
  /** The number of jobs, for a gauge. Never throws: 0 when the file cannot be read. */
  count(): Promise<number>;
  problems(): string[];
  /** @throws `conflict` when the id is taken or there are too many jobs; `bad_input` for unusable times. */
  add(job: Job): Promise<JobState>;
  /** @throws `not_found`. A run that goes on is not ended. */
  remove(id: string): Promise<void>;
  /** @throws `not_found`. A run that goes on is not ended. */
  pause(id: string): Promise<JobState>;
  /** Counts its times from now. @throws `not_found`; `conflict` when it has had all its runs. */
  resume(id: string): Promise<JobState>;
  /**
   * Runs it now, also when it is paused, besides its times.
   *
   * @throws `not_found`; `conflict` while it runs, and when another process runs the jobs and may be running it.
   */
  runNow(id: string): Promise<StartedRun>;
}

/** The jobs in `jobs.json`, and how far they have come. */
export function createJobStore(paths: { file: string; lock: string }, log: Log): JsonStore<Job> {
  const format = { what: "a list of jobs", list: "jobs", key: "job_id", parse: parseBy(JOB) } as const;
  return createJsonStore<Job>({ ...paths, ...format }, log);
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

export function createScheduler(parts: SchedulerParts): Scheduler {
  return new JobScheduler(parts);
}

class JobScheduler implements Scheduler {
  /** The runs that go on, by job; null for one that is about to begin. */
  private readonly going = new Map<string, string | null>();
  private readonly queued = new Set<string>();
  private claim: Release | undefined;
  private startedAt = 0;
  private lastLook = 0;
  /** What the last look has failed with. */
  private complaint = "";
  private started = false;
  private callOff: () => void = () => {};
  private looking: Promise<void> = Promise.resolve();

  constructor(private readonly parts: SchedulerParts) {}

  async start(): Promise<void> {
    if (this.started) return;
    this.started = true;
    await this.look();
  }

  stop(): void {
    this.started = false;
    this.callOff();
    this.claim?.();
    this.claim = undefined;
  }

  problems(): string[] {
    return this.parts.store.problems();
  }

  async count(): Promise<number> {
    return this.parts.store.load().then(
      (jobs) => jobs.length,
      () => 0,
    );
  }

  async jobs(): Promise<JobState[]> {
    return (await this.parts.store.load()).map((job) => this.stateOf(job));
  }

  async add(job: Job): Promise<JobState> {
    const next = await nextRun(job, this.parts.clock.now());
    if (next === null) throw conflict("cron_expression: there is no such time");
    const added = { ...job, next_run_at: job.enabled ? isoTime(next) : null };
    await this.parts.store.change((list) => {
      if (list.has(job.job_id)) throw conflict(`job_id: ${job.job_id} is taken`);
      if (list.entries.length >= MAX_JOBS) throw conflict(`there are ${MAX_JOBS} jobs already`);
      list.put(added);
    });
    this.lookSoon();
    return this.stateOf(added);
  }

  async remove(id: string): Promise<void> {
    await this.parts.store.change((list) => {
      if (!list.remove(id)) throw noSuchJob(id);
    });
    this.queued.delete(id);
    this.lookSoon();
  }

  pause(id: string): Promise<JobState> {
    this.queued.delete(id);
    return this.edit(id, (job) => ({ ...job, enabled: false, next_run_at: null }));
  }

  resume(id: string): Promise<JobState> {
    return this.edit(id, async (job) => {
      if (job.max_runs !== null && job.runs >= job.max_runs) {
        throw conflict(`${id} has had its ${job.max_runs} runs`);
      }
      if (job.enabled && job.next_run_at !== null) return job;
      const next = await nextRun(job, this.parts.clock.now());
      return { ...job, enabled: true, next_run_at: next === null ? null : isoTime(next) };
    });
  }

  async runNow(id: string): Promise<StartedRun> {
    const claim = this.claim ?? tryLock(this.parts.lock);
    if (!claim) throw conflict("another process runs the jobs, and has to be asked (svc jobs run)");
    if (claim !== this.claim) claim();
    return this.runOnce(id, () => true);
  }

  /** Runs it besides its times, if it is `wanted` as it is in the file now. */
  private async runOnce(id: string, wanted: (job: Job) => boolean): Promise<StartedRun> {
    if (this.going.has(id)) throw conflict(`${id} runs already`);
    this.going.set(id, null);
    try {
      const job = await this.edit(id, (found) => {
        if (!wanted(found)) throw conflict(`${id} is paused`);
        return counted(found, this.parts.clock.now());
      });
      return await this.launch(job);
    } catch (error) {
      this.going.delete(id);
      throw error;
    }
  }

  /** Changes one job. */
  private async edit(id: string, change: (job: Job) => Job | Promise<Job>): Promise<JobState> {
    const edited = await this.parts.store.change(async (list) => {
      const job = list.entries.find(({ job_id }) => job_id === id);
      if (!job) throw noSuchJob(id);
      const changed = await change(job);
      if (changed !== job) list.put(changed);
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

  /** Looks at file and clock, one look after the other, and again when it is time. */
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
      const { clock, pollMs = POLL_MS } = this.parts;
      const wait = next === null ? pollMs : Math.min(pollMs, Math.max(0, next - clock.now()));
      this.callOff = clock.after(wait, () => void this.look());
    });
    return this.looking;
  }

  /** Starts what is due. @returns when the next job is, or null. */
  private async runDue(): Promise<number | null> {
    if (!this.claimed()) return null;
    const now = this.parts.clock.now();
    const setBack = now < this.lastLook - LATE_MS;
    if (setBack) this.startedAt = now;
    const stale = (job: Job) => job.enabled && (setBack || job.next_run_at === null || timeOf(job) <= now);
    let jobs = await this.parts.store.load();
    if (jobs.some(stale)) {
      const due: Job[] = [];
      const move = async (job: Job) => {
        if (!stale(job)) return job;
        const moved = await this.moved(job, now);
        if (timeOf(job) > now || !this.mayStart(job, now)) return moved;
        const started = counted(moved, now);
        due.push(started);
        this.going.set(job.job_id, null);
        return started;
      };
      try {
        jobs = await this.parts.store.change(async (list) => {
          const current = list.entries;
          const all = await Promise.all(current.map(move));
          for (const [at, job] of all.entries()) if (job !== current[at]) list.put(job);
          return all;
        });
      } catch (error) {
        for (const { job_id } of due) this.going.delete(job_id);
        throw error;
      }
      // Nobody waits for them: a script may be on a disk that does not answer.
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
    // While nobody looked, the clock may have been set back.
    this.lastLook = Number.POSITIVE_INFINITY;
    return this.claim !== undefined;
  }

  /** `job`, to run at its next time after `now`; paused when it has none. */
  private async moved(job: Job, now: number): Promise<Job> {
    const time = job.next_run_at === null ? undefined : timeOf(job);
    const over = time !== undefined && time <= now && !job.repeat;
    if (over) return { ...job, enabled: false, next_run_at: null };
    try {
      const next = await nextRun(job, now, time);
      if (next !== null && next === time) return job;
      if (next !== null) return { ...job, next_run_at: isoTime(next) };
      this.parts.log.warn(`job ${job.job_id} has no further time: it is paused`);
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
    if (!this.going.has(job_id)) return true;
    if (job.if_running === "queue") this.queued.add(job_id);
    else this.parts.log.warn(`job ${job_id} still runs: its run of ${job.next_run_at} is left out`);
    return false;
  }

  private async launch(job: Job): Promise<StartedRun> {
    const { job_id } = job;
    const run = await this.parts.start(job);
    this.going.set(job_id, run.runId);
    void run.ended.then(async ({ status, error_text }) => {
      this.going.delete(job_id);
      if (status !== "ok") {
        this.parts.log.warn(`job ${job_id}: run ${run.runId}: ${status}: ${printable(error_text ?? "")}`);
      }
      if (this.started && this.queued.delete(job_id)) await this.runQueued(job_id);
    });
    return run;
  }

  private async runQueued(id: string): Promise<void> {
    try {
      // One that is to run once has been paused when it was queued.
      await this.runOnce(id, ({ enabled, repeat }) => enabled || !repeat);
    } catch (error) {
      this.parts.log.warn(`job ${id}: the queued run is left out: ${messageOf(error)}`);
    }
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** When it is to run; never, when it has no time. */
const timeOf = ({ next_run_at }: Job) =>
  next_run_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_run_at);

/** `job`, started once more. */
function counted(job: Job, now: number): Job {
  const runs = job.runs + 1;
  const over = job.max_runs !== null && runs >= job.max_runs;
  return { ...job, runs, last_run_at: isoTime(now), ...(over && { enabled: false, next_run_at: null }) };
}

const noSuchJob = (id: string) => notFound(`no job ${printable(id, 100)}`);

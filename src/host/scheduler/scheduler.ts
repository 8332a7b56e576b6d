/**
 * The scheduler: starts the scripts of jobs when they are due.
 *
 * Here is what callers ask for, and when the file and the clock are looked at; `due.ts` has what a look does with each job.
 *
 * Promise: of all processes on a `{config_dir}`, one runs the jobs. A time is crossed off in the file before its run
 * begins, so a crash may lose that run but never repeats it. Changes that another process makes to the jobs are noticed
 * within {@link POLL_MS}, and so is a clock that was set, or a host that slept.
 */
import type { StartedRun } from "../../core/run";
import { busy, conflict, messageOf } from "../../lib/errors";
import { type Release, tryLock } from "../../lib/lock";
import { nextSlice } from "../../lib/turn";
import { createDue, type DueParts } from "./due";
import { type Job, nextRun } from "./job";
import { createJobs, type JobsParts } from "./jobs";
import { place, requireRoom, type TimedJob } from "./placing";
import { createJobRuns, type JobRunsParts } from "./runs";
import { counted, disowned, ENDED, paused, refuseDisabled, scheduled, timeOf } from "./transitions";
import type { JobState } from "./view";

/** How often to look at the file and the clock, in milliseconds. */
const POLL_MS = 1_000;

/** The time, and waiting for another. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `work` after `ms`. @returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
}

interface SchedulerParts extends JobsParts, JobRunsParts, DueParts {
  /** The lock of the process that runs the jobs. */
  readonly lock: string;
  /** Default: that of the system. */
  readonly clock?: Clock;
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
  private claim: Release | undefined;
  /** The error of the last look. */
  private complaint = "";
  private started = false;
  private callOff: () => void = () => {};
  private looking: Promise<void> = Promise.resolve();

  private readonly clock: Clock;
  private readonly list;
  private readonly runs;
  private readonly due;

  constructor(private readonly parts: SchedulerParts) {
    this.clock = parts.clock ?? systemClock;
    this.list = createJobs(parts, (job) => this.stateOf(job));
    this.runs = createJobRuns(
      parts,
      () => this.list.publishChanges(),
      (id) => this.runQueued(id),
    );
    this.due = createDue(parts, this.runs);
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
    return this.list.problems();
  }

  /** The number of jobs, for a gauge. Never throws: 0 when the file cannot be read. */
  async count(): Promise<number> {
    return this.list.load().then(
      (jobs) => jobs.length,
      () => 0,
    );
  }

  async jobs(): Promise<JobState[]> {
    return (await this.list.load()).map((job) => this.stateOf(job));
  }

  /** When a job would run next, in milliseconds since the epoch. @throws `conflict` for one that never does; `bad_input` for unusable times. */
  async nextOf(job: Job): Promise<number> {
    const next = await nextRun(job, this.clock.now());
    if (next === null) throw conflict("cron_expression: there is no such time");
    return next;
  }

  /** @throws `conflict` when the id is taken or there are too many jobs; `bad_input` for unusable times. */
  async add(job: Job): Promise<JobState> {
    const next = await this.nextOf(job);
    const added = scheduled(job, job.enabled ? next : null);
    await this.list.change((list) => {
      if (list.has(job.job_id)) throw conflict(`job_id: ${job.job_id} is taken`);
      requireRoom(list.entries, [job]);
      list.add(added);
    });
    this.lookSoon();
    return this.stateOf(added);
  }

  /**
   * Checks that jobs can be added, each in the place of the one with its id: that keeps its counts, and its next time where it runs at the same
   * times; and that those of the ids `removed` can go.
   *
   * @returns what does it, in one change of the file. The active runs of those that go continue.
   * @throws as `add`, but for an id that is taken. Nothing has changed then, nor where the returned function throws.
   */
  async prepare(jobs: readonly Job[], removed: readonly string[] = []): Promise<() => Promise<JobState[]>> {
    const timed: TimedJob[] = [];
    for (const job of jobs) {
      // A cron expression takes a while.
      const waits = nextSlice();
      if (waits) await waits;
      timed.push({ job, next: await this.nextOf(job) });
    }
    requireRoom(await this.list.load(), jobs, removed);
    return async () => {
      const placed = await this.list.change((list) => place(list, timed, removed));
      for (const id of [...removed, ...jobs.map(({ job_id }) => job_id)]) this.runs.unqueue(id);
      this.lookSoon();
      return placed.map((job) => this.stateOf(job));
    };
  }

  /** Does not end its active run. @throws `not_found`. */
  async remove(id: string): Promise<void> {
    await this.list.remove(id);
    this.runs.unqueue(id);
    this.lookSoon();
  }

  /** Does not end its active run. @throws `not_found`. */
  pause(id: string): Promise<JobState> {
    this.runs.unqueue(id);
    return this.edit(id, paused);
  }

  /**
   * Disables the jobs that a revoked token has added. Does not end their active runs.
   *
   * @returns how many they are.
   */
  async disown(by: "token" | "script", name: string): Promise<number> {
    return this.list.change((list) => {
      const jobs = list.entries.filter((job) => job[by] === name);
      for (const job of jobs) {
        this.runs.unqueue(job.job_id);
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
      return scheduled({ ...job, enabled: true }, next);
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
    if (this.runs.has(id)) throw busy(`${id} runs already`, "conflict");
    this.runs.expect(id);
    try {
      const job = await this.edit(id, async (found) => {
        refuseDisabled(await this.due.owned(found));
        if (!wanted(found)) throw conflict(`${id} is paused`);
        return counted(found, this.clock.now());
      });
      return await this.runs.launch(job, signal);
    } catch (error) {
      this.runs.giveUp(id);
      throw error;
    }
  }

  private async edit(id: string, change: (job: Job) => Job | Promise<Job>): Promise<JobState> {
    const edited = await this.list.edit(id, change);
    this.lookSoon();
    return this.stateOf(edited);
  }

  private stateOf(job: Job): JobState {
    return { ...job, run_id: this.runs.runOf(job.job_id) };
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
    const look = this.due.at(this.clock.now());
    let jobs = await this.list.load();
    this.list.publishChanges(jobs);
    if (jobs.some(look.isStale)) {
      const starting: Job[] = [];
      try {
        jobs = await this.list.change(async (list) => {
          const current = list.entries;
          const all = await Promise.all(current.map((job) => look.move(job, starting)));
          for (const [at, job] of all.entries()) if (job !== current[at]) list.replace(job);
          return all;
        });
      } catch (error) {
        for (const { job_id } of starting) this.runs.giveUp(job_id);
        throw error;
      }
      // Not awaited: a script may be on a disk that does not answer.
      for (const job of starting) void this.launch(job);
    }
    look.end();
    this.complaint = "";
    const times = jobs.filter(({ enabled }) => enabled).map(timeOf);
    return times.length > 0 ? Math.min(...times) : null;
  }

  /** Never rejects: one that cannot begin is due again at its next time. */
  private async launch(job: Job): Promise<void> {
    try {
      await this.runs.launch(job);
    } catch (error) {
      this.runs.giveUp(job.job_id);
      this.parts.log.error(`job ${job.job_id} could not be started: ${messageOf(error)}`, error);
    }
  }

  private claimed(): boolean {
    if (this.claim) return true;
    this.claim = tryLock(this.parts.lock);
    this.due.begin();
    return this.claim !== undefined;
  }

  /** Runs the job again that was due while it ran. */
  private async runQueued(id: string): Promise<void> {
    if (!this.started || !this.runs.unqueue(id)) return;
    // A job that runs once was paused when it was queued.
    await this.runOnce(id, ({ enabled, repeat }) => enabled || !repeat).catch((error) =>
      this.parts.log.warn(`job ${id}: the queued run is skipped: ${messageOf(error)}`),
    );
  }
}

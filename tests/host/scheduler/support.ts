/** A scheduler on a clock that moves only when the test says so. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { EndedRun, RunStatus } from "../../../src/core/run";
import { JOB, type Job } from "../../../src/host/scheduler/job";
import { type Clock, Scheduler } from "../../../src/host/scheduler/scheduler";
import { ENDED } from "../../../src/host/scheduler/transitions";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder } from "../../support";

export const HOUR = 3_600_000;

/** Lets what waits for nothing but its turn of the event loop come to its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock whose timers fire as it is put forward. */
export function fakeClock(start: string) {
  let now = Date.parse(start);
  let timers: Array<{ at: number; work: () => void }> = [];
  const clock: Clock = {
    now: () => now,
    after(ms, work) {
      const timer = { at: now + ms, work };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  return {
    clock,
    /** Sets the clock without letting a timer fire: a host that sleeps, or a clock that is set. */
    set(to: string) {
      now = Date.parse(to);
    },
    /** Puts the clock forward, from timer to timer. */
    async until(to: string) {
      const end = Date.parse(to);
      for (;;) {
        await settled();
        const next = timers.toSorted((a, b) => a.at - b.at)[0];
        if (!next || next.at > end) break;
        timers = timers.filter((other) => other !== next);
        now = Math.max(now, next.at);
        next.work();
      }
      now = Math.max(now, end);
    },
  };
}

/** A run of a job, to be ended by the test. */
export interface TestRun {
  readonly job: string;
  readonly at: string;
  end(status?: RunStatus): Promise<void>;
}

/** A scheduler whose runs are listed, and end at once unless `hold`; the job `stuck` never comes to start, and `unable` fails the first time. */
export function testScheduler({
  start = "2026-06-01T00:00:00.000Z",
  hold = false,
  stuck = "",
  unable = "",
} = {}) {
  const folder = temporaryFolder();
  mkdirSync(join(folder.path, "run"));
  const file = join(folder.path, "jobs.json");
  const time = fakeClock(start);
  const runs: TestRun[] = [];
  const said: string[] = [];
  /** Tokens that are not in force any more. */
  const revoked = new Set<string>();
  const log = {
    ...silentLog,
    warn: (text: string) => said.push(text),
    error: (text: string) => said.push(text),
  };
  const made: Scheduler[] = [];
  let left = unable;

  /** Another process, in effect. */
  const open = () => {
    const scheduler = new Scheduler({
      files: { file, lock: join(folder.path, "run", "jobs.lock") },
      lock: join(folder.path, "run", "scheduler.lock"),
      clock: time.clock,
      pollMs: 48 * HOUR,
      ended: async ({ token }) => (token !== null && revoked.has(token) ? ENDED.token(token) : null),
      log,
      async start(job) {
        const { promise: ended, resolve } = Promise.withResolvers<EndedRun>();
        if (job.job_id === stuck) await ended;
        if (job.job_id === left) {
          left = "";
          throw new Error("this host has no room");
        }
        const run_id = `run-${runs.length + 1}`;
        runs.push({
          job: job.job_id,
          at: new Date(time.clock.now()).toISOString(),
          async end(status = "ok") {
            resolve({ run_id, status, error_text: status === "ok" ? null : "broken" });
            await settled();
          },
        });
        if (!hold) resolve({ run_id, status: "ok", error_text: null });
        return { runId: run_id, ended };
      },
    });
    made.push(scheduler);
    return scheduler;
  };

  return {
    scheduler: open(),
    open,
    time,
    runs,
    said,
    revoked,
    file,
    times: (job?: string) => runs.filter((run) => !job || run.job === job).map(({ at }) => at),
    [Symbol.dispose]() {
      for (const scheduler of made) scheduler.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** A job with the settings that a test is about. */
export const job = (settings: Partial<Job>): Job =>
  v.parse(JOB, { job_id: "job", script_path: "/x.json", ...settings });

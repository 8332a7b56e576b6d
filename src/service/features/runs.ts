/**
 * What runs action lists: the executor, what is kept of runs, stored scripts and jobs.
 */
import { existsSync } from "node:fs";
import type { Executor } from "../../runs/executor";
import type { History } from "../../runs/history";
import type { Runs } from "../../runs/runs";
import type { StoredScripts } from "../../runs/stored-scripts";
import type { Scheduler } from "../../scheduler/scheduler";
import type { Traces } from "../../trace/traces";
import type { Shared } from "../shared";
import { startJob } from "../start-job";

/** What runs action lists in a process. */
export interface RunFeatures {
  executor(): Promise<Executor>;
  /** The traces of runs that this host keeps. */
  traces(): Promise<Traces>;
  history(): Promise<History>;
  runs(): Promise<Runs>;
  scheduler(): Promise<Scheduler>;
  storedScripts(): Promise<StoredScripts>;
  /** Disables the jobs that a stored script has added for tokens that allow it alone. @returns how many they are. */
  endJobsOfScript(script: string): Promise<number>;
}

/**
 * @param maxRows of the history; without it, one that there is keeps as many as so far.
 * @returns besides the features `hasJobs`: whether there are jobs, or were.
 */
export function runFeatures(
  shared: Shared,
  maxRows: number | undefined,
): RunFeatures & { hasJobs(): boolean } {
  const { files, options, log, publish, observed, tokens, made, phase, feature, stoppable, prepareFor } =
    shared;
  const hasJobs = () => made.scheduler !== undefined || existsSync(files.jobs);
  return {
    hasJobs,
    executor: feature(async () => {
      const { service } = shared;
      const { Executor } = await import("../../runs/executor");
      return new Executor({
        service,
        operations: await service.operations(),
        log,
        permits: service.permits,
        runs: service.runs,
        stored: async (name) => (await service.storedScripts()).get(name),
        inputLock: async () => (await service.desktop()).inputLock,
        trace: async (start, asked) => (await service.traces()).begin(start, asked),
      });
    }),
    traces: feature(async () => {
      const { Traces } = await import("../../trace/traces");
      const shoot = async (file: string) => (await shared.service.desktop()).screenshot({}, file);
      return new Traces({ folder: files.traces, jobTraces: options.job_traces, shoot, log });
    }),
    history: feature(
      async () => {
        const { createHistory } = await import("../../runs/history");
        const { endOfInterrupted } = await import("../../runs/interrupted");
        await prepareFor(files.history);
        const interrupted = endOfInterrupted(publish);
        return createHistory({ path: files.history, maxRows, log, interrupted });
      },
      (history) => history.close(),
    ),
    runs: stoppable(async () => {
      const { Runs } = await import("../../runs/runs");
      const history = await shared.service.history();
      made.runs = new Runs((run) => history.note(run), publish);
      return made.runs;
    }),
    scheduler: stoppable(async () => {
      const [{ Scheduler }, { ENDED }] = await Promise.all([
        import("../../scheduler/scheduler"),
        import("../../scheduler/transitions"),
      ]);
      made.scheduler = new Scheduler({
        files: { file: files.jobs, lock: files.jobsLock },
        lock: files.schedulerLock,
        async start(job, signal) {
          const hasEnded = job.token !== null && (await tokens.endings())(job.token) !== null;
          return startJob(shared.service, job, hasEnded, signal);
        },
        // One that has expired can be replaced, and then its jobs run again.
        async ended({ token, script }) {
          if (token !== null && (await tokens.endings())(token) === "was revoked") return ENDED.token(token);
          try {
            return script === null || (await shared.service.storedScripts()).has(script)
              ? null
              : ENDED.script(script);
          } catch {
            // While the file is broken, nothing is known to have ended.
            return null;
          }
        },
        log,
        publish: observed,
        hadNone: phase.hasLooked,
      });
      if (phase.runsJobs) await made.scheduler.start();
      return made.scheduler;
    }),
    storedScripts: feature(async () => {
      const { createStoredScripts } = await import("../../runs/stored-scripts");
      return createStoredScripts({ file: files.scripts, lock: files.scriptsLock }, log);
    }),
    endJobsOfScript: async (name) =>
      hasJobs() ? (await shared.service.scheduler()).disown("script", name) : 0,
  };
}

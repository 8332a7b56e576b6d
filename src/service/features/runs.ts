/**
 * What runs action lists: the executor, what is kept of runs, stored scripts and jobs.
 */

import { existsSync } from "node:fs";
import { hostname } from "node:os";
import type { performOperation } from "../../core/call";
import type { Grant } from "../../core/rights";
import type { Executor } from "../../host/runs/executor";
import type { BeginSpan, ExecutorParts } from "../../host/runs/executor-parts";
import type { History } from "../../host/runs/history";
import type { Runs } from "../../host/runs/runs";
import type { SpanExporter } from "../../host/runs/spans";
import type { StoredScript, StoredScripts } from "../../host/runs/stored-scripts";
import type { RunState } from "../../host/runs/types";
import type { Job } from "../../host/scheduler/job";
import type { Scheduler } from "../../host/scheduler/scheduler";
import type { Traces } from "../../host/trace/traces";
import { forbidden, messageOf } from "../../lib/errors";
import { orElse } from "../../lib/or-else";
import { RUN_ENDED } from "../../wire/receipt/run-record";
import type { ServiceParts } from "../parts";
import { createPerform } from "../run-action";
import { startJob } from "../start-job";

/** What `storeScript` takes after the service. */
type StoreWhat =
  Parameters<typeof import("../../host/runs/operations/scripts").storeScript> extends [unknown, ...infer Rest]
    ? Rest
    : never;

/** What runs action lists in a process. */
export interface RunFeatures {
  executor(): Promise<Executor>;
  /** How many spans of runs were sent to a collector, and dropped; undefined where there is none. */
  spanCounts(): { readonly sent: number; readonly dropped: number } | undefined;
  /** As `performOperation`; what the server on the folder is to do in place of this process, it does (`run-action.ts`). */
  readonly perform: typeof performOperation;
  /** The traces of runs that this host keeps. */
  traces(): Promise<Traces>;
  history(): Promise<History>;
  runs(): Promise<Runs>;
  scheduler(): Promise<Scheduler>;
  storedScripts(): Promise<StoredScripts>;
  /** Checks a script and stores it, with a row of the audit log. @throws as `scripts.add`. */
  storeScript(...what: StoreWhat): Promise<StoredScript>;
  /** Checks a list as it is before it is stored. @throws a `bad_input` failure. */
  checkScript(actions: unknown): Promise<void>;
  /** Disables the jobs that a stored script has added for tokens that allow it alone. @returns how many they are. */
  endJobsOfScript(script: string): Promise<number>;
}

/**
 * @param maxRows of the history; without it, one that there is keeps as many as so far.
 * @returns besides the features `hasJobs`: whether there are jobs, or were.
 */
export function runFeatures(
  shared: ServiceParts,
  maxRows: number | undefined,
): RunFeatures & { hasJobs(): boolean } {
  const { files, options, log, publish, observed, tokens, made, phase, feature, stoppable, prepareFor } =
    shared;
  /** Why the job may not begin: its token has expired; or its token, or what it may run, cannot be read. */
  const refusalOf = async ({ token, script }: Job): Promise<unknown> => {
    try {
      if (token === null) return undefined;
      await tokens.requireKnown(token);
      if (script !== null) (await shared.service.storedScripts()).get(script);
      if ((await tokens.endings())(token) === null) return undefined;
      return forbidden(`its token ${token} has expired: \`svc token rotate ${token}\``);
    } catch (error) {
      return error;
    }
  };
  const otlp = createOtlp(shared);
  const hasJobs = () => made.scheduler !== undefined || existsSync(files.jobs);
  return {
    hasJobs,
    spanCounts: otlp.counts,
    perform: createPerform(shared),
    executor: feature(() => createExecutor(shared, otlp.begin)),
    traces: feature(async () => {
      const { Traces } = await import("../../host/trace/traces");
      return new Traces({ folder: files.traces, jobTraces: options.job_traces, log, ...looksOf(shared) });
    }),
    history: feature(
      async () => {
        const { createHistory } = await import("../../host/runs/history");
        const { endOfInterrupted } = await import("../../host/runs/interrupted-runs");
        await prepareFor(files.history);
        const interrupted = endOfInterrupted(publish);
        return createHistory({ path: files.history, maxRows, log, interrupted });
      },
      (history) => history.close(),
    ),
    runs: stoppable(async () => {
      const { Runs } = await import("../../host/runs/runs");
      const history = await shared.service.history();
      const note = (run: RunState) => history.note(run);
      const attach = shared.isBeside
        ? (await import("../attach-run")).createAttachRun(shared, note)
        : undefined;
      made.runs = new Runs(note, publish, attach);
      return made.runs;
    }),
    scheduler: stoppable(async () => {
      const [{ Scheduler }, { ENDED }] = await Promise.all([
        import("../../host/scheduler/scheduler"),
        import("../../host/scheduler/transitions"),
      ]);
      made.scheduler = new Scheduler({
        files: { file: files.jobs, lock: files.jobsLock },
        lock: files.schedulerLock,
        async start(job, signal) {
          return startJob(shared.service, job, await refusalOf(job), signal);
        },
        // One that has expired can be replaced, and then its jobs run again.
        async ended({ token, script }) {
          if (token !== null && (await tokens.endings())(token) === "was revoked") return ENDED.token(token);
          try {
            const isGone = script !== null && (await shared.service.storedScripts()).isGone(script);
            return isGone ? ENDED.script(script) : null;
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
      const { createStoredScripts } = await import("../../host/runs/stored-scripts");
      return createStoredScripts({ file: files.scripts, lock: files.scriptsLock }, log);
    }),
    storeScript: async (...what) =>
      (await import("../../host/runs/operations/scripts")).storeScript(shared.service, ...what),
    checkScript: async (actions) => void (await (await shared.service.executor()).check(actions)),
    endJobsOfScript: async (name) =>
      hasJobs() ? (await shared.service.scheduler()).disown("script", name) : 0,
  };
}

/** What runs action lists in this process. */
async function createExecutor(
  shared: ServiceParts,
  beginSpan: ExecutorParts["beginSpan"],
): Promise<Executor> {
  const { service, files, log } = shared;
  const [{ Executor }, { readMembership }] = await Promise.all([
    import("../../host/runs/executor"),
    import("../../wire/join/membership"),
  ]);
  return new Executor({
    service,
    operations: await service.operations(),
    log,
    permits: service.permits,
    runs: service.runs,
    placeFor: service.placeFor,
    beginSpan,
    stored: async (name) => (await service.storedScripts()).get(name),
    perform: shared.service.perform,
    secrets: async (names) => (await service.secrets()).read(names),
    hostLabel: () => labelOf(() => readMembership(files.desk)),
    inputLock: async () => (await service.desktop()).inputLock,
    trace: async (start, asked, looks) => (await service.traces()).begin(start, asked, looks),
    ...(shared.options.audit && { recordEnd: (detail: string) => void recordEnd(shared, detail) }),
    async parametersKey(run) {
      const [{ openAuditKey }, { parametersKeyOf }] = await Promise.all([
        import("../../host/audit/witness/key"),
        import("../../host/audit/receipt/parameters"),
      ]);
      return parametersKeyOf(openAuditKey(files.auditKey), run);
    },
    adviceFor: (grant) => adviceFor(shared, grant),
  });
}

/** Leaves the row of the end of a run. Never throws. */
async function recordEnd({ service, log }: ServiceParts, detail: string): Promise<void> {
  try {
    await (await service.audit())?.log(RUN_ENDED, { detail });
  } catch (error) {
    log.warn(`the end of a run is not on record, so that it has no receipt: ${messageOf(error)}`);
  }
}

/** Runs as traces for the collector that the options name, if any. */
function createOtlp({ options, log, stopLast }: ServiceParts) {
  const { otlp: url } = options;
  let exporter: SpanExporter | undefined;
  const begin = async (...run: Parameters<BeginSpan>) => {
    const { createSpanExporter, headersIn } = await import("../../host/runs/spans");
    if (!exporter && url !== undefined) {
      const headers = headersIn(process.env.OTEL_EXPORTER_OTLP_HEADERS);
      exporter = createSpanExporter(url, log, { headers });
      const { stop } = exporter;
      // Runs end while they stop.
      stopLast(stop);
    }
    return exporter?.begin(...run);
  };
  return { begin: url === undefined ? undefined : begin, counts: () => exporter?.counts() };
}

/** How a desk, whose token has this grant, may do more here; empty for another token. */
async function adviceFor({ service }: ServiceParts, { name }: Grant): Promise<string> {
  const desk = name === null ? null : await service.deskWith(name).catch(() => null);
  return desk === null ? "" : ": `svc desk set --allow` on this host lets its desk do more";
}

/** What a trace keeps of the screen. */
const looksOf = ({ service }: ServiceParts) => ({
  shoot: async (file: string) => (await service.desktop()).screenshot({}, file),
  outline: async (bytes: number) => (await service.desktop()).snapshots.outline(bytes),
});

/** What this host is called by its desk; else by itself, also while the file of its membership cannot be read. */
const labelOf = (membership: () => { readonly label: string } | undefined): string =>
  orElse(() => membership()?.label, undefined) ?? hostname();

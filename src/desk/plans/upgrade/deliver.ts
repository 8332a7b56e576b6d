/**
 * The delivery of jobs that upgrade a host: before such a job, the host gets the file in pieces; after it, the host is asked what became
 * of the upgrade.
 *
 * The promise: the job is `ok` when the host answers as the new version, and `failed` when it went back.
 */
import { RemoteError } from "../../../client/carrier";
import { sleep } from "../../../lib/deadline";
import { readContent } from "../../../wire/job/content";
import type { DeliverJob, Job, JobResult, JobState } from "../../../wire/job/job";
import type { ReleasedBinary } from "../../../wire/release/released-binary";
import { releasedIn } from "../../../wire/release/upgrade-messages";
import { askingOf, TooOldError } from "./ask";
import { createUpload, type UploadParts } from "./upload";

/** How long a host may take from the begin of the upgrade until it answers what became of it, also where it goes back, in milliseconds. */
const VERDICT_MS = 240_000;

const LOOK_MS = 1_000;

export interface UpgradeDelivery extends UploadParts {
  readonly deliver: DeliverJob;
  /** The pauses, for tests. */
  readonly lookMs?: number;
  readonly verdictMs?: number;
}

/** As `deliver`, which it is for any other job. */
export function createUpgradeDelivery({
  deliver,
  lookMs = LOOK_MS,
  verdictMs = VERDICT_MS,
  ...parts
}: UpgradeDelivery): DeliverJob {
  const bring = createUpload(parts);
  /** The content that was read last: that of a plan is the same for all of its hosts. */
  let last: { readonly content: string; readonly files: readonly ReleasedBinary[] | undefined } | undefined;
  const filesOf = ({ content }: Job) => {
    if (last?.content === content) return last.files;
    const files = content.includes("AC_upgrade_install")
      ? releasedIn(readContent(content).actions)
      : undefined;
    last = { content, files };
    return files;
  };

  return async (target, job, options) => {
    const files = filesOf(job);
    if (!files) return deliver(target, job, options);
    const started = performance.now();
    const end = (state: JobState, delivered: boolean, error?: string, run_id?: string): JobResult => {
      const ok = state === "ok";
      const status = ok ? "ok" : state === "offline" ? "unreachable" : "failed";
      const duration_ms = Math.round(performance.now() - started);
      const more = { ...(error !== undefined && { error }), ...(run_id !== undefined && { run_id }) };
      return { state, result: { label: target.label, ok, status, delivered, duration_ms, ...more } };
    };
    const { signal, before = null, idle } = options;
    const asking = askingOf(target, options, job.delivery_timeout_s * 1_000);
    if (before) idle?.();
    else {
      const fault = await bring({ target, job, files, options, asking, end });
      if (fault) return fault;
    }
    let isRunning = false;
    const running = () => {
      if (!isRunning) options.running();
      isRunning = true;
    };
    const done = await deliver(target, job, { ...options, running });
    const isBegun = done.state === "ok" || done.state === "interrupted";
    if (!isBegun) return done;
    running();
    return verdict(done);

    /** What became of the upgrade that the job has begun. */
    async function verdict({ state, result }: JobResult): Promise<JobResult> {
      const until = performance.now() + verdictMs;
      let why = "";
      while (performance.now() < until && !signal.aborted) {
        try {
          const { last: found, version } = await asking.status();
          if (found?.id !== job.id)
            return state === "interrupted"
              ? { state, result }
              : end("failed", true, "this host knows nothing of the upgrade", result.run_id);
          if (found.ok === true && version === found.to) return end("ok", true, undefined, result.run_id);
          if (found.ok === false)
            return end("failed", true, found.error ?? `it is ${version}`, result.run_id);
          why = `it is still ${version}`;
        } catch (error) {
          if (!(error instanceof RemoteError || error instanceof TooOldError)) throw error;
          why = error.message;
        }
        await sleep(lookMs, signal).catch(() => {});
      }
      if (signal.aborted) return end("lost", true, "cancelled: it may still be upgraded");
      return end("unknown", true, `it did not say what became of the upgrade (${state}): ${why}`);
    }
  };
}

/**
 * The delivery of jobs that upgrade a host: before such a job, the host gets the file in pieces; after it, the host is asked what became
 * of the upgrade.
 *
 * Promises. What a host has of a file is never sent again. No piece is sent while the plan does not run. The job is `ok` when the host answers as the
 * new version, and `failed` when it went back. Some hosts at a time get their file; the others wait, and hold up no other plan.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { RemoteError } from "../../client/carrier";
import { sleep } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import { isNoNews, type Released, releasedFor } from "../../release/released";
import type { SigningKey } from "../../trust/identity";
import { readContent } from "../job/content";
import { seal } from "../job/envelope";
import {
  type DeliverJob,
  type DeliverOptions,
  INTERRUPTED,
  type Job,
  type JobResult,
  type JobState,
  type Target,
} from "../job/job";
import { type Asking, askingOf, isOffline, TooOld } from "./ask";
import { PIECE_BYTES, releasedIn } from "./host";

/** How many hosts get their file at a time: each takes some megabytes of memory, and its share of the network. */
const AT_ONCE = 16;

/** The pauses after the first, second … request in a row that was lost, in milliseconds. */
const AGAIN_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000];

/** How long a host may take from the begin of the upgrade until it answers what became of it, also where it goes back, in milliseconds. */
const VERDICT_MS = 240_000;

const LOOK_MS = 1_000;

export interface UpgradeDelivery {
  readonly deliver: DeliverJob;
  /** The desk's key for jobs. */
  key(): SigningKey;
  /** Where the files are, each under its SHA-256. */
  readonly folder: string;
  /** The pauses, for tests. */
  readonly againMs?: readonly number[];
  readonly lookMs?: number;
  readonly verdictMs?: number;
}

/** As `deliver`, which it is for any other job. */
export function createUpgradeDelivery({
  deliver,
  key,
  folder,
  againMs = AGAIN_MS,
  lookMs = LOOK_MS,
  verdictMs = VERDICT_MS,
}: UpgradeDelivery): DeliverJob {
  const turn = createTurn(AT_ONCE);
  /** The content that was read last: that of a plan is the same for all of its hosts. */
  let last: { readonly content: string; readonly files: readonly Released[] | undefined } | undefined;
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
    using asking = askingOf(target, options, job.delivery_timeout_s * 1_000);
    idle?.();
    if (!before) {
      const fault = await bring(target, job, files, options, asking, end);
      if (fault) return fault;
    }
    let isRunning = false;
    const running = () => {
      if (!isRunning) options.running();
      isRunning = true;
    };
    const done = await deliver(target, job, { ...options, running });
    const isBegun = done.state === "ok" || done.result.error === INTERRUPTED;
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
            return end(
              "failed",
              true,
              result.error ?? "this host knows nothing of the upgrade",
              result.run_id,
            );
          if (found.ok === true && version === found.to) return end("ok", true, undefined, result.run_id);
          if (found.ok === false)
            return end("failed", true, found.error ?? `it is ${version}`, result.run_id);
          why = `it is still ${version}`;
        } catch (error) {
          if (!(error instanceof RemoteError || error instanceof TooOld)) throw error;
          why = error.message;
        }
        await sleep(lookMs, signal).catch(() => {});
      }
      if (signal.aborted) return end("lost", true, "cancelled: it may still be upgraded");
      return end("unknown", true, `it did not say what became of the upgrade (${state}): ${why}`);
    }
  };

  /** Sends the file until the host has it. @returns why it does not get it; undefined once it has. */
  async function bring(
    target: Target,
    job: Job,
    files: readonly Released[],
    { signal, maySend = () => true }: DeliverOptions,
    asking: Asking,
    end: (state: JobState, delivered: boolean, error?: string) => JobResult,
  ): Promise<JobResult | undefined> {
    const free = await turn();
    const sealed = seal(job, "execute", target.host_id, target.host_id === null ? null : key());
    const about = JSON.stringify({ ...sealed, content: job.content }).slice(0, -1);
    let handle: Awaited<ReturnType<typeof open>> | undefined;
    try {
      for (let faults = 0, received = -1, file: Released | undefined; ; ) {
        if (signal.aborted) return end("offline", false, "cancelled");
        if (!maySend()) return end("unseen", false, "not sent");
        if (Date.now() >= Date.parse(job.expires)) return end("expired", false, `expired at ${job.expires}`);
        try {
          if (!file || received < 0) {
            const { version, target: has, refusal, incoming, last: known } = await asking.status();
            file = releasedFor(files, has);
            if (!file)
              return end("refused", false, `the plan has no file for ${has}, the target of this host`);
            // It may have been upgraded by the job whose answer was lost, or by hand.
            if (known?.id === job.id) return undefined;
            if (version === file.version) return end("ok", false);
            if (isNoNews(file, version))
              return end("refused", false, `this host has ${version}, which is newer than ${file.version}`);
            if (refusal !== null) return end("refused", false, refusal);
            const isSame = incoming?.sha256 === file.sha256;
            if (isSame && incoming.complete) return undefined;
            received = isSame ? incoming.received : 0;
          }
          handle ??= await open(join(folder, file.sha256));
          const buffer = Buffer.alloc(Math.min(PIECE_BYTES, file.size - received));
          const { bytesRead } = await handle.read(buffer, 0, buffer.length, received);
          const data = buffer.subarray(0, bytesRead).toString("base64");
          const answer = await asking.send(`${about},"offset":${received},"data":"${data}"}`);
          faults = 0;
          if (answer.complete) return undefined;
          received = answer.received;
        } catch (error) {
          if (error instanceof TooOld) return end("refused", false, error.message);
          if (!(error instanceof RemoteError))
            return end("failed", false, `the file cannot be read on this desk (${messageOf(error)})`);
          const isAnother = error.refusal?.status === 409;
          if (!isOffline(error) && !isAnother) return end("refused", false, error.message);
          const ms = againMs[faults++];
          if (error.fault === "cancelled" || ms === undefined)
            return end(isAnother ? "refused" : "offline", false, error.message);
          // How far it came is asked anew.
          received = -1;
          await sleep(ms * (0.75 + Math.random() / 2), signal).catch(() => {});
        }
      }
    } finally {
      await handle?.close();
      free();
    }
  }
}

/** Lets so many work at once, in the order in which they come. @returns a function that takes a place, and returns one that gives it back. */
function createTurn(most: number) {
  let busy = 0;
  const waiting: Array<() => void> = [];
  return async (): Promise<() => void> => {
    if (busy < most) busy++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => {
      const next = waiting.shift();
      // It takes over the place.
      if (next) next();
      else busy--;
    };
  };
}

/**
 * Polling: asks each host how it is, all of them within one timeout and the time it takes to ask.
 */
import type * as v from "valibot";
import { bodyOf, typed } from "../client/call";
import { deadlineIn, Line } from "../client/connection";
import { RemoteError } from "../client/error";
import { inLanes, patienceFor } from "../lib/pool";
import { printable } from "../lib/sanitize";
import { type Host, serverOf } from "./host";
import { POLLED_JOBS, POLLED_SESSIONS, type Polled } from "./polled";

/** The largest answer that a poll takes. */
const MAX_POLL_BYTES = 1_048_576;

export interface PollOptions {
  /** How many hosts are asked at once; one that is slow to answer stops counting. */
  readonly concurrency: number;
  /** How long a host may take for all that it is asked, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Told of each host as it is done. */
  readonly polled?: (result: Polled) => void;
}

/** Polls `hosts`; the results are in their order. Never throws: what goes wrong is that host's result. */
export function pollHosts(hosts: readonly Host[], options: PollOptions): Promise<Polled[]> {
  const { concurrency, timeoutMs, polled } = options;
  return inLanes(hosts, { lanes: concurrency, patienceMs: patienceFor(timeoutMs) }, async (host) => {
    const result = await pollHost(host, options);
    polled?.(result);
    return result;
  });
}

async function pollHost(host: Host, { timeoutMs, signal }: PollOptions): Promise<Polled> {
  const { label, base_url } = host;
  const started = performance.now();
  const limits = { deadline: deadlineIn(timeoutMs), maxBytes: MAX_POLL_BYTES };
  const line = new Line(serverOf(host), signal);
  let latency_ms: number | null = null;
  try {
    const sessions = shown(
      typed(POLLED_SESSIONS, bodyOf(await line.ask({ method: "GET", path: "/sessions" }, limits))),
    );
    latency_ms = Math.round((performance.now() - started) * 10) / 10;
    const jobs = await line.ask({ method: "GET", path: "/jobs" }, limits);
    const job_count = jobs.status === 404 ? null : typed(POLLED_JOBS, bodyOf(jobs)).jobs.length;
    return { label, base_url, healthy: true, latency_ms, error: null, sessions, job_count };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return {
      label,
      base_url,
      healthy: false,
      latency_ms,
      error: error.message,
      sessions: null,
      job_count: null,
    };
  } finally {
    line.close();
  }
}

function shown({
  host,
  viewer,
}: v.InferOutput<typeof POLLED_SESSIONS>): v.InferOutput<typeof POLLED_SESSIONS> {
  const id = (text: string | null) => (text === null ? null : printable(text));
  return {
    host: { ...host, host_id: id(host.host_id) },
    viewer: { ...viewer, host_id: id(viewer.host_id) },
  };
}

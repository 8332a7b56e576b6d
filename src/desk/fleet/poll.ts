/**
 * Polling: asks many hosts for their state. Dead hosts cost the timeout once, not once each.
 */
import { isDeepStrictEqual } from "node:util";
import type * as v from "valibot";
import { deadlineIn, RemoteError } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { createConnectionPool } from "../../client/connection-pool";
import { mayLackDescriptor, NO_DESCRIPTOR } from "../../client/dial";
import { typed } from "../../client/remote-call";
import { serverOfHost } from "../../lib/per-server";
import { patienceFor, runPool } from "../../lib/pool";
import { printable } from "../../lib/sanitize";
import { createSharing } from "../../lib/share";
import type { AddressBook } from "./address-book";
import { type Follow, type KeyChange, keyChange, type RightsChange } from "./follow";
import { type Host, serverOf } from "./host";
import { createPresence, type PollFinding, type Presence } from "./presence";
import { isBusy, POLLED_JOBS, type POLLED_SESSIONS, type PollResult, SESSIONS_ANSWER } from "./results";

/** How many requests a poll makes: sessions, jobs and, of a host with a pinned key, its status. */
const REQUESTS = 3;

/** How long a poll must wait for a host, in milliseconds, before it counts as down. */
const PATIENT_MS = 2_000;

/** The largest answer that a poll accepts. */
const MAX_POLL_BYTES = 1_048_576;

/** How hosts are polled. */
export interface PollOptions {
  /** Hosts to ask at once, at each NATS server and of all others; slow hosts stop counting. */
  readonly concurrency: number;
  /** How long a host may take for all answers, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The name of the token that asks: its connections count together. */
  readonly client?: string | null;
  /** Whether a host did not answer when it was asked last: it is asked first, beside those that are asked at once. */
  readonly isLost?: (host: Host) => boolean;
  /** Receives each result when it is complete. */
  readonly polled?: (result: PollResult) => void;
  /** The server of a host (default: {@link serverOf}). */
  readonly reach?: AddressBook["reach"];
  /** Receives what hosts with a pinned key announce about it. */
  readonly changed?: (change: KeyChange) => void;
  /** Receives what hosts let this desk do, where that is something else than the address book has. */
  readonly allowed?: (change: RightsChange) => void;
}

/** The results of `hosts`, in their order. Never throws: an error is that host's result. */
export function pollHosts(hosts: readonly Host[], options: PollOptions): Promise<PollResult[]> {
  const { concurrency, timeoutMs, polled, isLost } = options;
  const pool = {
    slots: concurrency,
    patienceMs: patienceFor(timeoutMs),
    serverOf: serverOfHost,
    ...(isLost && { isSlow: isLost }),
  };
  return runPool(hosts, pool, async (host) => {
    const result = await pollHost(host, options);
    polled?.(result);
    return result;
  });
}

/** Asks hosts whether they are healthy. Those who ask for the same at once share the answers. */
export interface Poller {
  /** @param askAgain whether those are asked too that refused their token lately. */
  poll(
    book: Pick<AddressBook, "reach" | "askAgain">,
    hosts: readonly Host[],
    pollOptions: PollOptions,
    askAgain?: boolean,
  ): Promise<PollResult[]>;
  /** Closes the connections that wait for the next poll. */
  stop(): void;
}

/**
 * {@link pollHosts}, where those who ask the same of the same hosts with one token meanwhile share the poll under way. The next
 * poll finds the connections of this one.
 *
 * @param follow stores what hosts have said of their keys, and of what this desk may do there, all of a poll at once; never throws.
 * @param presence learns which hosts are up or down.
 */
export function createPoller(
  follow: Follow,
  presence: Pick<Presence, "healthy" | "busy" | "gone" | "sighting"> = createPresence(),
): Poller {
  const shared = createSharing<PollResult[]>();
  const kept = createConnectionPool();
  /** @returns whether only the whole poll tells if the host is down. */
  const note = (result: PollResult, { timeoutMs, signal }: PollOptions) => {
    const { label, base_url, healthy, error } = result;
    if (healthy) presence.healthy({ label, base_url }, foundIn(result));
    else if (isBusy({ error })) presence.busy({ label, base_url }, error ?? "");
    // Who waits for an instant only, or no longer, learns nothing.
    else if (signal?.aborted || timeoutMs < PATIENT_MS) return false;
    else if (mayLackDescriptor(error ?? "")) return true;
    else presence.gone({ label, base_url }, error ?? "");
    return false;
  };
  const isLost = ({ label }: Host) => presence.sighting(label)?.isUp === false;
  const pollAndFollow = async (hosts: readonly Host[], options: PollOptions) => {
    const refused: PollResult[] = [];
    const changes: KeyChange[] = [];
    const polled = (result: PollResult) => {
      if (note(result, options)) refused.push(result);
      options.polled?.(result);
    };
    const rights: RightsChange[] = [];
    const changed = (change: KeyChange) => changes.push(change);
    const allowed = (change: RightsChange) => rights.push(change);
    const results = await pollHosts(hosts, { ...options, isLost, polled, changed, allowed });
    // Where this process could open no more for a moment, nobody knows which of the others have refused it.
    const isOwn = refused.some(({ error }) => error === NO_DESCRIPTOR);
    if (!isOwn) for (const host of refused) presence.gone(host, host.error ?? "");
    await follow(changes, rights);
    return results;
  };
  return {
    async poll(book, hosts, { signal, ...given }, askAgain = false) {
      if (askAgain) await book.askAgain(hosts);
      const options = { ...given, reach: (host: Host) => ({ ...book.reach(host), kept }) };
      // Who follows a poll needs each of its results.
      if (options.polled) return pollAndFollow(hosts, { ...options, signal });
      const key = JSON.stringify([hosts, given, askAgain]);
      return shared(key, (abandoned) => pollAndFollow(hosts, { ...options, signal: abandoned }), signal);
    },
    stop: kept.stop,
  };
}

async function pollHost(
  host: Host,
  { timeoutMs, signal, client, reach = serverOf, changed, allowed }: PollOptions,
): Promise<PollResult> {
  const { label, base_url } = host;
  let started = performance.now();
  let latency_ms: number | undefined;
  const since = () => Math.round((performance.now() - started) * 10) / 10;
  const result = {
    label,
    base_url,
    healthy: false,
    error: null,
    sessions: null,
    job_count: null,
    version: null,
  };
  try {
    using carrier = await carrierTo(reach(host), signal, client, REQUESTS);
    started = performance.now();
    const limits = { deadline: deadlineIn(timeoutMs), maxBytes: MAX_POLL_BYTES };
    const answer = await carrier.ask({ method: "GET", path: "/sessions" }, limits);
    const { rights, version = null, ...sessions } = typed(SESSIONS_ANSWER, answer);
    if (rights && !isDeepStrictEqual(rights, host.rights)) allowed?.({ host, rights });
    latency_ms = since();
    const jobs = await carrier.ask({ method: "GET", path: "/jobs" }, limits);
    const job_count = jobs.status === 404 ? null : typed(POLLED_JOBS, jobs).jobs.length;
    const change = changed && (await keyChange(host, carrier, limits.deadline));
    if (change) changed(change);
    return {
      ...result,
      healthy: true,
      latency_ms,
      sessions: withPrintableIds(sessions),
      job_count,
      version: version && printable(version, 40),
    };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return { ...result, latency_ms: latency_ms ?? since(), error: error.message };
  }
}

/** What is remembered of a healthy host. */
const foundIn = ({ latency_ms, version, sessions, job_count }: PollResult): PollFinding => ({
  latency_ms,
  version,
  clients: sessions?.host.connected_clients ?? null,
  jobs: job_count,
});

function withPrintableIds({ host, viewer }: v.InferOutput<typeof POLLED_SESSIONS>) {
  const id = (text: string | null) => text && printable(text);
  return {
    host: { ...host, host_id: id(host.host_id) },
    viewer: { ...viewer, host_id: id(viewer.host_id) },
  };
}

/**
 * Keeps a connection to a NATS server up.
 *
 * The promise: a server that comes back is not stampeded. A connection is tried again after a random part of a time that doubles, up to
 * a minute; that of a host, of which there are many, after a part of half a minute at once. So 50,000 hosts that lose a server are
 * 1,600 attempts a second, and 830 once they have tried twice. A desk that has something to send tries again within a second.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { RemoteError } from "../../client/carrier";
import { type Backoff, pauseBefore, type Random } from "../../lib/backoff";
import { createBuckets } from "../../lib/buckets";
import { resolvesWithin, sleep } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Login } from "./connect";
import { FIRST, serverNamed } from "./region";

/** Before the nth attempt: up to 4 s · 2^n, and never more than a minute; in milliseconds. */
const RETRY: Backoff = { firstMs: 4_000, longestMs: 60_000 };

/** Hosts begin with the attempt of this number when a good connection ends: 4 s · 2^3 are 32 s. */
export const AMONG_MANY = 3;

/** The same where the server refuses the credentials. */
const RETRY_REFUSED: Backoff = { ...RETRY, longestMs: 900_000 };

/** How long a pause is at least where somebody waits for the connection, as a plan for many hosts does; in milliseconds. */
const WAKE_MS = 1_000;

/** After a connection that was up for so long, attempts are counted from the first again; in milliseconds. */
const GOOD_MS = 30_000;

/** How often what a server refuses is logged, over all connections. */
const REFUSALS = { ratePerMinute: 1, burst: 10 };

/** How long the last messages may take when svc stops, in milliseconds. */
const FLUSH_MS = 1_000;

export interface KeepParts {
  login(): Promise<Login> | Login;
  /** It is up. @returns what to do once it has ended. */
  connected(connection: NatsConnection): () => void;
  readonly log: Pick<Log, "info" | "warn">;
  readonly random?: Random | undefined;
  /** The number of the attempt that follows a good connection (default: 0; {@link AMONG_MANY}). */
  readonly firstAttempt?: number;
  /** As lines of the log name the server (default: `the NATS server`). */
  readonly server?: string;
}

export interface ConnectionState {
  readonly state: "connecting" | "connected" | "waiting";
  readonly since: Date;
  /** When it is tried again. */
  readonly next: Date | null;
  /** Why there is none, or why the last one ended. */
  readonly problem: string | null;
  readonly attempts: number;
  /** Since when there is no connection; null while there is one. */
  readonly lost: Date | null;
}

/** The same as operations answer it: times as ISO 8601. */
export const shown = ({ since, next, lost, ...state }: ConnectionState) => ({
  ...state,
  since: since.toISOString(),
  next: next?.toISOString() ?? null,
  lost: lost?.toISOString() ?? null,
});

/** A connection to a NATS server that is made again when it is lost. */
export interface KeptConnection {
  state(): ConnectionState;
  /** The connection that is up; undefined where there is none. */
  current(): NatsConnection | undefined;
  /**
   * The connection, or the one that the attempt under way makes; a pause before the next attempt ends after {@link WAKE_MS}.
   *
   * @throws why that failed; also once it is stopped.
   */
  ready(): Promise<NatsConnection> | NatsConnection;
  stop(): Promise<void>;
}

/** What an attempt ends with that {@link KeptConnection}'s `stop` has cut off. */
const STOPPED = new RemoteError("unreachable", "svc has stopped using it", false);

export function keepConnection({
  login,
  connected,
  log,
  random,
  firstAttempt = 0,
  server = serverNamed(FIRST),
}: KeepParts): KeptConnection {
  const stopping = new AbortController();
  let state: ConnectionState = {
    state: "connecting",
    since: new Date(),
    next: null,
    problem: null,
    attempts: 0,
    lost: new Date(),
  };
  const set = (change: Partial<ConnectionState>) => {
    state = { ...state, since: new Date(), next: null, ...change };
  };
  let current: NatsConnection | undefined;
  const mayLog = createBuckets(REFUSALS);
  let attempt = Promise.withResolvers<NatsConnection>();

  /** One connection, until it ends. @returns how long it was up, in milliseconds. */
  const once = async (): Promise<number> => {
    set({ state: "connecting", attempts: state.attempts + 1 });
    const { connectNats } = await import("./connect");
    const connection = await connectNats(await login());
    if (stopping.signal.aborted) {
      await connection.close();
      return 0;
    }
    const upSince = performance.now();
    watchRefusals(connection, server, log, () => mayLog("", performance.now()) === 0).catch(() => {});
    let ended: () => void;
    try {
      ended = connected(connection);
    } catch (error) {
      await resolvesWithin(
        FLUSH_MS,
        connection.close().catch(() => {}),
      );
      throw error;
    }
    current = connection;
    set({ state: "connected", problem: null, lost: null });
    attempt.resolve(connection);
    const error = await connection.closed();
    current = undefined;
    set({ state: "connecting", lost: new Date() });
    attempt = Promise.withResolvers();
    attempt.promise.catch(() => {});
    ended();
    if (!stopping.signal.aborted) set({ problem: error ? messageOf(error) : "the connection was lost" });
    return performance.now() - upSince;
  };

  let wake = () => {};
  const keep = async () => {
    for (let nth = 0; !stopping.signal.aborted; nth++) {
      let limits = RETRY;
      try {
        if ((await once()) >= GOOD_MS) nth = firstAttempt;
      } catch (error) {
        if (Object(error).fault === "unauthorized") limits = RETRY_REFUSED;
        const problem = printable(messageOf(error), 200);
        if (problem !== state.problem) log.warn(`no connection to ${server}: ${problem}`);
        set({ problem });
        attempt.reject(error);
        attempt = Promise.withResolvers();
        attempt.promise.catch(() => {});
      }
      if (stopping.signal.aborted) return;
      const pause = pauseBefore(limits, nth, random);
      set({ state: "waiting", next: new Date(Date.now() + pause) });
      const woken = new AbortController();
      wake = () => woken.abort();
      await pauseUntil(pause, woken.signal, stopping.signal);
    }
  };
  attempt.promise.catch(() => {});
  const kept = keep();
  return {
    state: () => state,
    current: () => current,
    ready() {
      if (stopping.signal.aborted) throw STOPPED;
      if (current) return current;
      wake();
      return attempt.promise;
    },
    async stop() {
      stopping.abort();
      // Whoever waits for it would wait for ever: nothing that the attempt does is looked at any more.
      attempt.reject(STOPPED);
      // An attempt that is under way ends by itself, and closes what it has opened.
      if (!current) return;
      // What was published leaves first.
      await resolvesWithin(
        FLUSH_MS,
        current.flush().catch(() => {}),
      );
      // On a connection that is dead, closing waits for the system to notice.
      await resolvesWithin(FLUSH_MS, current?.close().then(() => kept) ?? kept);
    },
  };
}

/** Waits `ms` milliseconds; no longer than {@link WAKE_MS} once `woken` is aborted, and not at all once `stopped` is. */
async function pauseUntil(ms: number, woken: AbortSignal, stopped: AbortSignal): Promise<void> {
  const since = performance.now();
  await sleep(ms, AbortSignal.any([stopped, woken])).catch(() => {});
  const left = Math.min(ms, WAKE_MS) - (performance.now() - since);
  if (left > 0) await sleep(left, stopped).catch(() => {});
}

/** The server says what it does not allow: that is a fault of the credentials, or of this program. */
async function watchRefusals(
  connection: NatsConnection,
  server: string,
  log: Pick<Log, "warn">,
  mayLog: () => boolean,
): Promise<void> {
  let last = "";
  for await (const { type, ...rest } of connection.status()) {
    if (type !== "error") continue;
    const said = printable(messageOf(Object(rest).error), 300);
    // One that says the same without end does not fill the log, nor does one that says something else each time.
    if (said !== last && mayLog()) log.warn(`${server}: ${said}`);
    last = said;
  }
}

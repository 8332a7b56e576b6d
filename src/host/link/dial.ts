/**
 * The host's side of a link: dials the desk that it has joined, proves who it is, and keeps the link up.
 *
 * Promises. Nothing is sent before the desk has shown a key that this host knows, and no token ever is. A desk that comes back is
 * not stampeded: hosts dial again after a random part of a time that doubles, up to a minute. A link that is dead, also where nothing
 * says so, is noticed within 46 s.
 */

import { ANY_PART, type Backoff, jitter, pauseBefore, type Random } from "../../lib/backoff";
import { type Buckets, createBuckets } from "../../lib/buckets";
import { resolvesWithin, sleep } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { type ClientSocket, openClientSocket } from "../../wire/link/client-socket";
import { CODE, FROM_HUB, linkMessage, parseFrame, parsePiece } from "../../wire/link/frames";
import type { HostLink } from "../../wire/link/links";
import { watchLink } from "../../wire/link/pings";
import { type Answers, createAnswers, type Enter } from "../../wire/link/serve";

/** How long requests under way may take when svc stops, in milliseconds. */
const GRACE_MS = 8_000;

/** Before the nth attempt, a host waits up to 1 s · 2^n, and never more than this, in milliseconds. */
export const REDIAL: Backoff = { firstMs: 1_000, longestMs: 60_000 };

/** The same where the desk says that this host has not joined it. */
export const REDIAL_REFUSED: Backoff = { ...REDIAL, longestMs: 900_000 };

/** After a link that was up for so long, attempts are counted from the first again; in milliseconds. */
const GOOD_MS = 30_000;

/** How often a warning says that two hosts have one identity. */
const TWINS = { ratePerMinute: 1, burst: 3 };

interface Desk {
  readonly url: string;
  /** The pins of its TLS key; none where it speaks plain http. */
  readonly pins: readonly string[];
  readonly host_id: string;
}

export interface DialParts {
  /** The desk as this host knows it now. */
  desk(): Desk;
  /** Signs with the identity key. */
  sign(message: string): string;
  readonly enter: Enter;
  /** The id of the records of jobs of this host, asked for each link; undefined where they cannot be opened. */
  records(): string | undefined;
  readonly version: string;
  readonly log: Log;
  /** From 0 to 1, for tests. */
  readonly random?: Random;
}

interface DialState extends Pick<HostLink, "problem" | "rtt_ms" | "dials" | "twin"> {
  readonly state: Exclude<HostLink["state"], "off">;
  readonly since: Date;
  /** When it dials again. */
  readonly next: Date | null;
  /** Since when there is no link; null while there is one. */
  readonly lost: Date | null;
}

interface End {
  readonly code: number;
  readonly reason: string;
  /** How long it was up, in milliseconds. */
  readonly upMs: number;
  /** The desk stops: it is dialled again after a random part of this time. */
  readonly retryMs: number | undefined;
}

/** A link that is kept until it is stopped. */
export interface KeptLink {
  state(): DialState;
  /** Ends the link, and dials no more. */
  stop(): Promise<void>;
}

/** What all links of a host share. */
interface Dialler {
  /** Names this process to the desk. */
  readonly process: string;
  /** Whether another host with this identity has the link now. */
  yields: boolean;
  readonly stopping: AbortSignal;
  /** Bounds what the log says of other hosts: a hub may say it without end. */
  readonly mayWarn: Buckets;
  set(change: Partial<DialState>): void;
}

/** Dials the desk until it is stopped. */
export function keepLink(parts: DialParts): KeptLink {
  const { log, random } = parts;
  const stopping = new AbortController();
  let state: DialState = {
    state: "dialling",
    since: new Date(),
    next: null,
    problem: null,
    rtt_ms: null,
    dials: 0,
    lost: new Date(),
    twin: null,
  };
  const set = (change: Partial<DialState>) => {
    state = { ...state, ...change };
  };
  const dialler: Dialler = {
    process: crypto.randomUUID(),
    yields: false,
    stopping: stopping.signal,
    mayWarn: createBuckets(TWINS),
    set,
  };

  const keep = async () => {
    for (let attempt = 0; !stopping.signal.aborted; ) {
      set({ state: "dialling", since: new Date(), next: null, dials: state.dials + 1 });
      const { code, reason, upMs, retryMs } = await linkOnce(parts, dialler).catch(failed);
      if (stopping.signal.aborted) return;
      if (upMs >= GOOD_MS) attempt = 0;
      const isRefused = code === CODE.refused;
      const limits = isRefused ? REDIAL_REFUSED : REDIAL;
      const pause =
        retryMs === undefined ? pauseBefore(limits, attempt, random) : jitter(retryMs, ANY_PART, random);
      attempt += 1;
      const why = printable(reason || `closed with ${code}`, 200);
      const problem = isRefused
        ? `${why}: join it again; until then it dials ever more rarely, every ${REDIAL_REFUSED.longestMs / 60_000} minutes at most`
        : why;
      if (problem !== state.problem) log.warn(`no link to the desk: ${problem}`);
      const next = new Date(Date.now() + pause);
      set({
        state: "waiting",
        since: new Date(),
        next,
        problem,
        rtt_ms: null,
        lost: state.lost ?? new Date(),
      });
      await sleep(pause, stopping.signal).catch(() => {});
    }
  };
  const kept = keep();
  return {
    state: () => state,
    async stop() {
      stopping.abort();
      await kept;
    },
  };
}

/** One link, until it ends. */
async function linkOnce(parts: DialParts, dialler: Dialler): Promise<End> {
  const { log } = parts;
  const { process, stopping, set } = dialler;
  const desk = parts.desk();
  const { promise, resolve } = Promise.withResolvers<End>();
  let upSince: number | undefined;
  let retryMs: number | undefined;
  let answers: Answers | undefined;
  let key = "";
  let hasProved = false;
  let twin: string;
  const trust = { kind: "pin", pins: desk.pins } as const;
  const socket: ClientSocket = openClientSocket(
    new URL("/link", desk.url),
    { trust },
    {
      opened(pin) {
        key = pin ?? "";
      },
      message: (message) => take(message),
      closed(code, reason) {
        answers?.endAll();
        timers.end();
        stopping.removeEventListener("abort", leave);
        const upMs = upSince === undefined ? 0 : performance.now() - upSince;
        resolve({ code, reason, upMs, retryMs });
      },
    },
  );
  const timers = watchLink(socket, (rtt_ms) => set({ rtt_ms }), parts.random);
  const leave = async () => {
    await resolvesWithin(GRACE_MS, answers?.finish() ?? Promise.resolve());
    socket.close(1_000, "svc stops");
  };
  stopping.addEventListener("abort", leave);
  if (stopping.aborted) socket.terminate();
  const end = (reason: string) => socket.close(CODE.protocol, reason);

  const take = (message: string | Uint8Array) => {
    if (typeof message !== "string") {
      const piece = parsePiece(message);
      if (!piece || answers?.piece(piece.id, piece.bytes) === false) end("not a frame of this protocol");
      return;
    }
    const frame = parseFrame(FROM_HUB, message);
    if (!frame) return end("not a frame of this protocol");
    switch (frame.t) {
      case "hello": {
        if (hasProved) return end("a second hello");
        hasProved = true;
        const { host_id } = desk;
        const signature = parts.sign(linkMessage(frame.nonce, key, host_id));
        const { yields } = dialler;
        const { version } = parts;
        const about = { host_id, signature, process, version, yields, records: parts.records() };
        return socket.send(JSON.stringify({ t: "host", ...about }));
      }
      case "ready":
        if (answers || !hasProved) return end("ready, which the link is already or cannot be");
        dialler.yields = false;
        upSince = performance.now();
        answers = createAnswers(socket, parts.enter, log);
        set({ state: "linked", since: new Date(), next: null, problem: null, lost: null });
        log.info(`linked to the desk at ${new URL(desk.url).host} as ${printable(frame.label, 130)}`);
        return timers.ready();
      case "twin":
        twin = printable(frame.address, 100);
        set({ twin });
        if (dialler.mayWarn("", performance.now()) === 0)
          log.warn(`another host with the identity of this one, at ${twin}, has lost its link`);
        return;
      case "replaced":
        dialler.yields = true;
        twin = printable(frame.address, 100);
        set({ twin });
        log.warn(
          `another host with the identity of this one, at ${twin}, has the link to the desk now: give one of them an identity of its own (\`svc leave\`, \`svc config set-aside host_key\`, \`svc join\`)`,
        );
        return socket.close(CODE.replaced, "replaced");
      case "drain":
        retryMs = frame.retry_ms;
        return;
      default:
        if (answers) answers.frame(frame);
        else end("a request before the link was up");
    }
  };
  return promise;
}

const failed = (error: unknown): End => ({
  code: 1_006,
  reason: messageOf(error),
  upMs: 0,
  retryMs: undefined,
});

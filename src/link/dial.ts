/**
 * The host's side of a link: dials the desk that it has joined, proves who it is, and keeps the link up.
 *
 * Promises. Nothing is sent before the desk has shown a key that this host knows, and no token ever is. A desk that comes back is
 * not stampeded: hosts dial again after a random part of a time that doubles, up to a minute. A link that is dead, also where nothing
 * says so, is noticed within 46 s.
 */

import { resolvesWithin, sleep } from "../lib/deadline";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { type ClientSocket, openClientSocket } from "./client-socket";
import { CODE, FROM_HUB, linkMessage, parseFrame, parsePiece } from "./frames";
import { watchLink } from "./pings";
import { type Answers, createAnswers, type Enter } from "./serve";

/** How long requests under way may take when svc stops, in milliseconds. */
const GRACE_MS = 8_000;

/** Before the nth attempt, a host waits up to 1 s · 2^n, and never more than this, in milliseconds. */
const FIRST_MS = 1_000;
const MAX_MS = 60_000;

/** As {@link MAX_MS}, where the desk says that this host has not joined it. */
const MAX_REFUSED_MS = 900_000;

/** After a link that was up for so long, attempts are counted from the first again; in milliseconds. */
const GOOD_MS = 30_000;

/** A desk that has links. */
export interface Desk {
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
  readonly version: string;
  readonly log: Log;
  /** From 0 to 1 (default: Math.random). */
  readonly random?: () => number;
}

/** The state of the link of a host. */
export interface DialState {
  readonly state: "dialling" | "linked" | "waiting";
  /** Since when. */
  readonly since: Date;
  /** When it dials again. */
  readonly next: Date | null;
  /** Why the last link ended, or did not come up. */
  readonly problem: string | null;
  readonly rtt_ms: number | null;
  /** How often it has dialled. */
  readonly dials: number;
  /** Since when there is no link; null while there is one. */
  readonly lost: Date | null;
  /** The address of another host with the same identity, which the desk has seen. */
  readonly twin: string | null;
}

/** How an attempt ended. */
interface End {
  readonly code: number;
  readonly reason: string;
  /** How long it was up, in milliseconds. */
  readonly upMs: number;
  /** The desk stops: it is dialled again after a random part of this time. */
  readonly retryMs: number | undefined;
}

/** The time before the nth attempt: full jitter, which no minimum narrows. */
export const pauseBefore = (attempt: number, random: () => number, maxMs = MAX_MS): number =>
  random() * Math.min(maxMs, FIRST_MS * 2 ** attempt);

/** Keeps a link until it is stopped. */
export type KeptLink = ReturnType<typeof keepLink>;

export function keepLink(parts: DialParts) {
  const { log, random = Math.random } = parts;
  const stopping = new AbortController();
  let state: DialState = {
    ...{ state: "dialling", since: new Date(), next: null },
    ...{ problem: null, rtt_ms: null, dials: 0, lost: new Date(), twin: null },
  };
  const set = (change: Partial<DialState>) => {
    state = { ...state, ...change };
  };
  /** Another host with this identity has the link now. */
  let yields = false;
  const process = crypto.randomUUID();

  /** One link, until it ends. */
  const link = async (): Promise<End> => {
    const desk = parts.desk();
    const { promise, resolve } = Promise.withResolvers<End>();
    let upSince: number | undefined;
    let retryMs: number | undefined;
    let answers: Answers | undefined;
    let key = "";
    let hasProved = false;
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
          stopping.signal.removeEventListener("abort", leave);
          const upMs = upSince === undefined ? 0 : performance.now() - upSince;
          resolve({ code, reason, upMs, retryMs });
        },
      },
    );
    const timers = watchLink(socket, (rtt_ms) => set({ rtt_ms }), random);
    const leave = async () => {
      await resolvesWithin(GRACE_MS, answers?.finish() ?? Promise.resolve());
      socket.close(1_000, "svc stops");
    };
    stopping.signal.addEventListener("abort", leave);
    if (stopping.signal.aborted) socket.terminate();
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
          const about = { host_id, signature, process, version: parts.version, yields };
          return socket.send(JSON.stringify({ t: "host", ...about }));
        }
        case "ready":
          if (answers || !hasProved) return end("ready, which the link is already or cannot be");
          yields = false;
          upSince = performance.now();
          answers = createAnswers(socket, parts.enter, log);
          set({ state: "linked", since: new Date(), next: null, problem: null, lost: null });
          log.info(`linked to the desk at ${new URL(desk.url).host} as ${printable(frame.label, 130)}`);
          return timers.ready();
        case "twin":
          set({ twin: printable(frame.address, 100) });
          return log.warn(`another host with the identity of this one, at ${state.twin}, has lost its link`);
        case "replaced":
          yields = true;
          set({ twin: printable(frame.address, 100) });
          log.warn(
            `another host with the identity of this one, at ${state.twin}, has the link to the desk now: give one of them an identity of its own (\`svc leave\`, remove host_key, \`svc join\`)`,
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
  };

  const keep = async () => {
    for (let attempt = 0; !stopping.signal.aborted; ) {
      set({ state: "dialling", since: new Date(), next: null, dials: state.dials + 1 });
      const { code, reason, upMs, retryMs } = await link().catch(failed);
      if (stopping.signal.aborted) return;
      if (upMs >= GOOD_MS) attempt = 0;
      const isRefused = code === CODE.refused;
      const maxMs = isRefused ? MAX_REFUSED_MS : MAX_MS;
      const pause = retryMs === undefined ? pauseBefore(attempt, random, maxMs) : random() * retryMs;
      attempt += 1;
      const why = printable(reason || `closed with ${code}`, 200);
      const problem = isRefused
        ? `${why}: join it again; until then it dials ever more rarely, every ${MAX_REFUSED_MS / 60_000} minutes at most`
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
    state: (): DialState => state,
    /** Ends the link, and dials no more. */
    async stop(): Promise<void> {
      stopping.abort();
      await kept;
    },
  };
}

const failed = (error: unknown): End => ({
  code: 1_006,
  reason: messageOf(error),
  upMs: 0,
  retryMs: undefined,
});

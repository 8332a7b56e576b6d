/**
 * Following the events of another server: one stream, opened again whenever it breaks, from the place where it broke.
 *
 * The promise: each event comes once and in order. Where some are missing, or may be, a `reset` comes in their place: what was
 * known has to be read again.
 */
import { type Backoff, doubled, jitter } from "../lib/backoff";
import { sleep } from "../lib/deadline";
import { Failure } from "../lib/errors";
import { isObject } from "../lib/is-object";
import { jsonIn } from "../lib/json-in";
import { printable } from "../lib/sanitize";
import { deadlineIn, notSvc, RemoteError, type RemoteServer } from "./carrier";
import { carrierTo } from "./connection";
import { bodyOf } from "./remote-call";

/** How long a host may take to open a stream, in milliseconds. */
const OPEN_MS = 10_000;

/** How long a stream may be silent, in milliseconds: a mark comes every 15 s. */
const SILENT_MS = 40_000;

/** The longest line of a stream, and the most lines of one event, in characters; the data of an event is 4 KiB at most. */
const MAX_LINE = 8_192;
const MAX_EVENT = 2 * MAX_LINE;

/** The pauses before a stream is opened again; some of each at random is added. */
const PAUSES: Backoff = { firstMs: 500, longestMs: 30_000 };

/** What comes over a stream. */
export type StreamItem =
  | { readonly kind: "event"; readonly id: string; readonly type: string; readonly data: EventData }
  /** Everything before it has come; what is `missed` stands in its place. */
  | { readonly kind: "reset" | "mark"; readonly id: string; readonly data: EventData }
  /** There is no stream for now: why, and whether another is opened. */
  | { readonly kind: "cut"; readonly error: string; readonly isOver: boolean; readonly refusal?: Refusal };

/** What the host said instead: the status, and its words. */
type Refusal = NonNullable<RemoteError["refusal"]>;

/** The data of an event: `at`, when it happened, and what its type says. */
type EventData = Readonly<Record<string, unknown>>;

/** Where events come from without a request over HTTP. */
export interface EventSource {
  /** The stream from `place` on. @throws a {@link RemoteError}, or a failure. */
  pieces(types: readonly string[], place: string | undefined, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** What to follow. */
export interface FollowOptions {
  /** Types of events, also `run.*`; all that the token may see where there are none. */
  readonly types?: readonly string[] | undefined;
  /** The id after which to begin (default: now). */
  readonly after?: string | undefined;
  /** How long a stream may last, in milliseconds (default: no limit). It is looked at when something comes; a silent stream ends after this time, too. */
  readonly withinMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Follows `server` until `signal` is aborted.
 *
 * @throws never: what goes wrong comes as a `cut`, and ends it where it will not get better.
 */
export async function* followEvents(
  server: RemoteServer | (() => RemoteServer | EventSource),
  { types = [], after, withinMs = Number.POSITIVE_INFINITY, signal }: FollowOptions,
): AsyncGenerator<StreamItem, void> {
  let place = after;
  let failures = 0;
  while (!signal.aborted) {
    let error: unknown;
    try {
      for await (const one of streamOf(typeof server === "function" ? server() : server, types, place, {
        withinMs,
        signal,
      })) {
        place = one.id;
        failures = 0;
        yield one;
      }
    } catch (thrown) {
      error = thrown;
    }
    if (signal.aborted) return;
    if (error !== undefined && !(error instanceof RemoteError || error instanceof Failure)) throw error;
    const isOver = isFinal(error);
    // A host ends a stream for its own reasons, such as another certificate, and takes the next one at once.
    const why = error === undefined ? "it ended the stream" : error.message;
    const refusal = error instanceof RemoteError ? error.refusal : undefined;
    yield { kind: "cut", error: why, isOver, ...(refusal && { refusal }) };
    if (isOver) return;
    await sleep(jitter(doubled(PAUSES, failures++), [1, 1.5]), signal).catch(() => {});
  }
}

/** Whether asking again will not help: the host refuses the token, the types, or has no events. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof RemoteError)) return false;
  const status = error.refusal?.status ?? 0;
  return error.fault === "unauthorized" || (status >= 400 && status < 500 && status !== 429);
}

/** For how long, in milliseconds, and until when. */
interface Within {
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/** One stream, from `place` on. @throws a {@link RemoteError}. */
async function* streamOf(
  server: RemoteServer | EventSource,
  types: readonly string[],
  place: string | undefined,
  limits: Within,
): AsyncGenerator<Exclude<StreamItem, { kind: "cut" }>, void> {
  const { withinMs, signal } = limits;
  if (!("pieces" in server)) return yield* remoteStreamOf(server, types, place, limits);
  const until = Number.isFinite(withinMs) ? AbortSignal.any([signal, AbortSignal.timeout(withinMs)]) : signal;
  yield* eventsIn(piecesWithin(server.pieces(types, place, until), withinMs));
}

async function* remoteStreamOf(
  server: RemoteServer,
  types: readonly string[],
  place: string | undefined,
  { withinMs, signal }: Within,
) {
  const query = new URLSearchParams();
  if (types.length > 0) query.set("types", types.join(","));
  if (place !== undefined) query.set("after", place);
  using carrier = await carrierTo(server, signal);
  const path = query.size > 0 ? `/events?${query}` : "/events";
  const opened = await carrier.open(path, deadlineIn(OPEN_MS), Math.min(SILENT_MS, withinMs));
  if (opened.status !== 200) bodyOf(opened);
  if (opened.type !== "text/event-stream") throw notSvc();
  yield* eventsIn(piecesWithin(opened.pieces, withinMs));
}

async function* eventsIn(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Exclude<StreamItem, { kind: "cut" }>, void> {
  for await (const { id, event, data } of messagesIn(pieces)) {
    if (event === "reset" || event === "mark") yield { kind: event, id, data };
    else yield { kind: "event", id, type: printable(event, 100), data };
  }
}

/** @throws a {@link RemoteError} for a piece that comes later than `ms` from now. */
async function* piecesWithin(pieces: AsyncIterable<Uint8Array>, ms: number) {
  const { at } = deadlineIn(ms);
  for await (const piece of pieces) {
    if (performance.now() > at) throw new RemoteError("timeout", `not all within ${ms / 1_000} s`, true);
    yield piece;
  }
}

/**
 * The messages of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html), each with its id and its data.
 *
 * @throws a {@link RemoteError} for what is none.
 */
async function* messagesIn(pieces: AsyncIterable<Uint8Array>) {
  let fields: { id?: string; event?: string; data?: string } = {};
  let size = 0;
  for await (const line of linesIn(pieces)) {
    size += line.length + 1;
    if (size > MAX_EVENT) throw notSvc();
    if (line === "") {
      const { id = "", event, data } = fields;
      fields = {};
      size = 0;
      if (event !== undefined && data !== undefined)
        yield { id: printable(id, 100), event, data: objectIn(data) };
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "id" || name === "event" || name === "data") fields[name] = value;
  }
}

/** @throws a {@link RemoteError} for a line that is too long, or not UTF-8. */
async function* linesIn(pieces: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const piece of pieces) {
    try {
      rest += decoder.decode(piece, { stream: true });
    } catch {
      throw notSvc();
    }
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    if ([...lines, rest].some(({ length }) => length > MAX_LINE)) throw notSvc();
    yield* lines;
  }
}

/** @throws a {@link RemoteError} where it is no JSON object. */
function objectIn(text: string): EventData {
  const value = jsonIn(text);
  if (isObject(value)) return value;
  throw notSvc();
}

/**
 * Streams of events: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) and long polls.
 *
 * The promise: a stream has every event of its filter once and in order, or a `reset`. It holds a place in the ring and no
 * queue: a reader that does not read costs the buffer of its connection, and is ended when it lags by {@link MAX_LAG_BYTES}.
 * Streams that stand at the same place share what is written.
 */
import { tooMany } from "../lib/errors";
import type { Bus, Kept } from "./bus";
import type { Filter } from "./filter";
import { idOf, placeOf, type ResetReason } from "./place";

/** How many streams and waiting polls there are at once: of one token, and of all; the owner of the host has the last of them. */
const MAX_STREAMS = { token: 64, all: 1_000 };

/** How far a reader may lag, in bytes of its events. */
const MAX_LAG_BYTES = 262_144;

/** How much a stream, or a poll, is handed at a time, in bytes. */
const PIECE_BYTES = 65_536;
const POLL_BYTES = 1_048_576;

/** How often each stream has a mark, and how often its lag is looked at, in milliseconds. */
const MARK_MS = 15_000;
const SWEEP_MS = 1_000;
const SLOTS = MARK_MS / SWEEP_MS;

/** Who has a stream: the name of a token; null for the owner of the host. */
type Owner = string | null;

interface Reader {
  readonly filter: Filter;
  /** It has seen all events up to this number. */
  seq: number;
  /** In which second it has its marks. */
  readonly slot: number;
  /** Set while it waits for events; hands it text. */
  take: ((chunk: Uint8Array) => void) | undefined;
  end(): void;
}

/** What a client gets of the events of a filter after a place. */
interface Batch {
  /** The number up to which they are. */
  readonly upTo: number;
  readonly events: ReadonlyArray<{ readonly seq: number; readonly event: Kept }>;
}

/** What a stream needs of its request. */
export interface StreamRequest {
  readonly filter: Filter;
  readonly owner: Owner;
  /** As of `placeOf`. */
  readonly after: string | undefined;
  readonly signal: AbortSignal;
}

const encoder = new TextEncoder();

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(bus: Bus) {
  const readers = new Set<Reader>();
  const owners: Owner[] = [];
  /** The next batches of the readers, by filter and place, until there is another event. */
  const chunks = new Map<string, { readonly upTo: number; readonly bytes: Uint8Array | null }>();
  let chunksOf = 0;
  let unlisten: (() => void) | undefined;
  let sweeping: Timer | undefined;
  let sweeps = 0;

  const batch = (filter: Filter, after: number, most: number): Batch => {
    const events: Array<{ seq: number; event: Kept }> = [];
    let bytes = 0;
    let upTo = after;
    while (upTo < bus.newest && bytes < most) {
      upTo += 1;
      const event = bus.at(upTo);
      if (!event || !filter.has(event)) continue;
      bytes += event.bytes;
      events.push({ seq: upTo, event });
    }
    return { upTo, events };
  };

  const chunkAfter = (filter: Filter, after: number) => {
    if (chunksOf !== bus.newest) chunks.clear();
    chunksOf = bus.newest;
    const key = `${after} ${filter.key}`;
    const known = chunks.get(key);
    if (known) return known;
    const { upTo, events } = batch(filter, after, PIECE_BYTES);
    const text = events
      .map(({ seq, event }) => message(event.type.name, event.text, idOf(bus, seq)))
      .join("");
    const made = { upTo, bytes: text === "" ? null : encoder.encode(text) };
    chunks.set(key, made);
    return made;
  };

  const newestId = () => idOf(bus, bus.newest);
  const resetChunk = (reason: ResetReason) =>
    encoder.encode(message("reset", JSON.stringify({ reason, id: newestId() }), newestId()));
  const markChunk = () =>
    encoder.encode(message("mark", JSON.stringify({ at: new Date().toISOString() }), newestId()));

  /** What the reader gets now; null when there is nothing. */
  const next = (reader: Reader): Uint8Array | null => {
    if (reader.seq < bus.oldest - 1) {
      reader.seq = bus.newest;
      return resetChunk("lagging");
    }
    while (reader.seq < bus.newest) {
      const { upTo, bytes } = chunkAfter(reader.filter, reader.seq);
      reader.seq = upTo;
      if (bytes) return bytes;
    }
    return null;
  };

  const wake = () => {
    for (const reader of readers) {
      const chunk = reader.take && next(reader);
      if (chunk) reader.take?.(chunk);
    }
  };

  const isLagging = ({ filter, seq }: Reader) =>
    seq < bus.oldest - 1 ||
    batch(filter, seq, MAX_LAG_BYTES).events.reduce((sum, { event }) => sum + event.bytes, 0) >=
      MAX_LAG_BYTES;

  const sweep = () => {
    sweeps += 1;
    let mark: Uint8Array | undefined;
    for (const reader of readers) {
      if (!reader.take) {
        if (isLagging(reader)) reader.end();
      } else if (reader.slot === sweeps % SLOTS) {
        // An event of this very turn has not woken the readers yet: a mark after it would say that it was sent.
        mark ??= markChunk();
        reader.take(next(reader) ?? mark);
      }
    }
  };

  /** Counts a stream of `owner`. @returns a function that ends that. @throws `too_many`. */
  const enter = (owner: Owner) => {
    const own = owners.filter((one) => one === owner).length;
    if (own >= MAX_STREAMS.token)
      throw tooMany(`${MAX_STREAMS.token} streams of events of this token are open, which is the limit`);
    const named = owners.filter((one) => one !== null).length;
    if (owner !== null && named >= MAX_STREAMS.all - MAX_STREAMS.token)
      throw tooMany(`${named} streams of events are open on this host, which is the limit`);
    owners.push(owner);
    let isOver = false;
    return () => {
      if (!isOver) owners.splice(owners.indexOf(owner), 1);
      isOver = true;
    };
  };

  const add = (reader: Reader) => {
    readers.add(reader);
    unlisten ??= bus.listen(wake);
    sweeping ??= setInterval(sweep, SWEEP_MS);
  };
  const remove = (reader: Reader) => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
    unlisten?.();
    unlisten = undefined;
  };

  return {
    /** How many streams and waiting polls there are. */
    count: () => owners.length,
    /**
     * A stream from a place on.
     *
     * @param ended is called when the stream has ended, whoever ended it.
     * @throws `too_many` beyond {@link MAX_STREAMS}.
     */
    open({ filter, owner, after, signal }: StreamRequest, ended: () => void): ReadableStream<Uint8Array> {
      const leave = enter(owner);
      const { seq, reset } = placeOf(bus, after);
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
      let wait: PromiseWithResolvers<void> | undefined;
      let isOver = false;
      let greeting = reset && resetChunk(reset);
      let hasMark = false;
      const finish = () => {
        if (isOver) return;
        isOver = true;
        remove(reader);
        leave();
        signal.removeEventListener("abort", end);
        wait?.resolve();
        ended();
      };
      const end = () => {
        if (!isOver) controller?.close();
        finish();
      };
      const reader: Reader = { filter, seq, slot: Math.floor(Math.random() * SLOTS), take: undefined, end };
      const take = (chunk: Uint8Array) => {
        reader.take = undefined;
        controller?.enqueue(chunk);
        wait?.resolve();
      };
      /** What comes first: a reset, the events that happened already, and a mark. After the mark, the stream is up to date. */
      const first = () => {
        if (greeting) {
          const chunk = greeting;
          greeting = undefined;
          return chunk;
        }
        const chunk = next(reader);
        if (chunk || hasMark) return chunk;
        hasMark = true;
        return markChunk();
      };
      const stream = new ReadableStream<Uint8Array>(
        {
          start(given) {
            controller = given;
          },
          pull() {
            const chunk = first();
            if (chunk) return controller?.enqueue(chunk);
            reader.take = take;
            wait = Promise.withResolvers<void>();
            return wait.promise;
          },
          cancel: finish,
        },
        { highWaterMark: 0 },
      );
      add(reader);
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
      return stream;
    },
    /**
     * The events after a place, as soon as there are any, or none after `waitMs`.
     *
     * @throws `too_many` beyond {@link MAX_STREAMS}.
     */
    async poll({ filter, owner, after, signal }: StreamRequest, waitMs: number) {
      const { seq, reset } = placeOf(bus, after);
      let isReset = reset !== undefined;
      const report = ({ upTo, events }: Batch) => ({
        events: events.map(({ seq, event: { type, text } }) => {
          const { at, ...data } = JSON.parse(text) as { at: string } & Record<string, unknown>;
          return { id: idOf(bus, seq), type: type.name, at, data };
        }),
        next: idOf(bus, upTo),
        reset: isReset,
      });
      let found = batch(filter, seq, POLL_BYTES);
      if (found.events.length > 0 || isReset || waitMs === 0) return report(found);
      const leave = enter(owner);
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        isReset = found.upTo < bus.oldest - 1;
        found = isReset ? { upTo: bus.newest, events: [] } : batch(filter, found.upTo, POLL_BYTES);
        if (isReset || found.events.length > 0) resolve();
      };
      const unlisten = bus.listen(look);
      const timer = setTimeout(resolve, waitMs);
      const end = () => resolve();
      signal.addEventListener("abort", end);
      if (signal.aborted) resolve();
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        unlisten();
        signal.removeEventListener("abort", end);
        leave();
      }
      return report(found);
    },
  };
}

/** One event of a stream. */
const message = (type: string, data: string, id: string) => `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;

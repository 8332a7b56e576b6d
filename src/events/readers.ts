/** The readers of streams of events, what they are sent, and when. */
import type { Bus, KeptEvent } from "./bus";
import type { Filter } from "./filter";
import { idOf, type ResetReason } from "./place";

/** How far a reader may lag, in bytes of its events. */
const MAX_LAG_BYTES = 262_144;

/** How much a stream, or a poll, is handed at a time, in bytes. */
const PIECE_BYTES = 65_536;

/** How often each stream has a mark, and how often its lag is looked at, in milliseconds. */
const MARK_MS = 15_000;
const SWEEP_MS = 1_000;
/** In how many turns all streams have a mark. */
export const SLOTS = MARK_MS / SWEEP_MS;

/** Who reads a stream. */
export interface Reader {
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
export interface Batch {
  /** The number up to which they are. */
  readonly upTo: number;
  readonly events: ReadonlyArray<{ readonly seq: number; readonly event: KeptEvent }>;
}

/** The events of `filter` after a number. @param most they end after so many bytes. */
export function batchOf(bus: Bus, filter: Filter, after: number, most: number): Batch {
  const events: Array<{ seq: number; event: KeptEvent }> = [];
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
}

const encoder = new TextEncoder();

/** One event of a stream. */
const message = (type: string, data: string, id: string) => `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;

/** What streams write. */
export interface Texts {
  /** What the reader gets now; null when there is nothing. */
  next(reader: Pick<Reader, "filter" | "seq">): Uint8Array | null;
  reset(reason: ResetReason): Uint8Array;
  mark(): Uint8Array;
}

/** The texts of the events of `bus`, which readers at the same place share. */
export function createTexts(bus: Bus): Texts {
  /** The next batches of the readers, by filter and place, until there is another event. */
  const chunks = new Map<string, { readonly upTo: number; readonly bytes: Uint8Array | null }>();
  let chunksOf = 0;
  const chunkAfter = (filter: Filter, after: number) => {
    if (chunksOf !== bus.newest) chunks.clear();
    chunksOf = bus.newest;
    const key = `${after} ${filter.key}`;
    const known = chunks.get(key);
    if (known) return known;
    const { upTo, events } = batchOf(bus, filter, after, PIECE_BYTES);
    const text = events
      .map(({ seq, event }) => message(event.type.name, event.text, idOf(bus, seq)))
      .join("");
    const made = { upTo, bytes: text === "" ? null : encoder.encode(text) };
    chunks.set(key, made);
    return made;
  };
  const newestId = () => idOf(bus, bus.newest);
  const reset = (reason: ResetReason) =>
    encoder.encode(message("reset", JSON.stringify({ reason, id: newestId() }), newestId()));
  return {
    next(reader) {
      if (reader.seq < bus.oldest - 1) {
        reader.seq = bus.newest;
        return reset("lagging");
      }
      while (reader.seq < bus.newest) {
        const { upTo, bytes } = chunkAfter(reader.filter, reader.seq);
        reader.seq = upTo;
        if (bytes) return bytes;
      }
      return null;
    },
    reset,
    mark: () => encoder.encode(message("mark", JSON.stringify({ at: new Date().toISOString() }), newestId())),
  };
}

/** The readers of streams: they are woken by events, have a mark now and then, and are ended when they lag. */
export interface Readers {
  add(reader: Reader): void;
  remove(reader: Reader): void;
}

/** The readers of the events of `bus`. */
export function createReaders(bus: Bus, { next, mark }: Texts): Readers {
  const readers = new Set<Reader>();
  let unlisten: (() => void) | undefined;
  let sweeping: Timer | undefined;
  let sweeps = 0;
  const wake = () => {
    for (const reader of readers) {
      const chunk = reader.take && next(reader);
      if (chunk) reader.take?.(chunk);
    }
  };
  const isLagging = ({ filter, seq }: Reader) =>
    seq < bus.oldest - 1 ||
    batchOf(bus, filter, seq, MAX_LAG_BYTES).events.reduce((sum, { event }) => sum + event.bytes, 0) >=
      MAX_LAG_BYTES;
  const sweep = () => {
    sweeps += 1;
    let marked: Uint8Array | undefined;
    for (const reader of readers) {
      if (!reader.take) {
        if (isLagging(reader)) reader.end();
      } else if (reader.slot === sweeps % SLOTS) {
        // An event of this very turn has not woken the readers yet: a mark after it would say that it was sent.
        marked ??= mark();
        reader.take(next(reader) ?? marked);
      }
    }
  };
  return {
    add(reader) {
      readers.add(reader);
      unlisten ??= bus.listen(wake);
      sweeping ??= setInterval(sweep, SWEEP_MS);
    },
    remove(reader) {
      readers.delete(reader);
      if (readers.size > 0) return;
      clearInterval(sweeping);
      sweeping = undefined;
      unlisten?.();
      unlisten = undefined;
    },
  };
}

/**
 * The bus: keeps the newest events of this host by number, and calls listeners when there are more.
 *
 * The promise: `publish` never throws and waits for nobody. What is kept is bounded: {@link RING} events, and
 * {@link RING_BYTES} of them. Who listens is called once for all that one turn of the event loop brings.
 */
import type { EventHost, EventType, Publish } from "../core/events";
import type { Origin } from "../core/rights";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { oncePerTurn } from "../lib/turn";
import { dataText } from "./data";

/** How many events are kept. */
const RING = 8_192;

/** The most that their data may take, in bytes: the oldest go first. */
const RING_BYTES = 8 * 1_048_576;

/** An event that is kept. */
export interface KeptEvent {
  readonly type: EventType;
  /** Its data: one line of JSON. */
  readonly text: string;
  readonly bytes: number;
  /** Who alone may see it, besides `admin`; null for nobody, absent where the scope says all. */
  readonly origin?: Origin | null | undefined;
  /** The host that it names; null for one that has no label, absent where it is about none. */
  readonly host?: EventHost | null | undefined;
}

/** The events of this process. */
export interface Bus {
  readonly publish: Publish;
  /** Of this process: another one has other events under the same numbers. */
  readonly boot: string;
  /** The number of the newest event; 0 before the first. */
  readonly newest: number;
  /** The number of the oldest event that is kept. */
  readonly oldest: number;
  /** The event of that number, while it is kept. */
  at(seq: number): KeptEvent | undefined;
  /** Calls `listener` when there are new events. @returns a function that ends this. */
  listen(listener: () => void): () => void;
  /** How many events of each type there were. */
  counts(): ReadonlyMap<string, number>;
}

/** @param size how many events are kept, and how many bytes of them. */
export function createBus(log: Log, { events = RING, bytes = RING_BYTES } = {}): Bus {
  const boot = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex");
  const listeners = new Set<() => void>();
  const counts = new Map<string, number>();
  /** The event of number `seq` is at `seq % events`. */
  const ring: KeptEvent[] = [];
  let newest = 0;
  let oldest = 1;
  let kept = 0;

  const at = (seq: number) => (seq < oldest || seq > newest ? undefined : ring[seq % events]);
  const wake = oncePerTurn(() => {
    for (const listener of listeners) listener();
  });
  const keep = (one: KeptEvent) => {
    newest += 1;
    kept += one.bytes;
    while (newest - oldest >= events || (kept > bytes && oldest < newest)) {
      kept -= ring[oldest % events]?.bytes ?? 0;
      oldest += 1;
    }
    ring[newest % events] = one;
    counts.set(one.type.name, (counts.get(one.type.name) ?? 0) + 1);
    if (listeners.size > 0) wake();
  };
  const publish: Publish = (type, data) => {
    try {
      const text = dataText(data, new Date());
      const fields = data as Record<string, unknown>;
      const [origin, host] = [type.origin?.(fields), type.host?.(fields)];
      keep({ type, text, bytes: Buffer.byteLength(text), origin, host });
    } catch (error) {
      log.error(`an event ${type.name} is lost: ${messageOf(error)}`, error);
    }
  };

  return {
    publish,
    boot,
    get newest() {
      return newest;
    },
    get oldest() {
      return oldest;
    },
    at,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    counts: () => counts,
  };
}

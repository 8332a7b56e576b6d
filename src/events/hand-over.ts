/**
 * Sends the events of a process that is no server, such as `svc execute`, to the server on the same `{config_dir}`, which
 * publishes them.
 */
import { createQueue } from "../lib/queue";
import type { Bus } from "./bus";

/** An event as it is handed over: its type, and its data with `at`. */
export interface HandedOver {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How many events one request has at most, and how many bytes of data. */
const MAX_EVENTS = 256;
const MAX_BYTES = 262_144;

/** How soon an event is sent, in milliseconds: those that follow it go with it. */
const SOON_MS = 200;

/** What hands the events of this process over. */
export interface HandOver {
  /** Sends what is left. Never rejects. */
  end(): Promise<void>;
}

/** @param send sends events to the server. Never throws. */
export function createHandOver(bus: Bus, send: (events: readonly HandedOver[]) => Promise<void>): HandOver {
  let sent = bus.newest;
  const inTurn = createQueue();
  let timer: NodeJS.Timeout | undefined;

  /** The events that are not sent yet. Of many steps and changes, only the newest of each type: it has the present state. */
  const waiting = (): HandedOver[] => {
    const from = Math.max(sent + 1, bus.oldest);
    const all = Array.from({ length: bus.newest - from + 1 }, (_, nth) => bus.at(from + nth)).filter(
      (event) => event !== undefined,
    );
    sent = bus.newest;
    const newest = new Map(all.map((event) => [event.type, event]));
    const isOld = (event: (typeof all)[number]) =>
      /\.(step|changed)$/.test(event.type.name) && newest.get(event.type) !== event;
    const kept = all.length > MAX_EVENTS ? all.filter((event) => !isOld(event)) : all;
    return kept.map(({ type, text }) => ({ type: type.name, data: JSON.parse(text) }));
  };
  const sendAll = async () => {
    clearTimeout(timer);
    timer = undefined;
    for (const batch of inBatches(waiting())) await send(batch);
  };
  const flush = (): Promise<void> => inTurn(sendAll);
  const unlisten = bus.listen(() => {
    timer ??= setTimeout(() => void flush(), SOON_MS);
  });
  return {
    end() {
      unlisten();
      return flush();
    },
  };
}

function inBatches(events: readonly HandedOver[]): HandedOver[][] {
  const batches: HandedOver[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const event of events) {
    const size = JSON.stringify(event).length;
    if (bytes + size > MAX_BYTES || (batches.at(-1)?.length ?? 0) >= MAX_EVENTS) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(event);
    bytes += size;
  }
  return batches;
}

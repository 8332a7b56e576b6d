/**
 * Sends the events of a process that is no server, such as `svc execute`, to the server on the same `{config_dir}`, which
 * publishes them.
 */
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
  /** Sends the events that wait, and makes the server read its files again. Never rejects. */
  refresh(): Promise<void>;
  /** Sends what is left. Never rejects. */
  end(): Promise<void>;
}

/** @param send sends events to the server; with `refreshes`, the server also reads its files again. Never throws. */
export function createHandOver(
  bus: Bus,
  send: (events: readonly HandedOver[], refreshes: boolean) => Promise<void>,
): HandOver {
  let sent = bus.newest;
  let sending = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;

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
  const sendAll = async (refreshes: boolean) => {
    clearTimeout(timer);
    timer = undefined;
    const [first = [], ...more] = inBatches(waiting());
    if (!refreshes && first.length === 0) return;
    await send(first, refreshes);
    for (const batch of more) await send(batch, false);
  };
  const flush = (refreshes: boolean): Promise<void> => {
    sending = sending.then(() => sendAll(refreshes));
    return sending;
  };
  const unlisten = bus.listen(() => {
    timer ??= setTimeout(() => void flush(false), SOON_MS);
  });
  return {
    refresh: () => flush(true),
    async end() {
      unlisten();
      await flush(false);
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

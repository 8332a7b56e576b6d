/**
 * What happens in a process that is no server, such as `svc execute`: it tells the server on the same `{config_dir}`, where
 * people look. `POST /refresh` takes it, from the owner of the host alone.
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

/** How soon an event is told, and how soon where there are many, in milliseconds: each request costs a row of the audit log. */
const SOON_MS = 200;
const LATER_MS = 2_000;

export type HandOver = ReturnType<typeof createHandOver>;

/** @param send tells the server; with `refreshes`, it has to use its files as they are now. Never throws. */
export function createHandOver(
  bus: Bus,
  send: (events: readonly HandedOver[], refreshes: boolean) => Promise<void>,
) {
  let told = bus.newest;
  let sending = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastSent = Number.NEGATIVE_INFINITY;

  /** What is not told yet. Of steps and changes, where there are many, only the newest: it says how things are. */
  const waiting = (): HandedOver[] => {
    const from = Math.max(told + 1, bus.oldest);
    const all = Array.from({ length: bus.newest - from + 1 }, (_, nth) => bus.at(from + nth)).filter(
      (event) => event !== undefined,
    );
    told = bus.newest;
    const newest = new Map(all.map((event) => [event.type, event]));
    const isOld = (event: (typeof all)[number]) =>
      /\.(step|changed)$/.test(event.type.name) && newest.get(event.type) !== event;
    const kept = all.length > MAX_EVENTS ? all.filter((event) => !isOld(event)) : all;
    return kept.map(({ type, text }) => ({ type: type.name, data: JSON.parse(text) }));
  };
  const tell = async (refreshes: boolean) => {
    clearTimeout(timer);
    timer = undefined;
    const [first = [], ...more] = inBatches(waiting());
    if (!refreshes && first.length === 0) return;
    lastSent = performance.now();
    await send(first, refreshes);
    for (const batch of more) await send(batch, false);
  };
  const flush = (refreshes: boolean): Promise<void> => {
    sending = sending.then(() => tell(refreshes));
    return sending;
  };
  const unlisten = bus.listen(() => {
    const isBusy = performance.now() - lastSent < LATER_MS;
    timer ??= setTimeout(() => void flush(false), isBusy ? LATER_MS : SOON_MS);
  });
  return {
    /** Tells what there is, and that the files have changed. Never rejects. */
    refresh: () => flush(true),
    /** Tells what is left. Never rejects. */
    async end(): Promise<void> {
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

/**
 * How often this process asks another server for named tokens. All that a desk asks of a host counts there as one client, whose
 * requests are limited: without a pace here, one token could use all of them up, and the host would look down to everybody.
 *
 * The promise: of what a host allows by default (120 requests a minute, 30 at once), named tokens leave some to the owner, and
 * each some to the others. They wait for their turn; the owner never does.
 */
import { createBuckets, type Rate } from "../lib/buckets";
import { sleep } from "../lib/deadline";
import { RemoteError } from "./carrier";

/** Of one token, and of all together, at one server. What asks several times begins with less left over (`lib/buckets.ts`). */
const RATES = {
  own: { ratePerMinute: 45, burst: 12 },
  all: { ratePerMinute: 60, burst: 16 },
} as const satisfies Record<string, Rate>;

/**
 * Waits until `client` may ask the server at `origin`.
 *
 * @param requests how many it is about to make there.
 * @throws a `cancelled` {@link RemoteError} once `signal` is aborted.
 */
type Pace = (client: string, origin: string, requests: number, signal?: AbortSignal) => Promise<void>;

export function createPace(rates: Record<keyof typeof RATES, Rate> = RATES): Pace {
  const own = createBuckets(rates.own);
  const all = createBuckets(rates.all);
  return async (client, origin, requests, signal = new AbortController().signal) => {
    const turn = async (spend: typeof own, key: string) => {
      for (let wait = spend(key, now(), requests); wait > 0; wait = spend(key, now(), requests)) {
        await sleep(wait, signal, () => new RemoteError("cancelled", "cancelled", false));
      }
    };
    await turn(own, `${client} ${origin}`);
    await turn(all, origin);
  };
}

const now = () => performance.now();

let pace: Pace | undefined;

/** Waits for a turn of this process ({@link createPace}). A host counts what the process asks, so no service owns it. */
export function takeTurn(
  client: string,
  origin: string,
  requests: number,
  signal?: AbortSignal,
): Promise<void> {
  pace ??= createPace();
  return pace(client, origin, requests, signal);
}

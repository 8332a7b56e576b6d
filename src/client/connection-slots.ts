/**
 * How many connections to other servers this process may have at once, whoever in it opens them (`lib/slots.ts`). Requests to hosts at a
 * NATS server, which are over one connection, have as many for each of those servers (`lib/per-server.ts`).
 *
 * A caller that wants many leaves some free, so that others need not wait for its end.
 */
import { descriptorLimit, outgoingOf } from "../lib/descriptors";
import { perServer, serverOver } from "../lib/per-server";
import { createSlots, type GiveBack, Requester, type Slots } from "../lib/slots";
import { RemoteError } from "./carrier";

/**
 * A caller may have this many times as many slots as are free (`lib/quota.ts`): alone it gets seven eighths of all, the next one
 * seven eighths of the rest.
 */
const TIMES_FREE = 7;

/** How many of tokens may wait: a poll has some hundreds at a time. */
const MAX_WAITING = 16_384;

/** Slots for connections: who leaves the queue gets a `cancelled` {@link RemoteError}. @param most how many there are. */
export const createConnectionSlots = (most: number): Slots =>
  createSlots({
    most,
    what: "connections",
    mostWaiting: MAX_WAITING,
    times: TIMES_FREE,
    left: () => new RemoteError("cancelled", "cancelled", false),
  });

/** How many slots this process has. */
export const countSlots = (): number => outgoingOf(descriptorLimit());

const slotsAt = perServer(() => createConnectionSlots(countSlots()));

/**
 * Waits for one of the slots of this process. The limit of open files is the process's, so no service owns them.
 *
 * @param url the address that is to be reached.
 * @param token the named token for which it is; null for the owner, of whom each `signal` is a caller of its own.
 * @throws a `cancelled` {@link RemoteError} once `signal` is aborted.
 */
export const takeSlot = (url: string, signal?: AbortSignal, token: string | null = null): Promise<GiveBack> =>
  slotsAt(serverOver(url)).take(new Requester(token, signal));

/** How many of so many slots one caller gets that is alone. */
export const mostOfOne = (slots: number): number => Math.floor((TIMES_FREE * (slots + 1)) / (TIMES_FREE + 1));

/**
 * The limits of connections: in total, and for each client those that have brought no token.
 *
 * Bun.serve accepts every connection and shows none before its first request, so svc looks at its own sockets: four times a
 * second, more often while there are many, ever more rarely while nothing changes; a few at a time so that no request waits.
 * The newest connections over a limit are ended at once; one that brings a token before that stays. So file descriptors never run out, which Bun would answer
 * by trying to accept again and again. Not on Windows, where a socket is no file descriptor.
 */
import { deadline } from "../lib/deadline";
import { descriptorLimit, keepForServer, openDescriptors } from "../lib/descriptors";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { createSocketTable, type Peer } from "../lib/socket-table";
import type { ClientResolver } from "./client-address";
import type { Step } from "./exchange";

/** Which limit a connection was over. */
export type ConnectionLimit = "total" | "client";

interface ConnectionLimits {
  readonly total: number;
  /** Those of one client that have brought no token. */
  readonly client: number;
}

/** A connection as the limits see it. */
export interface Connection {
  /** What limits count by (`client-address.ts`); null for a trusted proxy, which has many clients. */
  readonly client: string | null;
  /** Whether a request on it has brought a token in force. */
  readonly accepted: boolean;
}

/** Lets the connection of a request that has passed the gate stay. */
export const keepConnection =
  (connections: Pick<Connections, "accept">): Step =>
  (next) =>
  (exchange) => {
    connections.accept(exchange.peer);
    return next(exchange);
  };

/**
 * Those to end, so that the others are within the limits. In total, a connection that has brought a token goes before all
 * others, and the first one of a client before the second one of any: nobody takes the place of others with many. Among
 * equals, the oldest stay.
 *
 * @param connections from the oldest to the newest.
 */
export function overLimits<C extends Connection>(
  connections: Iterable<C>,
  limits: ConnectionLimits,
): Map<C, ConnectionLimit> {
  const over = new Map<C, ConnectionLimit>();
  const counts = new Map<string, number>();
  const ranks: C[][] = [[]];
  for (const one of connections) {
    const { client, accepted } = one;
    const nth = client === null ? 1 : (counts.get(client) ?? 0) + 1;
    if (client !== null && !accepted) counts.set(client, nth);
    const rank = accepted ? 0 : nth;
    ranks[rank] ??= [];
    if (rank > limits.client) over.set(one, "client");
    else ranks[rank].push(one);
  }
  for (const one of ranks.flat().slice(limits.total)) over.set(one, "total");
  return over;
}

/** How often to look, in milliseconds: while nothing changes, while there are few connections, and while there are many. */
const IDLE_MS = 2_000;
const CALM_MS = 250;
const BUSY_MS = 25;
/** While there are many, a pause is this many times as long as the look before it, at least. */
const REST = 4;
/** As few descriptors as this are no reason to look closer. */
const FEW = 64;
/** Accepted connections that are remembered while there are so few; with more, those that have gone are forgotten. */
const MAX_REMEMBERED = 8_192;

interface ConnectionParts {
  readonly limits: ConnectionLimits;
  readonly clients: ClientResolver;
  readonly log: Log;
  /** Called for each connection that is ended. */
  readonly refused: (limit: ConnectionLimit) => void;
}

/** The connections of a server. */
export interface Connections {
  /** The connection has brought a token, or is trusted for another reason: the limit for a client does not count it. */
  accept(peer: Peer | null): void;
  /** Enforces the limits on the connections to this port from now on. @returns a function that ends this. */
  watch(port: number): () => void;
}

export function createConnections({ limits, clients, log, refused }: ConnectionParts): Connections {
  /** By their names: after how many looks each was accepted. */
  const accepted = new Map<string, number>();
  let looks = 0;
  const nameOf = ({ address, port }: Peer) => `${clients.resolve(address, null).key} ${port}`;
  const describe = (peer: Peer) => ({
    client: clients.isProxy(peer.address) ? null : clients.resolve(peer.address, null).key,
    accepted: false,
    name: nameOf(peer),
  });

  return {
    accept(peer) {
      if (peer) accepted.set(nameOf(peer), looks);
    },
    watch(port) {
      if (process.platform === "win32") return () => {};
      const stopped = new AbortController();
      const giveBack = keepForServer(limits.total);
      const table = createSocketTable(port, describe);
      const reportRefused = createReport(limits, log);
      const few = Math.min(FEW, limits.client, limits.total);
      const limit = descriptorLimit();
      let open = 0;
      let failed = false;
      let calmMs = CALM_MS;

      /** Ends what is too many. @returns whether to look again soon. */
      const look = async () => {
        looks++;
        const descriptors = await openDescriptors({ many: open > few, limit });
        const changed = descriptors.length !== open;
        open = descriptors.length;
        calmMs = changed ? CALM_MS : Math.min(2 * calmMs, IDLE_MS);
        if (open <= few && accepted.size <= MAX_REMEMBERED) return false;
        const connections = await table.update(descriptors);
        for (const one of connections) one.accepted ||= accepted.has(one.name);
        // One that was accepted since this look began may not be among the descriptors yet.
        for (const [name, at] of accepted) if (at < looks) accepted.delete(name);
        const over = overLimits(connections, limits);
        for (const [one, limit] of over) {
          table.end(one);
          refused(limit);
        }
        reportRefused(over);
        return over.size > 0 || connections.length > limits.total / 2;
      };

      const fail = (error: unknown) => {
        if (!failed) log.error(`the limits of connections do not hold: ${messageOf(error)}`, error);
        failed = true;
        return false;
      };
      const keepLooking = async () => {
        while (!stopped.signal.aborted) {
          const started = performance.now();
          const soon = await look().catch(fail);
          const ms = soon ? Math.max(BUSY_MS, REST * (performance.now() - started)) : calmMs;
          await deadline(new Promise(() => {}), { ms, late() {}, signal: stopped.signal, aborted() {} });
        }
      };
      void keepLooking();
      return () => {
        stopped.abort();
        giveBack();
      };
    },
  };
}

/** How often refused connections are logged at most. */
const LOG_MS = 60_000;

/** A function that logs the connections refused, those of a minute together. */
function createReport(limits: ConnectionLimits, log: Log) {
  const counts = { client: 0, total: 0 };
  let last = "";
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (over: ReadonlyMap<Connection, ConnectionLimit>) => {
    for (const [{ client }, limit] of over) {
      counts[limit]++;
      if (limit === "client" && client !== null) last = client;
    }
    if (counts.client + counts.total === 0 || performance.now() < loggedAt + LOG_MS) return;
    const texts = [
      counts.client > 0 &&
        `${counts.client} of clients that had ${limits.client} without a token (--max-client-connections), such as ${last}`,
      counts.total > 0 && `${counts.total} because there were ${limits.total} (--max-connections)`,
    ];
    log.warn(`connections refused: ${texts.filter(Boolean).join("; ")}`);
    loggedAt = performance.now();
    counts.client = counts.total = 0;
  };
}

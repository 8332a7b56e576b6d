/**
 * The way to linked hosts: over their links where this process is the hub, else through the server of this desk.
 */
import {
  type Carrier,
  type Deadline,
  type Limits,
  RemoteError,
  type Request,
  type Response,
  type Via,
} from "../client/carrier";
import { connectionTo } from "../client/connection";
import { localServer } from "../client/local-server";
import { createSlots } from "../client/slots";
import { deadline } from "../lib/deadline";
import { messageOf } from "../lib/errors";
import { findRunningServer } from "../lib/running-server";
import { type Asking, HostCarrier } from "./asking";
import { relayed } from "./relay";

interface Uses {
  readonly configDir: string;
  /** Null where this process is no hub. */
  hub(): Asking | null;
}

/** How much longer the server of this desk may take to answer than the host, in milliseconds. */
const GRACE_MS = 2_000;

/** How many connections to the server of this desk are kept for requests that read: to open one costs more than a request. */
const MAX_KEPT = 32;

/** The way to hosts whose id is behind `link:`. A host without a link is `unreachable`; so is each where no hub runs. */
export function createLinkWay(service: Uses) {
  const kept = createKept(service.configDir);
  const via: Via = async (url, signal, client = null) => {
    const hostId = url.replace(/^link:/, "");
    const hub = service.hub();
    return hub
      ? new HostCarrier(hub, hostId, signal)
      : throughServer(kept, hostId, signal ?? new AbortController().signal, client);
  };
  return { via, stop: kept.stop };
}

async function throughServer(
  kept: Kept,
  hostId: string,
  signal: AbortSignal,
  client: string | null,
): Promise<Carrier> {
  const address = (path: string, { at, ms }: Deadline, more: Record<string, number | true | undefined>) => {
    const query = new URLSearchParams({ path });
    const times = { within_ms: Math.max(0, at - performance.now()), of_ms: ms, ...more };
    for (const [name, value] of Object.entries(times))
      if (value !== undefined) query.set(name, `${typeof value === "number" ? Math.ceil(value) : value}`);
    return `/link/hosts/${hostId}/ask?${query}`;
  };
  // Awaited here: deadlines begin after this function.
  let reading: KeptConnection | undefined = await kept.take(signal, client);
  const giveBack = (isGood: boolean) => {
    reading?.giveBack(isGood);
    reading = undefined;
  };
  let open: Carrier | undefined;
  const read = async (asked: Request, limits: Limits): Promise<Response> => {
    reading ??= await kept.take(signal, client);
    const aborted = () => {
      throw new RemoteError("cancelled", "cancelled", true);
    };
    try {
      return await deadline(reading.connection.ask(asked, limits), { signal, aborted });
    } catch (error) {
      giveBack(false);
      throw error;
    }
  };
  return {
    async ask({ path, ...request }, { deadline: until, answerWithinMs, maxBytes }) {
      const more = {
        max_bytes: maxBytes,
        answer_within_ms: answerWithinMs,
        ...(request.once && { once: true as const }),
      };
      const asked = { ...request, path: address(path, until, more) };
      const limits = { deadline: later(until, answerWithinMs), maxBytes };
      if (request.method === "GET") return relayed(await read(asked, limits), "GET");
      // It may take long; and on a connection that was used, it might be sent twice.
      giveBack(true);
      using connection = connectionTo(kept.server(), signal);
      return relayed(await connection.ask(asked, limits), "POST");
    },
    async open(path, until, silentMs) {
      giveBack(true);
      open = connectionTo(kept.server(), signal);
      const asked = address(path, until, { silent_ms: silentMs });
      return relayed(await open.open(asked, later(until), silentMs + GRACE_MS), "GET");
    },
    pin: () => undefined,
    [Symbol.dispose]() {
      giveBack(true);
      open?.[Symbol.dispose]();
    },
  };
}

interface KeptConnection {
  readonly connection: Carrier;
  /** @param isGood whether it can carry another request. */
  giveBack(isGood: boolean): void;
}

type Kept = ReturnType<typeof createKept>;

/** A few connections to the server on `configDir`, which are used again. */
function createKept(configDir: string) {
  const slots = createSlots(MAX_KEPT);
  let free: Carrier[] = [];
  let known = "";
  const stop = () => {
    for (const connection of free) connection[Symbol.dispose]();
    free = [];
  };
  /** @throws a {@link RemoteError} where no other process of this desk is a server. */
  const server = () => {
    const found = serverOn(configDir);
    const key = JSON.stringify(found);
    if (key !== known) stop();
    known = key;
    return found;
  };
  return {
    server,
    stop,
    /** @throws a {@link RemoteError}, also once `signal` is aborted. */
    async take(signal: AbortSignal, client: string | null): Promise<KeptConnection> {
      const leave = await slots(signal, client);
      try {
        const found = server();
        const key = known;
        const connection = free.pop() ?? connectionTo(found);
        return {
          connection,
          giveBack(isGood) {
            if (isGood && key === known) free.push(connection);
            else connection[Symbol.dispose]();
            leave();
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

const later = ({ at, ms }: Deadline, more = 0): Deadline => ({ at: at + more + GRACE_MS, ms });

/** The server of this desk. @throws a {@link RemoteError} where no other process of it is one. */
function serverOn(configDir: string) {
  const running = findRunningServer(configDir);
  if (!running) throw unlinked("no server runs on this desk, which its hosts dial: start `svc serve --hub`");
  if (running.pid === process.pid) throw unlinked("this server takes no links: start it with --hub");
  try {
    return localServer(configDir);
  } catch (error) {
    throw unlinked(messageOf(error));
  }
}

const unlinked = (message: string) => new RemoteError("unreachable", message, false);

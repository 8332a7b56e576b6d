/**
 * The way to linked hosts: over their links where this process is the hub, else through the server of this desk.
 */
import { type Carrier, type Deadline, RemoteError, type Request, type Via } from "../client/carrier";
import { connectionTo } from "../client/connection";
import { localServer } from "../client/local-server";
import { messageOf } from "../lib/errors";
import { findRunningServer } from "../lib/running-server";
import type { Hub } from "./links";
import { relayed } from "./relay";

interface Uses {
  readonly configDir: string;
  /** Null where this process is no hub. */
  hub(): Pick<Hub, "ask" | "open"> | null;
}

/** How much later than a host the server of this desk has to answer, in milliseconds. */
const GRACE_MS = 2_000;

/** The way to the host whose id is behind `link:`. A host without a link is `unreachable`; so is each where no hub runs. */
export const viaLinks =
  (service: Uses): Via =>
  async (url, signal = new AbortController().signal) => {
    const hostId = url.replace(/^link:/, "");
    const hub = service.hub();
    return hub ? overLink(hub, hostId, signal) : throughServer(service.configDir, hostId, signal);
  };

function overLink(hub: Pick<Hub, "ask" | "open">, hostId: string, signal: AbortSignal): Carrier {
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  return {
    ask: (request, limits) => hub.ask(hostId, request, limits, until),
    open: (path, deadline, silentMs) => hub.open(hostId, path, deadline, silentMs, until),
    pin: () => undefined,
    [Symbol.dispose]: () => closed.abort(),
  };
}

function throughServer(configDir: string, hostId: string, signal: AbortSignal): Carrier {
  const server = serverOn(configDir);
  const address = (path: string, { at, ms }: Deadline, more: Record<string, number | undefined>) => {
    const query = new URLSearchParams({ path });
    const times = { within_ms: Math.max(0, at - performance.now()), of_ms: ms, ...more };
    for (const [name, value] of Object.entries(times))
      if (value !== undefined) query.set(name, `${Math.ceil(value)}`);
    return `/link/hosts/${hostId}/ask?${query}`;
  };
  const reading = connectionTo(server, signal);
  const posting = () => connectionTo(server, signal);
  return {
    async ask({ path, ...request }: Request, { deadline, answerWithinMs, maxBytes }) {
      const more = { max_bytes: maxBytes, answer_within_ms: answerWithinMs };
      const asked = { ...request, path: address(path, deadline, more) };
      const until = later(deadline, answerWithinMs);
      if (request.method === "GET") return relayed(await reading.ask(asked, { deadline: until, maxBytes }));
      // One for each: on none may it be sent again, as the host may have done it.
      using connection = posting();
      return relayed(await connection.ask(asked, { deadline: until, maxBytes }));
    },
    async open(path, deadline, silentMs) {
      const asked = address(path, deadline, { silent_ms: silentMs });
      return relayed(await reading.open(asked, later(deadline), silentMs + GRACE_MS));
    },
    pin: () => undefined,
    [Symbol.dispose]: () => reading[Symbol.dispose](),
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

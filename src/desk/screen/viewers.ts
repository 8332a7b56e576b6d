/**
 * The viewers that this desk has let in at other hosts: a host sees the token of the desk alone, so it is the desk that ends a viewer
 * with the token of the person, and that knows whose it is.
 */
import type { RemoteServer } from "../../client/carrier";
import type { Caller } from "../../core/caller";
import { allows, type Grant } from "../../core/rights";
import { Failure, forbidden, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";

/** How many viewers of one host are remembered: as many as it shows itself to at once, several times over. */
const MAX_OF_HOST = 128;
const END_MS = 15_000;
/** How often an end is tried, and how long after the last try, in milliseconds. */
const TRIES = 10;
const AGAIN_MS = 5_000;

interface RelayedViewer {
  readonly grant: Grant;
  readonly forget: () => void;
}

/** The viewers at other hosts, by the label of the host and their id. */
export interface RelayedViewers {
  /** Remembers a viewer that `caller` has opened; it ends at the host with the caller's token. */
  add(label: string, id: string, caller: Pick<Caller, "grant" | "request">): void;
  /** The ids of a host's. */
  of(label: string): string[];
  forget(label: string, id: string): void;
  /** @throws `forbidden` where the viewer was opened here with another token, or not here; the scope admin may. */
  requireOwn(label: string, id: string, grant: Grant): void;
  /** The host has another label from now on. */
  rename(from: string, to: string): void;
}

/** A host, under the label that it has now, and its viewers by their ids. */
interface ViewedHost {
  label: string;
  readonly viewers: Map<string, RelayedViewer>;
}

/** @param server how to reach a host. */
export function createRelayedViewers(
  log: Log,
  server: (label: string) => Promise<RemoteServer>,
): RelayedViewers {
  const hosts = new Map<string, ViewedHost>();

  const endAt = async (label: string, id: string) => {
    const { carrierTo } = await import("../../client/connection");
    using carrier = await carrierTo(await server(label));
    const body = JSON.stringify({ id });
    const { deadlineIn } = await import("../../client/carrier");
    const limits = { deadline: deadlineIn(END_MS), maxBytes: 65_536 };
    return (await carrier.ask({ method: "POST", path: "/sessions/close", body }, limits)).status;
  };
  const end = async (host: ViewedHost, id: string, triesLeft = TRIES): Promise<void> => {
    let why: string;
    try {
      const status = await endAt(host.label, id);
      // It may have ended by itself.
      if (status === 200 || status === 404) return;
      why = `HTTP ${status}`;
    } catch (error) {
      why = messageOf(error);
    }
    log.warn(
      `the viewer ${id} of ${printable(host.label, 130)} could not be ended with its token: ${printable(why, 200)}`,
    );
    if (triesLeft > 1) setTimeout(() => void end(host, id, triesLeft - 1), AGAIN_MS).unref();
  };
  const forget = ({ label, viewers }: ViewedHost, id: string) => {
    viewers.get(id)?.forget();
    viewers.delete(id);
    if (viewers.size === 0 && hosts.get(label)?.viewers === viewers) hosts.delete(label);
  };

  return {
    add(label, id, { grant, request }) {
      const host = hosts.get(label) ?? { label, viewers: new Map() };
      hosts.set(label, host);
      const ends = request?.untilTokenEnds?.();
      host.viewers.set(id, { grant, forget: () => ends?.ended() });
      ends?.signal.addEventListener("abort", () => {
        forget(host, id);
        // Other reasons are those of the server itself.
        if (ends.signal.reason instanceof Failure) void end(host, id);
      });
      const [oldest] = host.viewers.keys();
      if (host.viewers.size <= MAX_OF_HOST || oldest === undefined) return;
      // Nobody would end it with its token.
      forget(host, oldest);
      void end(host, oldest, 1);
    },
    of: (label) => [...(hosts.get(label)?.viewers.keys() ?? [])],
    forget(label, id) {
      const host = hosts.get(label);
      if (host) forget(host, id);
    },
    requireOwn(label, id, grant) {
      if (allows(grant, "admin")) return;
      const opener = hosts.get(label)?.viewers.get(id)?.grant;
      if (opener && opener.name === grant.name && opener.sha256 === grant.sha256) return;
      throw forbidden("control is taken with the token that opened the viewer at this desk, or with admin");
    },
    rename(from, to) {
      const host = hosts.get(from);
      if (!host) return;
      hosts.delete(from);
      host.label = to;
      hosts.set(to, host);
    },
  };
}

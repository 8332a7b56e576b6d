/**
 * Requests that arrive while a change of the same connection is made. Bun would end the connection, and the change would have
 * no answer; so the system keeps them until there is one. On Linux and macOS.
 */
import ipaddr from "ipaddr.js";
import { openDescriptors } from "../lib/descriptors";
import { once } from "../lib/once";
import type { Peer } from "../lib/socket-table";
import type { Sockets } from "../lib/sockets";

/** What is kept, in bytes: as much as the body of a request may have by default, and more. Beyond it, Bun ends the connection. */
const KEPT = 1 << 20;

/** Connections whose descriptors are remembered. */
const MAX_REMEMBERED = 1_024;

/** Holds back what a client sends from now on; that it goes is still noticed. Resolves to a function that ends this. */
export type HoldBack = (peer: Peer | null) => Promise<() => void>;

export function createHoldBack(): HoldBack {
  const openSockets = once(async () => (await import("../lib/sockets")).openSockets());
  const found = new Map<string, { descriptor: number; raw: string }>();

  const find = async ({ rawPeer, readPeer }: Sockets, peer: Peer) => {
    const name = `${peer.address} ${peer.port}`;
    const known = found.get(name);
    if (known && rawPeer(known.descriptor) === known.raw) return known;
    const address = addressOf(peer.address);
    if (found.size >= MAX_REMEMBERED) found.clear();
    for (const descriptor of await openDescriptors({ many: false, limit: 0 })) {
      const raw = rawPeer(descriptor);
      if (raw === undefined) continue;
      const end = readPeer(raw);
      if (end.port !== peer.port || addressOf(end.address) !== address) continue;
      found.set(name, { descriptor, raw });
      return { descriptor, raw };
    }
    return undefined;
  };

  return async (peer) => {
    if (peer === null || process.platform === "win32") return () => {};
    try {
      const sockets = await openSockets();
      const socket = await find(sockets, peer);
      if (!socket) return () => {};
      const { descriptor, raw } = socket;
      sockets.wakeAt(descriptor, raw, KEPT);
      return () => sockets.wakeAt(descriptor, raw, 1);
    } catch {
      // As where no descriptor is left to look with: the change is made all the same.
      return () => {};
    }
  };
}

const addressOf = (address: string) => ipaddr.process(address).toString();

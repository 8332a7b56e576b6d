/**
 * The connections that a port of this process has accepted, found among its file descriptors: Bun.serve shows requests only.
 */
import { once } from "./once";
import type { Sockets } from "./sockets";
import { nextTurn } from "./turn";

/** The other end of a connection. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** A connection as the system knows it. */
interface Socket {
  readonly descriptor: number;
  /** The peer's address as the system has it. */
  readonly raw: string;
  ended: boolean;
}

/**
 * What the system keeps for a slow reader, in bytes: Linux would take megabytes each, of memory that all TCP connections of
 * the host share (`tcp_mem` in tcp(7)). Enough for 6 MB/s over 20 ms.
 */
const SEND_BUFFER = 65_536;

/** Sockets looked at before requests have their turn: less than a millisecond of work. */
const SLICE = 128;

const openSockets = once(async () => (await import("./sockets")).openSockets());

/** @param describe makes what is kept of a connection. */
export function createSocketTable<C extends object>(port: number, describe: (peer: Peer) => C) {
  const known = new Map<number, Socket & C>();
  let sockets: Sockets | undefined;
  let listener: number | undefined;

  const update = ({ rawPeer, readPeer, isOnPort, setSendBuffer }: Sockets, descriptor: number) => {
    const raw = rawPeer(descriptor);
    if (known.get(descriptor)?.raw === raw && raw !== undefined) return;
    // What is put in again is at the end, with the newest.
    known.delete(descriptor);
    if (!isOnPort(descriptor, port)) return;
    if (raw === undefined) {
      // While a certificate is exchanged, there are two.
      if (descriptor === listener) return;
      listener = descriptor;
      setSendBuffer(descriptor, SEND_BUFFER);
      return;
    }
    known.set(descriptor, { descriptor, raw, ended: false, ...describe(readPeer(raw)) });
  };

  return {
    /** Looks at all of `descriptors`. @returns the connections that were not ended, from the oldest to the newest. */
    async update(descriptors: readonly number[]): Promise<Array<Socket & C>> {
      sockets = await openSockets();
      const open = new Set(descriptors);
      for (const descriptor of known.keys()) if (!open.has(descriptor)) known.delete(descriptor);
      for (const [nth, descriptor] of descriptors.entries()) {
        if (nth % SLICE === SLICE - 1) await nextTurn();
        update(sockets, descriptor);
      }
      return [...known.values()].filter(({ ended }) => !ended);
    },
    /** Ends a connection at once, and drops what was not sent yet. Bun notices and closes it. */
    end(socket: Socket): void {
      socket.ended = true;
      sockets?.end(socket.descriptor, socket.raw);
    },
  };
}

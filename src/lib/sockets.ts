/** The sockets among the file descriptors of this process, through the C library. On Linux and macOS. */
import { ptr } from "bun:ffi";
import { openLibc } from "./libc";
import type { Peer } from "./socket-table";

/** `struct linger` with `l_onoff` 1 and `l_linger` 0 (socket(7)): closing drops what was not sent yet. */
const DROP = new Int32Array([1, 0]);
/** `SOL_SOCKET` and options of the platform's socket.h. */
const [SOL_SOCKET, SO_LINGER, SO_SNDBUF, SO_RCVLOWAT] =
  process.platform === "linux" ? [1, 13, 7, 18] : [0xffff, 0x80, 0x1001, 0x1004];
const SHUT_RDWR = 2;

/** `sizeof(struct sockaddr_in)` and `sizeof(struct sockaddr_in6)`; the port is at 2, the address at 4 and at 8. */
const IPV4_SIZE = 16;
const IPV6_SIZE = 28;

/** What the system does with sockets by their descriptors. */
export interface Sockets {
  /** What the system's address of a peer says. */
  readPeer(raw: string): Peer;
  /** The peer's address as the system has it; undefined for what is no connected TCP or UDP socket. */
  rawPeer(descriptor: number): string | undefined;
  /** Whether the near end of a connected socket has this port. */
  isOnPort(descriptor: number, port: number): boolean;
  /**
   * Limits what the system keeps for a slow reader, on each connection that a listening socket accepts from now on.
   *
   * @param bytes Linux takes twice as many, for its own overhead too (socket(7)).
   */
  setSendBuffer(descriptor: number, bytes: number): void;
  /** Whoever waits for the connection, if its peer is still `raw`, is not woken for fewer than `bytes`, but for its end. */
  wakeAt(descriptor: number, raw: string, bytes: number): void;
  /** Ends the connection at once, if the peer is still `raw`; what holds the socket notices and closes it. */
  end(descriptor: number, raw: string): void;
}

/** @throws when no C library is found. */
export async function openSockets(): Promise<Sockets> {
  const { getpeername, getsockname, setsockopt, shutdown } = openLibc({
    getpeername: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    shutdown: { args: ["i32", "i32"], returns: "i32" },
  });
  const address = Buffer.alloc(128);
  const size = new Uint32Array(1);
  /** Puts one end of a socket into `address`. */
  const reads = (call: typeof getpeername, descriptor: number) => {
    size[0] = address.length;
    return (
      call(descriptor, ptr(address), ptr(size)) === 0 && (size[0] === IPV4_SIZE || size[0] === IPV6_SIZE)
    );
  };
  const rawPeer = (descriptor: number) =>
    reads(getpeername, descriptor) ? address.toString("latin1", 2, size[0]) : undefined;
  return {
    readPeer,
    rawPeer,
    isOnPort: (descriptor, port) => reads(getsockname, descriptor) && address.readUInt16BE(2) === port,
    setSendBuffer(descriptor, bytes) {
      setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, ptr(new Int32Array([bytes])), 4);
    },
    wakeAt(descriptor, raw, bytes) {
      if (rawPeer(descriptor) === raw)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, ptr(new Int32Array([bytes])), 4);
    },
    end(descriptor, raw) {
      if (rawPeer(descriptor) !== raw) return;
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, ptr(DROP), DROP.byteLength);
      shutdown(descriptor, SHUT_RDWR);
    },
  };
}

/** What the system's address of a peer says; a mapped IPv4 address stays as it is. */
function readPeer(raw: string): Peer {
  const bytes = Buffer.from(raw, "latin1");
  const port = bytes.readUInt16BE(0);
  if (bytes.length === IPV4_SIZE - 2) return { address: bytes.subarray(2, 6).join("."), port };
  const groups = Array.from({ length: 8 }, (_, nth) => bytes.readUInt16BE(6 + 2 * nth).toString(16));
  return { address: groups.join(":"), port };
}

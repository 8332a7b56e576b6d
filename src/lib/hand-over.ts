/**
 * Two listeners of this process on one port, and which of them gets new connections. On Linux.
 *
 * A listener that closes resets the connections that wait in its queue, so the new one has to get them all first. Sockets
 * that share a port (SO_REUSEPORT) are a group; a program attached to the group chooses one (socket(7)).
 */
import { readdirSync } from "node:fs";
import { openLibc } from "./libc";

/** Of Linux: asm-generic/socket.h. */
const SOL_SOCKET = 1;
const SO_REUSEPORT = 15;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;

/** `BPF_RET | BPF_K` of linux/filter.h: the program answers with a constant. */
const RETURN = 0x06;

/** Sharing a port among the processes of one user. */
export interface HandOver {
  /** The descriptors of this process that listen on a TCP port. */
  listeners(port: number): number[];
  /** Lets a later listener of this user share the port. @returns whether the system does. */
  share(descriptor: number): boolean;
  /**
   * Gives all new connections to one listener of the group.
   *
   * @param descriptor any of the group.
   * @param index of that listener: they are in the order in which they began, and the last takes the place of one that closes.
   * @returns whether the system does.
   */
  choose(descriptor: number, index: number): boolean;
}

/** @throws when no C library is found. */
export async function openHandOver(): Promise<HandOver> {
  const { ptr }: typeof import("bun:ffi") = require("bun:ffi");
  const { getsockname, getsockopt, setsockopt } = openLibc({
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
  });
  const address = Buffer.alloc(128);
  const listensOn = (descriptor: number, port: number) => {
    const value = new Int32Array(1);
    const size = new Uint32Array([4]);
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(size)) !== 0) return false;
    size[0] = address.length;
    // `sin_port` and `sin6_port` are in the same place.
    const named = getsockname(descriptor, ptr(address), ptr(size)) === 0;
    return named && value[0] === 1 && address.readUInt16BE(2) === port;
  };
  return {
    listeners: (port) =>
      readdirSync("/proc/self/fd")
        .map(Number)
        .filter((descriptor) => listensOn(descriptor, port)),
    share: (descriptor) =>
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, ptr(new Int32Array([1])), 4) === 0,
    choose(descriptor, index) {
      // struct sock_filter { u16 code; u8 jt, jf; u32 k; }
      const filter = Buffer.alloc(8);
      filter.writeUInt16LE(RETURN, 0);
      filter.writeUInt32LE(index, 4);
      // struct sock_fprog { u16 len; struct sock_filter *filter; }
      const program = Buffer.alloc(16);
      program.writeUInt16LE(1, 0);
      program.writeBigUInt64LE(BigInt(ptr(filter)), 8);
      return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), program.length) === 0;
    },
  };
}

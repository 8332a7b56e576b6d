/**
 * A UNIX socket over which file descriptors go both ways, through the C library: Bun's own sockets lose those that arrive. On Linux.
 *
 * The kernel says by a signal (SIGIO, fcntl(2) `O_ASYNC`) that there is something to read, or room to write: no thread waits, and
 * nothing is asked again and again.
 */

import { ptr, read } from "bun:ffi";
import { closeSync } from "node:fs";
import { openLibc } from "../../../lib/libc";

/** `sys/socket.h` and `fcntl.h` of Linux. */
const [AF_UNIX, SOCK_STREAM, SOL_SOCKET, SO_PEERCRED, SCM_RIGHTS] = [1, 1, 1, 17, 1];
const [SOCK_CLOEXEC, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_CMSG_CLOEXEC] = [0o2000000, 0x40, 0x4000, 0x40000000];
const [F_GETFL, F_SETFL, F_SETOWN, O_ASYNC, O_NONBLOCK, O_CLOEXEC] = [3, 4, 8, 0o20000, 0o4000, 0o2000000];
/** `errno.h`: nothing now; try again. */
const LATER: ReadonlySet<number> = new Set([11, 4]);
/** `sizeof(struct sockaddr_un)`, and the longest path in it with its end. */
const [ADDRESS_SIZE, MAX_PATH] = [110, 108];
/** `struct msghdr`, `struct iovec` and `struct cmsghdr` where pointers have 8 bytes. */
const [MSGHDR_SIZE, IOVEC_SIZE, CMSGHDR_SIZE] = [56, 16, 16];
/** As many descriptors as libwayland sends in one message. */
const MAX_DESCRIPTORS = 28;
const READ_SIZE = 64 * 1_024;

const open = () =>
  openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    sendmsg: { args: ["i32", "ptr", "i32"], returns: "i64" },
    recvmsg: { args: ["i32", "ptr", "i32"], returns: "i64" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
    __errno_location: { args: [], returns: "ptr" },
    pipe2: { args: ["ptr", "i32"], returns: "i32" },
  });

type Libc = ReturnType<typeof open>;

/** A connected socket. */
export interface DescriptorSocket {
  /** The process that listens at the other end. */
  readonly peer: number;
  /** Sends all, in order, as soon as there is room. @param descriptors stay the caller's; they may be closed at once. */
  send(bytes: Uint8Array, descriptors?: readonly number[]): void;
  close(): void;
}

/** Gets what a socket receives. */
interface Receiver {
  /** @param descriptors belong to whom they are given. */
  received(bytes: Uint8Array, descriptors: readonly number[]): void;
  /** The other end has gone. */
  ended(): void;
}

/** Undefined where nobody listens at `path`, which begins with a null character in the abstract namespace (unix(7)). @throws when no C library is found. */
export function connectSocket(path: string, receiver: Receiver): DescriptorSocket | undefined {
  const libc = open();
  const descriptor = connected(libc, path);
  if (descriptor === undefined) return undefined;
  let isOpen = true;
  /** What waits for room. */
  const waiting: Uint8Array[] = [];
  const receive = receiverOf(libc, descriptor);
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    libc.fcntl(descriptor, F_SETFL, libc.fcntl(descriptor, F_GETFL, 0) & ~O_ASYNC);
    process.off("SIGIO", work);
    closeSync(descriptor);
  };
  const end = () => {
    if (!isOpen) return;
    close();
    receiver.ended();
  };
  const flush = () => {
    for (let first = waiting[0]; first && isOpen; first = waiting[0]) {
      const sent = sendOnce(libc, descriptor, first, []);
      if (sent === undefined) return end();
      if (sent === 0) return;
      if (sent < first.length) waiting[0] = first.subarray(sent);
      else waiting.shift();
    }
  };
  const work = () => {
    flush();
    while (isOpen) {
      const got = receive();
      if (got === undefined) return;
      if (got.bytes.length === 0) return end();
      receiver.received(got.bytes, got.descriptors);
    }
  };
  // Without anybody who listens, the signal ends the process: also one that comes when the last socket has closed.
  if (process.listenerCount("SIGIO") === 0) process.on("SIGIO", ignore);
  process.on("SIGIO", work);
  libc.fcntl(descriptor, F_SETOWN, process.pid);
  libc.fcntl(descriptor, F_SETFL, libc.fcntl(descriptor, F_GETFL, 0) | O_ASYNC | O_NONBLOCK);
  return {
    peer: peerOf(libc, descriptor),
    send(bytes, descriptors = []) {
      if (!isOpen) return;
      if (waiting.length > 0 && descriptors.length === 0) return void waiting.push(bytes);
      flush();
      // Descriptors go with the first byte, and may be closed when this returns.
      const sent = sendOnce(libc, descriptor, bytes, descriptors);
      if (sent === undefined || (sent === 0 && descriptors.length > 0)) return end();
      if (sent < bytes.length) waiting.push(bytes.subarray(sent));
    },
    close,
  };
}

const ignore = () => {};

function connected(libc: Libc, path: string): number | undefined {
  const name = Buffer.from(path);
  if (name.length >= MAX_PATH) return undefined;
  const address = Buffer.alloc(ADDRESS_SIZE);
  address.writeUInt16LE(AF_UNIX);
  name.copy(address, 2);
  // An abstract name has no end but that of the address.
  const size = path.startsWith("\0") ? 2 + name.length : ADDRESS_SIZE;
  const descriptor = libc.socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return undefined;
  if (libc.connect(descriptor, ptr(address), size) === 0) return descriptor;
  closeSync(descriptor);
  return undefined;
}

/** `SO_PEERCRED` (unix(7)): `struct ucred` begins with the process id. */
function peerOf(libc: Libc, descriptor: number): number {
  const credentials = new Int32Array(3);
  const size = new Uint32Array([credentials.byteLength]);
  libc.getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, ptr(credentials), ptr(size));
  return credentials[0] ?? 0;
}

/** The C library's last error on this thread. */
function lastError(libc: Libc): number {
  const at = libc.__errno_location();
  return at === null ? 0 : read.i32(at, 0);
}

/** How many bytes were sent, 0 when there is no room; undefined when the other end has gone. */
function sendOnce(libc: Libc, descriptor: number, bytes: Uint8Array, descriptors: readonly number[]) {
  const vector = vectorOf(bytes);
  const control = Buffer.alloc(descriptors.length > 0 ? CMSGHDR_SIZE + align(4 * descriptors.length) : 0);
  if (descriptors.length > 0) {
    control.writeBigUInt64LE(BigInt(CMSGHDR_SIZE + 4 * descriptors.length), 0);
    control.writeInt32LE(SOL_SOCKET, 8);
    control.writeInt32LE(SCM_RIGHTS, 12);
    for (const [nth, one] of descriptors.entries()) control.writeInt32LE(one, CMSGHDR_SIZE + 4 * nth);
  }
  const header = headerOf(vector, control);
  const sent = Number(libc.sendmsg(descriptor, ptr(header), MSG_DONTWAIT | MSG_NOSIGNAL));
  if (sent >= 0) return sent;
  return LATER.has(lastError(libc)) ? 0 : undefined;
}

/** A function that receives once: no bytes when the other end has gone, undefined when there is nothing now. */
function receiverOf(libc: Libc, descriptor: number) {
  const buffer = Buffer.alloc(READ_SIZE);
  const control = Buffer.alloc(CMSGHDR_SIZE + align(4 * MAX_DESCRIPTORS));
  return () => {
    const header = headerOf(vectorOf(buffer), control);
    const received = Number(libc.recvmsg(descriptor, ptr(header), MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    if (received < 0) {
      return LATER.has(lastError(libc)) ? undefined : { bytes: new Uint8Array(), descriptors: [] };
    }
    const used = Number(header.readBigUInt64LE(40));
    return { bytes: new Uint8Array(buffer.subarray(0, received)), descriptors: rightsIn(control, used) };
  };
}

function rightsIn(control: Buffer, used: number): number[] {
  const rights: number[] = [];
  for (let at = 0; at + CMSGHDR_SIZE <= used; ) {
    const length = Number(control.readBigUInt64LE(at));
    if (length < CMSGHDR_SIZE) break;
    if (control.readInt32LE(at + 8) === SOL_SOCKET && control.readInt32LE(at + 12) === SCM_RIGHTS) {
      for (let from = at + CMSGHDR_SIZE; from + 4 <= at + length; from += 4)
        rights.push(control.readInt32LE(from));
    }
    at += align(length);
  }
  return rights;
}

const align = (bytes: number) => (bytes + 7) & ~7;

function vectorOf(bytes: Uint8Array): Buffer {
  const vector = Buffer.alloc(IOVEC_SIZE);
  vector.writeBigUInt64LE(BigInt(ptr(bytes)), 0);
  vector.writeBigUInt64LE(BigInt(bytes.length), 8);
  return vector;
}

function headerOf(vector: Buffer, control: Buffer): Buffer {
  const header = Buffer.alloc(MSGHDR_SIZE);
  header.writeBigUInt64LE(BigInt(ptr(vector)), 16);
  header.writeBigUInt64LE(1n, 24);
  if (control.length > 0) {
    header.writeBigUInt64LE(BigInt(ptr(control)), 32);
    header.writeBigUInt64LE(BigInt(control.length), 40);
  }
  return header;
}

/** The two ends of a pipe; reading never blocks. @throws where the process has too many open files. */
export function openPipe(): { readonly from: number; readonly to: number } {
  const libc = open();
  const ends = new Int32Array(2);
  if (libc.pipe2(ptr(ends), O_CLOEXEC) !== 0) throw new Error("no pipe can be made");
  const [from = -1, to = -1] = ends;
  libc.fcntl(from, F_SETFL, O_NONBLOCK);
  return { from, to };
}

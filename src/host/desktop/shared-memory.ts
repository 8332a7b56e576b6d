/**
 * Memory that a display server can map, too: it writes pictures there. On Linux.
 *
 * Promise: it stays as large as it is. Memory that is missing when it is read ends a process with SIGBUS (mmap(2)): a server that had a
 * descriptor of it could otherwise make it smaller.
 */
import { ptr } from "bun:ffi";
import { closeSync, writeSync } from "node:fs";
import { openLibc } from "../../lib/libc";

/** `linux/memfd.h`: closed in programs that are started; may be sealed. */
const [MFD_CLOEXEC, MFD_ALLOW_SEALING] = [1, 2];
/** `linux/fcntl.h`: seals it against being made smaller or larger, and against other seals. */
const [F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW] = [1_033, 1, 2, 4];
const CLEAN = Buffer.alloc(1_024 * 1_024);

/**
 * Undefined where there is no room for it, or nothing of the kind.
 *
 * @param size in bytes. @returns the memory, and a descriptor of it to send, which the caller closes.
 */
export function createMemory(
  size: number,
): { readonly fd: number; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  const { memfd_create, fcntl } = openLibc({
    memfd_create: { args: ["ptr", "u32"], returns: "i32" },
    fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
  });
  const fd = memfd_create(ptr(Buffer.from("svc\0")), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return undefined;
  try {
    // What is not written is not there yet.
    for (let at = 0; at < size; at += CLEAN.length) {
      writeSync(fd, CLEAN, 0, Math.min(CLEAN.length, size - at), at);
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
      throw new Error("it is not sealed");
    return { fd, bytes: Bun.mmap(`/proc/self/fd/${fd}`, { shared: true }) };
  } catch {
    closeSync(fd);
    return undefined;
  }
}

/** Memory that a display server can map, too: it writes pictures there. On Linux. */
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";

const MEMORY_FOLDER = "/dev/shm";
const CLEAN = Buffer.alloc(1_024 * 1_024);

/**
 * Undefined where there is no room for it, or nothing of the kind.
 *
 * @param size in bytes. @returns the memory, and a descriptor of it to send, which the caller closes.
 */
export function createMemory(
  size: number,
): { readonly fd: number; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  const path = `${MEMORY_FOLDER}/svc-${crypto.randomUUID()}`;
  let fd: number | undefined;
  try {
    fd = openSync(path, "wx+", 0o600);
    // Memory that is found to be missing when it is used ends a process with SIGBUS.
    for (let at = 0; at < size; at += CLEAN.length) {
      writeSync(fd, CLEAN, 0, Math.min(CLEAN.length, size - at), at);
    }
    return { fd, bytes: Bun.mmap(path, { shared: true }) };
  } catch {
    if (fd !== undefined) closeSync(fd);
    return undefined;
  } finally {
    if (fd !== undefined) unlinkSync(path);
  }
}

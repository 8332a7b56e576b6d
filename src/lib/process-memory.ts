/**
 * A limit for the memory of a child process that may allocate faster than its deadline comes. A limit of the system counts addresses, of
 * which the runtime reserves far more than it uses; so the parent looks at what is used.
 */
import { readFileSync } from "node:fs";

/** How often it looks, in milliseconds. */
const LOOK_MS = 100;

interface MemoryWatch {
  /** Aborted once the process has used more than it may. */
  readonly over: AbortSignal;
  stop(): void;
}

/** @param most how much memory the process may have, in bytes. Where the system does not say what it has (not on Linux), nothing ends it. */
export function watchMemory(pid: number, most: number): MemoryWatch {
  const over = new AbortController();
  const timer = setInterval(() => {
    if (memoryOf(pid) > most) over.abort();
  }, LOOK_MS);
  timer.unref();
  return { over: over.signal, stop: () => clearInterval(timer) };
}

/** The memory of a process in bytes (proc_pid_status(5), `VmRSS`); 0 where the system does not say. */
function memoryOf(pid: number): number {
  try {
    const [, kilobytes = "0"] =
      /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) * 1_024;
  } catch {
    return 0;
  }
}

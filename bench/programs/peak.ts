/** The memory of a program that a bench starts, where what comes after the desk in it is not to count. */
import { readFileSync } from "node:fs";

/** The most that was resident of this process so far, in bytes (proc_pid_status(5), VmHWM); NaN where there is no /proc. */
export function peakBytes(): number {
  if (process.platform !== "linux") return Number.NaN;
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1_024;
}

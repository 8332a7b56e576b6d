/**
 * The metrics of the process, with the names that Prometheus has for them.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Reading } from "./readings";

/** https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
const PROCESS: readonly Reading[] = [
  {
    name: "process_cpu_seconds_total",
    help: "User and system CPU time, child processes excluded",
    type: "counter",
    read() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  },
  {
    name: "process_start_time_seconds",
    help: "Start time of the process, in Unix time",
    read: () => performance.timeOrigin / 1_000,
  },
  {
    name: "process_resident_memory_bytes",
    help: "Resident memory, child processes excluded",
    read: () => process.memoryUsage.rss(),
  },
];

const PROCESS_LINUX: readonly Reading[] = [
  {
    name: "process_virtual_memory_bytes",
    help: "Virtual memory (Linux)",
    // proc_pid_status(5): `VmSize` in kB.
    read: () => Number(procField("status", /^VmSize:\s+(\d+) kB/m)) * 1_024,
  },
  {
    name: "process_open_fds",
    help: "Open file descriptors (Linux)",
    read: () => readdirSync("/proc/self/fd").length - 1,
  },
  {
    name: "process_max_fds",
    help: "Maximum number of open file descriptors (Linux)",
    // proc_pid_limits(5): the soft limit.
    read: () => Number(procField("limits", /^Max open files\s+(\S+)/m)?.replace("unlimited", "Infinity")),
  },
];

/** Those that there are on this platform. */
export const processReadings = (): readonly Reading[] =>
  process.platform === "linux" ? [...PROCESS, ...PROCESS_LINUX] : PROCESS;

/** What `pattern` captures in a file of /proc/self. */
const procField = (file: string, pattern: RegExp) =>
  pattern.exec(readFileSync(`/proc/self/${file}`, "utf8"))?.[1];

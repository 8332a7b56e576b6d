/**
 * What Prometheus expects to know of any process
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics); from /proc where there is one.
 */
import { readdirSync, readFileSync } from "node:fs";
import Counter from "prom-client/lib/counter";
import type Registry from "prom-client/lib/registry";
import { addGauge } from "./gauge";

/** Adds the process's own metrics to `registry`. */
export function addProcessMetrics(registry: Registry): void {
  new Counter({
    name: "process_cpu_seconds_total",
    help: "User and system CPU time spent, without that of child processes",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  const startedAt = Date.now() / 1_000 - process.uptime();
  addGauge(registry, "process_start_time_seconds", "When the process started, in Unix time", () => startedAt);
  addGauge(
    registry,
    "process_resident_memory_bytes",
    "Resident memory, without that of child processes",
    () => process.memoryUsage.rss(),
  );
  if (process.platform !== "linux") return;
  addGauge(registry, "process_virtual_memory_bytes", "Virtual memory (Linux)", virtualMemory);
  addGauge(
    registry,
    "process_open_fds",
    "Open file descriptors (Linux)",
    () => readdirSync("/proc/self/fd").length - 1,
  );
  addGauge(
    registry,
    "process_max_fds",
    "File descriptors that may be open at once (Linux)",
    maxFileDescriptors,
  );
}

/** proc_pid_status(5): `VmSize` in kB. */
function virtualMemory(): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(/^VmSize:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

/** proc_pid_limits(5): the soft limit; infinite when there is none. */
function maxFileDescriptors(): number {
  const limit = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
}

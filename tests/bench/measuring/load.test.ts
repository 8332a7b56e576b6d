/** Other work that uses the machine beside a bench. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startLoad } from "../../../bench/measuring/load";
import { isAlive } from "../../../src/lib/alive";
import { until } from "../../support";

const onLinux = test.skipIf(process.platform !== "linux");

/** Processor time of a process, in ticks of 10 ms (proc_pid_stat(5)). */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

onLinux("computes until the bench is over, and tells when a part of it has ended before", async () => {
  let pids: readonly number[] = [];
  {
    await using load = await startLoad(1);
    pids = load.pids;
    const [pid = 0] = pids;
    const before = ticksOf(pid);
    await until("processor time", () => ticksOf(pid) > before + 5);
    load.requireAll();
    process.kill(pid);
    await until("its end", () => !isAlive(pid));
    expect(() => load.requireAll()).toThrow("had ended");
  }
  expect(pids.map(isAlive)).toEqual([false]);
});

onLinux("ends with whoever started it, however that ends", async () => {
  const module = join(import.meta.dir, "../../../bench/measuring/load.ts");
  const script = `console.log(JSON.stringify((await (await import(${JSON.stringify(module)})).startLoad(1)).pids)); setInterval(() => {}, 1e3)`;
  const parent = Bun.spawn([process.execPath, "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const { value } = await parent.stdout.getReader().read();
  const [pid]: number[] = JSON.parse(new TextDecoder().decode(value));
  expect(pid !== undefined && isAlive(pid)).toBeTrue();
  parent.kill("SIGKILL");
  await parent.exited;
  await until("its end", () => pid !== undefined && !isAlive(pid));
});

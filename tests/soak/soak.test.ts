/**
 * The compiled server at half of what it can do, every endpoint in the mix. In CI for some seconds; `bun run soak` takes
 * half an hour (SVC_SOAK_MINUTES says otherwise) and prints what it measured.
 */
import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { startDisplay } from "../host/desktop/support";
import { testWith } from "../support";
import { installHost } from "./host";
import { everyEndpoint, type Progress, run } from "./load";

const MINUTES = Number(process.env.SVC_SOAK_MINUTES ?? 0.25);
/**
 * The memory of the last quarter by that of the second: in the first one fills what is bounded (newest runs, pages of
 * databases). In seconds on a busy machine, the children may start later than that.
 */
const GROWTH = MINUTES >= 10 ? 1.05 : 2.5;
/** The share of requests that may find their connection ended. */
const MAX_AGAIN = 1 / 50_000;
/** A log that grew all the time would cost every verification more, and the load would be no half of the capacity. */
const AUDIT_MAX_ROWS = 50_000;
const CAPACITY_SECONDS = Math.min(20, MINUTES * 10);

testWith("Xvfb", "openbox")(
  "at half its capacity nothing fails, memory does not grow and the chain stays whole",
  async () => {
    using host = installHost();
    await using display = await startDisplay();
    await using server = await host.serve({
      env: display.env,
      flags: ["--audit-max-rows", String(AUDIT_MAX_ROWS)],
    });
    const load = await everyEndpoint(server.call);
    const failures: string[] = [];
    const failed = (path: string, status: number, body: string) => {
      const failure = `${path} ${status} ${body.slice(0, 200)}`;
      console.error(`soak: ${new Date().toISOString()} ${failure}`);
      failures.push(failure);
    };

    const capacity = await run(load, server.call, { seconds: CAPACITY_SECONDS, ratePerSecond: 0 }, failed);
    const memory: number[] = [];
    const sampling = setInterval(() => memory.push(residentBytes(server.pid)), 250);
    const described = ({ tally, rate, again }: Progress) =>
      `${rate.toFixed(0)} of ${capacity.rate.toFixed(0)} requests/s; answers ${[...tally].map(([status, count]) => `${status}: ${count}`).join(", ")}; asked again ${again}`;
    const everyMinute = (progress: Progress) =>
      console.log(`soak: ${described(progress)}; memory ${mib(median(memory.slice(-240)))}`);
    const pace = { seconds: MINUTES * 60, ratePerSecond: capacity.rate / 2, everyMinute };
    const soaked = await run(load, server.call, pace, failed);
    clearInterval(sampling);

    const share = Math.ceil(memory.length / 4);
    const [early, last] = [median(memory.slice(share, 2 * share)), median(memory.slice(-share))];
    console.log(`soak: ${MINUTES} min at ${described(soaked)}; memory ${mib(early)} to ${mib(last)}`);
    expect(failures).toEqual([]);
    expect(soaked.again).toBeLessThanOrEqual(Math.ceil(soaked.rate * pace.seconds * MAX_AGAIN));
    expect(await (await server.call("/audit/verify")).json()).toMatchObject({ ok: true });
    expect(last / early).toBeLessThanOrEqual(GROWTH);
    // In seconds on a busy machine, the capacity that was measured just before is another one.
    if (MINUTES >= 10) expect(soaked.rate).toBeGreaterThan((capacity.rate / 2) * 0.9);
    // Rows beyond the limit were moved, which is no complaint.
    expect(server.log.text().replaceAll(/^\[info\] .*\n/gm, "")).toBe("");
    await host.expectNothingLost();
  },
  (MINUTES * 1.5 + 2) * 60_000,
);

/** Resident memory of the server and of those of its children that stay. */
function residentBytes(server: number): number {
  const children = readdirSync(`/proc/${server}/task`).flatMap((task) =>
    read(`/proc/${server}/task/${task}/children`).split(" ").filter(Boolean),
  );
  const staying = children.filter((child) => /(desktop|usb)-child/.test(read(`/proc/${child}/cmdline`)));
  const kib = [server, ...staying].map((pid) =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0),
  );
  return kib.reduce((sum, own) => sum + own, 0) * 1_024;
}

/** Empty for what has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

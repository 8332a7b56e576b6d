/**
 * Streams of events that come and go at the compiled server: its memory and its descriptors stay as they are. In CI for some
 * seconds; SVC_SOAK_MINUTES=30 for half an hour.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { received } from "../events/support";
import { post, serveBinary, until } from "../support";

const MINUTES = Number(process.env.SVC_SOAK_MINUTES ?? 0.1);
/** In seconds, the heap has not yet grown to what it needs. */
const GROWTH = MINUTES >= 10 ? 1.1 : 2.5;
const CLIENTS = 16;

const residentBytes = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

test.skipIf(process.platform !== "linux")(
  "streams that come and go leave nothing behind",
  async () => {
    await using server = await serveBinary(["--rate-limit", "0"]);
    const { pid, call } = server;
    const streamsNow = async () =>
      Number(/^service_event_streams (\d+)$/m.exec(await (await call("/metrics")).text())?.[1]);
    const ends = performance.now() + MINUTES * 60_000;
    let opened = 0;
    const memory: number[] = [];
    const client = async (nth: number) => {
      while (performance.now() < ends) {
        const control = new AbortController();
        const response = await call("/events?after=oldest", { signal: control.signal });
        expect(response.status).toBe(200);
        opened += 1;
        let left = (opened * (nth + 3)) % 7;
        for await (const _ of received(response)) {
          left -= 1;
          if (left <= 0) break;
        }
        control.abort();
        memory.push(residentBytes(pid));
        if (opened % 50 === 0) await call("/execute", post({ actions: [["AC_sleep", [0]]] }));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, nth) => client(nth)));
    await until("all have ended", async () => (await streamsNow()) === 0);
    const warm = memory.slice(memory.length / 5);
    const share = Math.ceil(warm.length / 5);
    const [first, last] = [median(warm.slice(0, share)), median(warm.slice(-share))];
    const mib = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
    console.log(`soak: ${opened} streams in ${MINUTES} min; memory ${mib(first)} to ${mib(last)}`);
    expect(last / first).toBeLessThanOrEqual(GROWTH);
    await until("their connections are closed", () => descriptors(pid) < 100);
  },
  (MINUTES * 1.5 + 2) * 60_000,
);

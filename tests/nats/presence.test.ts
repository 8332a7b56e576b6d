/** Which hosts are there, as far as a desk can say. */
import { expect, jest, test } from "bun:test";
import { createNatsPresence } from "../../src/nats/presence";

function presence() {
  let time = Date.now();
  const downs: string[] = [];
  const ups: string[] = [];
  const made = createNatsPresence(
    {
      label: (host) => host,
      up: (host) => void ups.push(host),
      down: (host) => void downs.push(host),
      restarted() {},
    },
    () => time,
  );
  return {
    ...{ made, ups, downs },
    /** The clock goes on; this process runs meanwhile, or not. */
    runs(seconds: number) {
      for (let at = 0; at < seconds; at += 10) {
        time += 10_000;
        jest.advanceTimersByTime(10_000);
      }
    },
    sleeps(seconds: number) {
      time += seconds * 1_000;
    },
  };
}

const about = { v: 1, session: "1".repeat(16), connection: "2".repeat(16), version: "1" };

test.each([3_600, -3_600])("no host is gone as the clock jumps by %d s; one that is silent is", (seconds) => {
  jest.useFakeTimers();
  const { made, downs, runs, sleeps } = presence();
  try {
    made.connected();
    made.hello("a", JSON.stringify(about));
    sleeps(seconds);
    runs(300);
    expect(downs).toEqual([]);
    runs(60);
    expect(downs).toEqual(["a"]);
  } finally {
    made.stop();
    jest.useRealTimers();
  }
});

test("a hello that is far too long is not read", () => {
  const { made, ups } = presence();
  made.hello("a", JSON.stringify({ ...about, more: "x".repeat(2_000) }));
  expect(ups).toEqual([]);
});

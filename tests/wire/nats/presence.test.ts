/** Which hosts are there, as far as a desk can say. */
import { expect, jest, setSystemTime, test } from "bun:test";
import { createNatsPresence } from "../../../src/wire/nats/presence";

function presence() {
  let time = 0;
  const twins: string[] = [];
  const downs: string[] = [];
  const ups: string[] = [];
  const made = createNatsPresence(
    {
      label: (host) => host,
      up: (host) => void ups.push(host),
      down: (host) => void downs.push(host),
      restarted() {},
      twin: (host) => void twins.push(host),
    },
    () => time,
  );
  return {
    ...{ made, ups, downs, twins },
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

test.each([
  ["the clock is set forward", 3_600, 0],
  ["the clock is set back", -3_600, 0],
  ["this process does not run for an hour", 0, 3_600],
])("no host is gone as %s; one that is silent is", (_what, set, slept) => {
  jest.useFakeTimers();
  const { made, downs, runs, sleeps } = presence();
  try {
    made.connected();
    setSystemTime(new Date(Date.now() + set * 1_000));
    made.hello("a", JSON.stringify(about));
    sleeps(slept);
    runs(300);
    expect(downs).toEqual([]);
    runs(60);
    expect(downs).toEqual(["a"]);
  } finally {
    made.stop();
    setSystemTime();
    jest.useRealTimers();
  }
});

test("a hello that is far too long is not read", () => {
  const { made, ups } = presence();
  made.hello("a", JSON.stringify({ ...about, more: "x".repeat(2_000) }));
  expect(ups).toEqual([]);
});

test("what a host says of its records is kept for as long as it is there; hosts of earlier builds say nothing", () => {
  const { made } = presence();
  made.hello("a", JSON.stringify(about));
  expect([made.isUp("a"), made.records("a")]).toEqual([true, undefined]);
  const told = { ...about, connection: "3".repeat(16), records: "r1" };
  made.hello("a", JSON.stringify(told));
  expect(made.records("a")).toBe("r1");
  made.bye("a");
  expect(made.records("a")).toBeUndefined();
  made.hello("a", JSON.stringify({ ...told, connection: "4".repeat(16) }));
  made.lost();
  expect(made.records("a")).toBeUndefined();
});

const connection = (digit: string) => JSON.stringify({ ...about, connection: digit.repeat(16) });

test("a host that comes and goes without end is news a few times", () => {
  const { made, ups, downs } = presence();
  for (let nth = 0; nth < 100; nth++) {
    made.hello("a", JSON.stringify({ ...about, connection: String(nth).padStart(16, "0") }));
    made.bye("a");
  }
  expect(ups).toHaveLength(10);
  expect(downs).toHaveLength(10);
});

test("two machines with the key of one host are named once; one that connects anew is not", () => {
  const { made, twins } = presence();
  for (const digit of ["1", "1", "2", "3", "3"]) made.hello("a", connection(digit));
  expect(twins).toEqual([]);
  for (const digit of ["2", "3", "2"]) made.hello("a", connection(digit));
  expect(twins).toEqual(["a"]);
  expect(made.twins()).toEqual(["a"]);
});

test("a host that has answered is not waited for, until it is lost or the connection is", () => {
  const { made } = presence();
  try {
    made.connected();
    expect(made.isExpected("a")).toBe(true);
    made.answered("a");
    expect(made.isExpected("a")).toBe(false);
    made.unheard("a");
    expect(made.isExpected("a")).toBe(true);
    made.answered("a");
    made.lost();
    expect(made.isExpected("a")).toBe(true);
  } finally {
    made.stop();
  }
});

test("without a connection for a minute no host is there, also none that was never heard, and that is no news", () => {
  const { made, downs, sleeps } = presence();
  const seen = () => [made.isExpected("never"), made.isGone("never")];
  sleeps(59);
  expect(seen()).toEqual([true, false]);
  sleeps(1);
  expect(seen()).toEqual([false, true]);
  try {
    made.connected();
    expect(seen()).toEqual([true, false]);
    made.hello("never", JSON.stringify(about));
    expect(seen()).toEqual([false, false]);
    made.lost();
    sleeps(60);
    expect(seen()).toEqual([false, true]);
    expect(downs).toEqual([]);
  } finally {
    made.stop();
  }
});

test("no host is there while the server passes nothing on for a minute, and that is no news", () => {
  jest.useFakeTimers();
  const { made, downs, runs } = presence();
  const gone = () => ["heard", "never"].map(made.isGone);
  try {
    made.connected();
    made.hello("heard", JSON.stringify(about));
    for (let nth = 0; nth < 5; nth++) {
      runs(50);
      made.passed();
    }
    expect(gone()).toEqual([false, false]);
    runs(60);
    expect(gone()).toEqual([true, true]);
    made.answered("heard");
    expect(gone()).toEqual([false, false]);
    expect(downs).toEqual([]);
  } finally {
    made.stop();
    jest.useRealTimers();
  }
});

test("no host is gone for whoever asks first after this process was stopped, until it has run for as long", () => {
  jest.useFakeTimers();
  const { made, runs, sleeps } = presence();
  const seen = () => [made.isUp("a"), made.isGone("a"), made.isExpected("b")];
  try {
    made.connected();
    made.hello("a", JSON.stringify(about));
    made.passed();
    sleeps(120);
    expect(seen()).toEqual([true, false, true]);
    runs(40);
    expect(seen()).toEqual([true, false, true]);
    runs(10);
    expect(seen()).toEqual([true, true, false]);
  } finally {
    made.stop();
    jest.useRealTimers();
  }
});

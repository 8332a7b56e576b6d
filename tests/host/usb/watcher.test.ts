import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { UsbDevice, UsbEvent } from "../../../src/host/usb/device";
import { diffListings } from "../../../src/host/usb/diff";
import { createUsbWatcher, MAX_EVENTS } from "../../../src/host/usb/watcher";
import type { Log } from "../../../src/lib/log";
import { silentLog } from "../../../src/lib/log";
import { fakeLister, listing, stick } from "./support";

/** A watcher that polls only on demand, and its lister. */
function setUp(first = listing(), log: Log = silentLog) {
  const fake = fakeLister(first);
  const watcher = createUsbWatcher(fake.lister, log, { now: () => new Date("2026-04-27T10:30:00Z") });
  return {
    fake,
    watcher,
    async see(...devices: UsbDevice[]) {
      fake.answer = listing(...devices);
      await watcher.poll();
    },
    kinds: (since = 0) => watcher.recentEvents({ since }).events.map(({ kind }) => kind),
    [Symbol.dispose]: () => watcher.stop(),
  };
}

const HOUR_S = 3_600;

test("what was there at the start is not announced", async () => {
  using usb = setUp(listing(stick()));
  await usb.watcher.start(HOUR_S);
  await usb.see(stick());
  expect(usb.kinds()).toEqual([]);
});

test("a device that comes is announced, and so is one that goes", async () => {
  using usb = setUp();
  await usb.watcher.start(HOUR_S);
  await usb.see(stick());
  await usb.see();
  expect(usb.watcher.recentEvents()).toEqual({
    events: [
      { seq: 1, kind: "added", device: stick(), at: "2026-04-27T10:30:00.000Z" },
      { seq: 2, kind: "removed", device: stick(), at: "2026-04-27T10:30:00.000Z" },
    ],
    count: 2,
    watcher_running: true,
    oldest_seq: 1,
    newest_seq: 2,
  });
});

test("a replug between two polls is a removal and an arrival", async () => {
  using usb = setUp(listing(stick({ extra: { address: 2 } })));
  await usb.watcher.start(HOUR_S);
  await usb.see(stick({ extra: { address: 3 } }));
  expect(usb.kinds()).toEqual(["removed", "added"]);
});

test("two identical sticks differ by their port", async () => {
  using usb = setUp(listing(stick({ bus_location: "1-1" })));
  await usb.watcher.start(HOUR_S);
  await usb.see(stick({ bus_location: "1-1" }), stick({ bus_location: "1-2", extra: { address: 3 } }));
  await usb.see(stick({ bus_location: "1-2", extra: { address: 3 } }));
  const { events } = usb.watcher.recentEvents();
  expect(events.map(({ kind, device }) => [kind, device.bus_location])).toEqual([
    ["added", "1-2"],
    ["removed", "1-1"],
  ]);
});

test("two identical sticks of unknown location are counted", async () => {
  const lost = stick({ bus_location: null, extra: {} });
  using usb = setUp(listing(lost));
  await usb.watcher.start(HOUR_S);
  await usb.see(lost, lost);
  await usb.see(lost);
  expect(usb.kinds()).toEqual(["added", "removed"]);
});

test("a change of backend, whose locations differ, is not a change of devices", () => {
  const before = listing(stick());
  const there = stick({ bus_location: "0x14100000", extra: {} });
  const after = { backend: "macos", error: "usb: gone", devices: [there, stick({ serial: "new" })] };
  expect(diffListings(before, after).map(({ kind, device }) => [kind, device.serial])).toEqual([
    ["added", "new"],
  ]);
});

test("a change reported by the addon is polled for at once", async () => {
  using usb = setUp();
  await usb.watcher.start(HOUR_S);
  const event = new Promise<UsbEvent>((resolve) => usb.watcher.subscribe(resolve));
  usb.fake.answer = listing(stick());
  usb.fake.hotplug?.();
  expect((await event).kind).toBe("added");
});

test("a change during a poll is polled for once more", async () => {
  using usb = setUp();
  await usb.watcher.start(HOUR_S);
  const polls = Promise.all([usb.watcher.poll(), usb.watcher.poll(), usb.watcher.poll()]);
  await polls;
  expect(usb.fake.asked).toBe(3);
});

test("it polls again after the interval", async () => {
  using usb = setUp();
  await usb.watcher.start(0.25);
  const event = new Promise<UsbEvent>((resolve) => usb.watcher.subscribe(resolve));
  usb.fake.answer = listing(stick());
  expect((await event).seq).toBe(1);
});

test("a failing poll is logged once, ends nothing, and hides nothing", async () => {
  const warnings: string[] = [];
  using usb = setUp(listing(stick()), { ...silentLog, warn: (text) => warnings.push(text) });
  await usb.watcher.start(HOUR_S);
  usb.fake.answer = new Error("no answer within 5 s");
  await usb.watcher.poll();
  await usb.watcher.poll();
  await usb.see();
  expect(warnings).toEqual(["USB devices are watched and cannot be listed: no answer within 5 s"]);
  expect(usb.kinds()).toEqual(["removed"]);
});

test("when the first poll fails, what the next one sees is the start", async () => {
  using usb = setUp();
  usb.fake.answer = new Error("not yet");
  await usb.watcher.start(HOUR_S);
  await usb.see(stick());
  expect(usb.kinds()).toEqual([]);
});

test("a failing listener is logged and keeps no event from the others", async () => {
  const errors: string[] = [];
  using usb = setUp(listing(), { ...silentLog, error: (text) => errors.push(text) });
  const heard: number[] = [];
  usb.watcher.subscribe(() => {
    throw new Error("listener");
  });
  usb.watcher.subscribe(({ seq }) => heard.push(seq));
  await usb.watcher.start(HOUR_S);
  await usb.see(stick());
  await usb.see();
  expect(heard).toEqual([1, 2]);
  expect(errors).toHaveLength(2);
});

test("stopped, it keeps its events, releases the lister and announces nothing on the next start", async () => {
  using usb = setUp();
  await usb.watcher.start(HOUR_S);
  await usb.see(stick());
  usb.watcher.stop();
  expect(usb.watcher.running).toBe(false);
  expect(usb.fake.hotplug).toBeUndefined();
  usb.fake.answer = listing();
  await usb.watcher.start(HOUR_S);
  expect(usb.kinds()).toEqual(["added"]);
});

test("a second start goes on at the new interval", async () => {
  using usb = setUp();
  await usb.watcher.start(HOUR_S);
  await usb.watcher.start(5);
  expect([usb.watcher.running, usb.watcher.intervalS]).toEqual([true, 5]);
});

describe("10,000 events through the ring", () => {
  async function flood() {
    const usb = setUp();
    await usb.watcher.start(HOUR_S);
    for (let at = 0; at < 5_000; at++) {
      await usb.see(stick({ serial: `${at}` }));
      await usb.see();
    }
    return usb;
  }

  test("the newest 500 are kept, and a caller sees that it missed some", async () => {
    using usb = await flood();
    const { events, oldest_seq, newest_seq } = usb.watcher.recentEvents({ since: 100 });
    expect(events).toHaveLength(MAX_EVENTS);
    expect([oldest_seq, newest_seq]).toEqual([9_501, 10_000]);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: MAX_EVENTS }, (_, at) => 9_501 + at));
  });

  test("since and limit choose among them, in order", async () => {
    using usb = await flood();
    const seqs = (query: { since?: number; limit?: number }) =>
      usb.watcher.recentEvents(query).events.map(({ seq }) => seq);
    expect(seqs({ since: 9_997 })).toEqual([9_998, 9_999, 10_000]);
    expect(seqs({ since: 9_990, limit: 2 })).toEqual([9_999, 10_000]);
    expect(seqs({ since: 10_000 })).toEqual([]);
    expect(usb.watcher.recent_events(9_997)).toEqual(usb.watcher.recentEvents({ since: 9_997 }));
  });
});

test("whatever is plugged, the events lead from the first listing to the last", async () => {
  const anyDevice = fc
    .record({ serial: fc.constantFrom("a", "b", null), port: fc.constantFrom(1, 2, 3), address: fc.nat(3) })
    .map(({ serial, port, address }) => stick({ serial, bus_location: `1-${port}`, extra: { address } }));
  const anyListing = fc.uniqueArray(anyDevice, { maxLength: 4, selector: (device) => device.bus_location });
  await fc.assert(
    fc.asyncProperty(fc.array(anyListing, { minLength: 1, maxLength: 12 }), async ([first = [], ...rest]) => {
      using usb = setUp(listing(...first));
      await usb.watcher.start(HOUR_S);
      for (const devices of rest) await usb.see(...devices);
      const present = new Set(first.map((device) => JSON.stringify(device)));
      for (const { kind, device } of usb.watcher.recentEvents().events) {
        const text = JSON.stringify(device);
        expect(present.has(text)).toBe(kind === "removed");
        if (kind === "added") present.add(text);
        else present.delete(text);
      }
      expect([...present].sort()).toEqual(
        (rest.at(-1) ?? first).map((device) => JSON.stringify(device)).sort(),
      );
    }),
    { numRuns: 100 },
  );
});

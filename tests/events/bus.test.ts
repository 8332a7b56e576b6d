/** The bus and the data of events: what is kept, and how much. */
import { describe, expect, test } from "bun:test";
import { createBus } from "../../src/events/bus";
import { dataText, MAX_BYTES } from "../../src/events/data";
import { silentLog } from "../../src/lib/log";
import { tide } from "./support";

const NOON = new Date("2026-06-01T12:00:00.000Z");

describe("the bus", () => {
  test("keeps the newest events, as many as it has places", () => {
    const bus = createBus(silentLog, { events: 4 });
    for (let nth = 1; nth <= 10; nth++) bus.publish(tide, { nth });
    expect([bus.oldest, bus.newest]).toEqual([7, 10]);
    expect(bus.at(6)).toBeUndefined();
    expect(bus.at(11)).toBeUndefined();
    expect(JSON.parse(bus.at(7)?.text ?? "")).toMatchObject({
      nth: 7,
      at: expect.stringMatching(/T.*\.\d{3}Z$/),
    });
  });

  test("keeps no more bytes than it may, and always the newest event", () => {
    const bus = createBus(silentLog, { bytes: 1_000 });
    for (let nth = 1; nth <= 10; nth++) bus.publish(tide, { nth, text: "x".repeat(300) });
    expect(bus.newest - bus.oldest + 1).toBe(2);
    bus.publish(tide, { nth: 11, text: "x".repeat(2_000) });
    expect([bus.oldest, bus.newest]).toEqual([11, 11]);
  });

  test("calls who listens once for all that one turn brings, and not after it has left", async () => {
    const bus = createBus(silentLog);
    let calls = 0;
    const leave = bus.listen(() => calls++);
    for (let nth = 1; nth <= 10; nth++) bus.publish(tide, { nth });
    await new Promise(setImmediate);
    expect(calls).toBe(1);
    leave();
    bus.publish(tide, { nth: 11 });
    await new Promise(setImmediate);
    expect(calls).toBe(1);
  });

  test("never throws: what is no JSON is logged and lost", () => {
    const said: string[] = [];
    const bus = createBus({ ...silentLog, error: (text) => said.push(text) });
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    bus.publish(tide, circle as never);
    bus.publish(tide, { nth: 1n as never });
    expect(bus.newest).toBe(0);
    expect(said).toEqual([
      expect.stringContaining("an event tide.turned is lost: "),
      expect.stringContaining("an event tide.turned is lost: "),
    ]);
  });
});

describe("the data of an event", () => {
  const long = {
    "a long string": { text: "x".repeat(100_000) },
    "a string of three bytes for each character": { text: "€".repeat(2_000) },
    "a string that JSON escapes": { text: "\u0001".repeat(2_000) },
    "halves of characters": { text: "😀".repeat(1_500) },
    "many strings": { texts: Array(10_000).fill("some text") },
    "strings in lists in lists": { lists: Array(100).fill(Array(100).fill(["deep"])) },
    "deep objects": JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`),
    "many fields": Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`field_${nth}`, "text"])),
  };

  for (const [what, data] of Object.entries(long)) {
    test(`has at most ${MAX_BYTES} bytes and says that it was cut: ${what}`, () => {
      const text = dataText(data, NOON);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
      expect(text).not.toContain("\n");
      expect(text.isWellFormed()).toBe(true);
      expect(JSON.parse(text)).toMatchObject({ at: NOON.toISOString(), truncated: true });
    });
  }

  test("keeps short fields beside a long one", () => {
    const { run_id, error_text } = JSON.parse(dataText({ run_id: "7", error_text: "x".repeat(9_000) }, NOON));
    expect(run_id).toBe("7");
    expect(error_text).toMatch(/^x{1024}…$/);
  });

  test("is whole where it fits", () => {
    expect(dataText({ text: "é\n" }, NOON)).toBe(`{"at":"${NOON.toISOString()}","text":"é\\n"}`);
  });
});

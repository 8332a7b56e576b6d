import { expect, test } from "bun:test";
import fc from "fast-check";
import { RecentMap } from "../../src/lib/buckets";
import { createKeys, NumberTable, RecentNumbers } from "../../src/lib/number-table";

/** Few keys, so that they come again, and numbers that fall into the same chain. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 5 }),
  fc.constantFrom(64, 128, 1_024, 2 ** 53 - 1),
  fc.integer({ min: 0, max: 500 }),
);

test("a table has what a map has, whatever is added, removed and added again", () => {
  const step = fc.record({ kind: fc.constantFrom("put", "put", "remove", "clear"), key, value: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const table = new NumberTable([7, 0]);
      const map = new Map<number, number>();
      for (const { kind, key, value } of steps) {
        // Most lists would be empty again and again.
        if (kind === "clear" && value % 16 !== 0) continue;
        const found = table.find(key);
        expect(found >= 0).toBe(map.has(key));
        if (kind === "put") {
          const offset = found < 0 ? table.add(key) : found;
          if (found < 0) expect([...table.numbers.slice(offset, offset + 2)]).toEqual([7, 0]);
          table.numbers[offset + 1] = value;
          map.set(key, value);
        } else if (kind === "remove" && found >= 0) {
          table.remove(found);
          map.delete(key);
        } else if (kind === "clear") {
          table.clear();
          map.clear();
        }
        expect(table.size).toBe(map.size);
        for (const [known, expected] of map) expect(table.numbers[table.find(known) + 1]).toBe(expected);
      }
    }),
  );
});

test("the recent ones are those of a RecentMap, whatever is touched and deleted", () => {
  const step = fc.record({
    kind: fc.constantFrom("touch", "touch", "touch", "touch", "delete"),
    text: fc.nat({ max: 60 }).map((nth) => `client ${nth}`),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 400, size: "max" }),
      fc.integer({ min: 1, max: 40 }),
      (steps, max) => {
        const numbers = new RecentNumbers(max, [0]);
        const map = new RecentMap<number>(max);
        for (const { kind, text } of steps) {
          if (kind === "delete") {
            numbers.delete(text);
            map.delete(text);
            continue;
          }
          const offset = numbers.touch(text);
          expect(numbers.numbers[offset]).toBe(map.get(text) ?? 0);
          const count = (numbers.numbers[offset] ?? 0) + 1;
          numbers.numbers[offset] = count;
          map.set(text, count);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("texts have keys of their own, others for each who makes them", () => {
  const [keyOf, otherOf] = [createKeys(), createKeys()];
  const keys = new Set(Array.from({ length: 100_000 }, (_, nth) => keyOf(`10.0.${nth >> 8}.${nth & 255}`)));
  expect(keys.size).toBe(100_000);
  for (const each of keys) if (!Number.isSafeInteger(each) || each < 0) throw new Error(`found ${each}`);
  expect(Math.max(...[...keys].slice(0, 1_000))).toBeGreaterThan(2 ** 50);
  expect(keyOf("10.0.0.1")).toBe(keyOf("10.0.0.1"));
  expect(keyOf("10.0.0.1")).not.toBe(otherOf("10.0.0.1"));
});

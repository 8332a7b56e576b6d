/** What is kept for several callers: a bound on all, of which none takes what others need. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createFairMap } from "../../src/lib/fair-map";

test("one caller who has much pushes out what is oldest of its own, and nothing of others", () => {
  const gone: number[] = [];
  const map = createFairMap<number, string>(10, (key) => gone.push(key));
  map.put("small", 1, "one");
  for (let key = 100; key < 200; key++) map.put("large", key, "x");
  expect(map.get("small", 1)).toBe("one");
  expect(map.get("large", 199)).toBe("x");
  expect(map.get("large", 190)).toBeUndefined();
  expect(gone).toEqual(Array.from({ length: 91 }, (_, nth) => 100 + nth));
});

test("an entry that two callers have stays until both have lost it", () => {
  const gone: number[] = [];
  const map = createFairMap<number, string>(4, (key) => gone.push(key));
  map.put(null, 1, "of the owner");
  map.put("large", 1, "of another");
  for (let key = 10; key < 20; key++) map.put("large", key, "x");
  expect(map.find(1)).toBe("of the owner");
  expect(map.get("large", 1)).toBeUndefined();
  expect(gone).not.toContain(1);
});

test("together they have no more than the bound, and a caller below its part loses nothing", () => {
  const puts = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", null), fc.nat({ max: 40 })), {
    maxLength: 200,
  });
  const bounded = fc.property(puts, (all) => {
    const map = createFairMap<number, number>(12);
    const own = new Map<string | null, Set<number>>();
    for (const [share, key] of all) {
      map.put(share, key, key);
      own.set(share, (own.get(share) ?? new Set()).add(key));
    }
    const kept = (share: string | null) =>
      [...(own.get(share) ?? [])].filter((key) => map.get(share, key) === key);
    expect([...own.keys()].reduce((sum, share) => sum + kept(share).length, 0)).toBeLessThanOrEqual(12);
    for (const [share, keys] of own) if (keys.size <= 3) expect(kept(share).length).toBe(keys.size);
  });
  fc.assert(bounded);
});

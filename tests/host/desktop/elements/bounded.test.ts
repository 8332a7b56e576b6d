/** A tree of a program that answers slowly is read for some time only. */
import { expect, test } from "bun:test";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import type { Place, Search } from "../../../../src/host/desktop/elements/search";
import { readTree } from "../../../../src/host/desktop/elements/tree";

const PANEL = 39;

test("what a slow program has shown until then is the tree, and it says that there is more", async () => {
  const place = (path: string): Place => ({
    ...{ ref: { bus: ":1.5", path }, program: { ref: { bus: ":1.5", path: "/" }, name: "slow", pid: 1 } },
    window: "Slow",
  });
  let asked = 0;
  // Each panel holds another, without an end.
  const ask = { children: async ({ path }) => [{ bus: ":1.5", path: `${path}x` }] } as Pick<
    Accessibles,
    "children"
  > as Accessibles;
  const look = {
    places: async () => ({ places: [place("/w")], deaf: [] }),
    async look(at) {
      asked++;
      await Bun.sleep(5);
      return { ...at, role: PANEL, name: "", bounds: undefined, has: () => false };
    },
  } as Pick<Search, "places" | "look"> as Search;
  const { windows, more, deaf } = await readTree({ ask, look }, {}, 5_000, place, 60);
  expect([more, deaf]).toEqual([true, []]);
  expect(windows[0]?.children).toHaveLength(1);
  expect(asked).toBeLessThan(50);
});

/** In which order elements are found in a program that does not search itself. */
import { expect, test } from "bun:test";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import { type Roots, search } from "../../../../src/host/desktop/elements/search";

const BUTTON = 43;
const PANEL = 39;
/** A window with a panel of two buttons, and a third after it. */
const CHILDREN: Readonly<Record<string, readonly string[]>> = { "/w": ["/p", "/3"], "/p": ["/1", "/2"] };

test("what something holds comes before what stands after it", async () => {
  const ref = (path: string) => ({ bus: ":1.5", path });
  const ask = {
    matches: async () => undefined,
    role: async ({ path }) => (path in CHILDREN ? PANEL : BUTTON),
    children: async ({ path }) => (CHILDREN[path] ?? []).map(ref),
  } as Pick<Accessibles, "matches" | "role" | "children"> as Accessibles;
  const { below } = search({} as Roots, ask);
  const program = { ref: ref("/"), name: "form", pid: 1 };
  const found = await below({ ref: ref("/w"), program, window: "Form" }, [BUTTON], 10);
  expect(found.map(({ path }) => path)).toEqual(["/1", "/2", "/3"]);
  expect(await below(ref("/w"), undefined, 10)).toEqual(["/p", "/1", "/2", "/3"].map(ref));
});

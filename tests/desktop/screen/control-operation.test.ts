/** The operation that gives control to a viewer. */
import { expect, test } from "bun:test";
import { OWNER } from "../../../src/core/rights";
import { controlScreen } from "../../../src/desktop/screen/operations";

test("a viewer whose caller has gone already is given no control", async () => {
  const took: string[] = [];
  const screens = {
    viewer: () => ({ token: OWNER.name }),
    take: async (id: string) => void took.push(id),
    release: async () => {},
  };
  const caller = {
    grant: OWNER,
    kind: "rest",
    client: null,
    gone: AbortSignal.abort(),
    signal: AbortSignal.any([]),
  };
  const run = controlScreen.run as (...args: unknown[]) => Promise<unknown>;
  const asked = run({ screens: async () => screens }, { viewer: "v", action: "take", run: "wait" }, caller);
  await expect(asked).rejects.toThrow("nobody waits for it any longer");
  expect(took).toEqual([]);
});

/** Looking for drift: which hosts are asked, when, and what is kept of it. */
import { expect, test } from "bun:test";
import { createDriftLooks } from "../../../../src/desk/plans/state/drift";
import type { PlanFate } from "../../../../src/desk/plans/state/kept";
import { silentLog } from "../../../../src/lib/log";
import { movableClock, until } from "../../../support";
import { host } from "../../fleet/support";

test("the last hosts of a plan are looked at soon after it is over, not an hour later", async () => {
  using clock = movableClock();
  const sent = { sha256: "a".repeat(64), on: "all", plan: "one", at: "", by: null };
  const fates = { of: { applied: 1, isOver: false } as PlanFate, open: new Set(["a"]) };
  const looks = createDriftLooks({
    states: {
      list: () => [{ name: "lab", planned: [], applied: [sent] }],
      settle: async () => false,
    },
    log: silentLog,
    book: async () => ({
      matching: async () => [host("a"), host("b")],
      reach: ({ base_url: url, token }) => ({ url, token, trust: { kind: "system" } }),
    }),
    fates: async () => ({ of: () => fates.of, open: () => fates.open }),
  });
  const labels = () =>
    looks
      .found()
      .get("lab")
      ?.hosts.map(({ label }) => label);
  await looks.look();
  expect(labels()).toEqual(["b"]);
  fates.of = { applied: 1, isOver: true };
  fates.open = new Set();
  await looks.lookIfDue();
  clock.advance(61_000);
  await looks.lookIfDue();
  await until("both hosts", () => labels()?.length === 2);
  await looks.stop();
});

/** What a standby makes of the ledger of its desk: nothing that may have run is sent again. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { openLedger } from "../../../src/desk/plans/ledger/ledger";
import { settleTakenOver } from "../../../src/desk/plans/move";
import { nextTurn, temporaryFolder, until } from "../../support";
import { type Fate, newPlan, plannedHosts, testFleet, testLedger, testRunner } from "./support";

/** The ledger at `path` as a standby has it that takes over. */
function takenOver(path: string) {
  const folder = temporaryFolder();
  const copy = join(folder.path, "plans.db");
  const from = new Database(path, { readonly: true });
  // As a snapshot has it: one state of the database.
  const content = from.serialize();
  from.close();
  content.fill(1, 18, 20);
  const coming = Database.deserialize(content);
  const notes = settleTakenOver(coming);
  writeFileSync(copy, coming.serialize(), { mode: 0o600 });
  coming.close();
  return { folder, copy, notes };
}

test("jobs that may have run are unknown, their plan waits for a person, and a broadcast has ended", () => {
  using made = testLedger();
  const { ledger } = made;
  const hosts = plannedHosts(4);
  const begin = (kind: "plan" | "broadcast") => {
    const { seq } = ledger.create(newPlan(hosts, { kind }), hosts, Date.now());
    ledger.apply(seq, null, Date.now());
    const step = (n: number, name: "send" | "run" | "ok") => ({ plan: seq, n, attempt: 0, step: name });
    ledger.commit(
      [
        { ...step(0, "send"), way: "job" },
        { ...step(1, "send"), way: "job" },
        step(1, "run"),
        { ...step(2, "send"), way: "job" },
        step(2, "ok"),
      ],
      Date.now(),
    );
    return seq;
  };
  const [plan, broadcast] = [begin("plan"), begin("broadcast")];
  const { folder, copy, notes } = takenOver(made.path);
  using _folder = folder;
  const next = openLedger(copy);
  const states = (seq: number) => next.targets(seq).map(({ state }) => state);
  expect(states(plan)).toEqual(["unknown", "unknown", "ok", "planned"]);
  expect(next.plan(plan)).toMatchObject({ state: "paused", ended: null });
  expect(states(broadcast)).toEqual(["unknown", "unknown", "ok", "cancelled"]);
  expect(next.plan(broadcast)).toMatchObject({ state: "cancelled", ended: expect.any(Number) });
  next.close();
  expect(notes).toEqual([
    "jobs that may have run, and are `unknown` here: 4",
    expect.stringContaining("svc plan resume"),
  ]);
});

test("whenever a desk dies, and however old the copy is, no host runs its job twice after the take-over", async () => {
  const fates = fc.array(fc.constantFrom<Fate>("ok", "failed", "slow"), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(fates, fc.nat({ max: 30 }), fc.nat({ max: 20 }), async (fate, copied, died) => {
      using made = testLedger();
      const fleet = testFleet((label) => fate[Number(label.slice(1))] ?? "ok");
      const hosts = plannedHosts(fate.length);
      const first = testRunner(made, { deliver: fleet.deliver });
      const { seq } = first.run(hosts, { max_parallel: 2 });
      for (let turn = 0; turn < copied; turn++) await nextTurn();
      const { folder, copy } = takenOver(made.path);
      using _folder = folder;
      // It goes on for a while: its standby knows nothing of that.
      for (let turn = 0; turn < died; turn++) await nextTurn();
      first.runner.stop();
      for (const answer of fleet.slow.values()) answer();
      await nextTurn();
      const next = openLedger(copy);
      const unknown = next.targets(seq, ["unknown"]).map(({ label }) => label);
      fleet.begun.length = 0;
      using second = testRunner({ ledger: next, path: copy }, { deliver: fleet.deliver });
      next.resume(seq);
      second.runner.run(seq);
      // Whatever is slow ends here.
      const ending = setInterval(() => {
        for (const answer of fleet.slow.values()) answer();
      }, 1);
      await Promise.race([
        second.runner.over(seq),
        until("what can be known", () => next.targets(seq, ["planned"]).length === 0),
      ]);
      clearInterval(ending);
      expect(fleet.begun.filter((label) => unknown.includes(label))).toEqual([]);
      expect([...fleet.ran.values()].filter(({ times }) => times > 1)).toEqual([]);
      second.runner.stop();
      next.close();
    }),
    { numRuns: 40 },
  );
}, 60_000);

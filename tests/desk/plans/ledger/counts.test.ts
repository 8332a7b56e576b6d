/** Counts of hosts that are kept, against what the file says. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Ledger, openLedger } from "../../../../src/desk/plans/ledger/ledger";
import { OPEN_STATES, STEPS, type StepName } from "../../../../src/desk/plans/plan";
import { newPlan, plannedHosts, testLedger } from "../support";

const counted = (ledger: Ledger, seq: number) => {
  const all: Record<string, number> = {};
  for (const { state } of ledger.targets(seq)) all[state] = (all[state] ?? 0) + 1;
  return all;
};

test("the counts of a plan are those of its hosts, whichever process has changed them", () => {
  const hosts = plannedHosts(3);
  const change = fc.oneof(
    ...(["pause", "resume", "cancel", "expire", "retry", "over"] as const).map(fc.constant),
    fc.record({
      n: fc.nat(2),
      step: fc.constantFrom(...(Object.keys(STEPS) as StepName[]).filter((name) => name !== "retry")),
    }),
  );
  const changes = fc.array(fc.tuple(change, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(changes, (all) => {
      using made = testLedger();
      const other = openLedger(made.path);
      try {
        const { seq } = made.ledger.create(newPlan(hosts), hosts, 0);
        made.ledger.apply(seq, null, 0);
        for (const [what, isOther, isRead] of all) {
          const ledger = isOther ? other : made.ledger;
          try {
            if (typeof what === "object") {
              const { attempt = 0 } = ledger.targets(seq)[what.n] ?? {};
              ledger.commit([{ plan: seq, attempt, ...what }], 1);
            } else if (what === "pause") ledger.pause(seq, "x");
            else if (what === "resume") ledger.resume(seq);
            else if (what === "cancel") ledger.cancel(seq, "x", 1);
            else if (what === "expire") ledger.expire(seq, Number.MAX_SAFE_INTEGER);
            else if (what === "retry") ledger.retry(seq, ["failed", "cancelled", "expired"], 1);
            else if (ledger.targets(seq, OPEN_STATES).length === 0)
              ledger.update(seq, ledger.plan(seq).revision, { ended: 1 });
          } catch {
            // Not in that state.
          }
          if (isRead) expect(made.ledger.counts(seq)).toEqual(counted(made.ledger, seq));
        }
        for (const ledger of [made.ledger, other]) expect(ledger.counts(seq)).toEqual(counted(ledger, seq));
      } finally {
        other.close();
      }
    }),
    { numRuns: 60 },
  );
});

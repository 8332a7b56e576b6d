/** Which plans are kept. */
import { expect, test } from "bun:test";
import type { Plan } from "../../src/plans/ledger";
import { plansToForget } from "../../src/plans/retention";

const DAY = 86_400_000;
const NOW = 1_000 * DAY;

const plan = (seq: number, more: Partial<Plan> = {}): Plan => ({
  ...({ seq, maker: null, hosts: 10, created: NOW - DAY, applied: NOW - DAY, ended: NOW - DAY } as Plan),
  ...more,
});
const forgotten = (plans: readonly Plan[], hosts = 10) =>
  plansToForget(plans, hosts, NOW).map(({ seq }) => seq);

test("old plans are forgotten, and never one that may still run", () => {
  const plans = [
    plan(1, { ended: NOW - 91 * DAY }),
    plan(2, { ended: null, created: NOW - 900 * DAY, applied: NOW - 900 * DAY }),
    plan(3, { ended: null, applied: null, created: NOW - 31 * DAY }),
    plan(4),
  ];
  expect(forgotten(plans)).toEqual([1, 3]);
});

test("the oldest plans of who has most make room for new ones", () => {
  const plans = Array.from({ length: 500 }, (_, at) => plan(at + 1, { maker: at < 5 ? "anna" : "ben" }));
  expect(forgotten(plans)).toEqual([6]);
  expect(forgotten([plan(1, { hosts: 600_000 }), plan(2, { hosts: 300_000 })], 200_000)).toEqual([1]);
});

test("nothing is forgotten where all plans run: there is no room for another", () => {
  const plans = Array.from({ length: 500 }, (_, at) => plan(at + 1, { ended: null }));
  expect(() => forgotten(plans)).toThrow("too many plans run already");
});

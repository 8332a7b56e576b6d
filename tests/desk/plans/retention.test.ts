/** Which plans are kept. */
import { expect, test } from "bun:test";
import type { Plan } from "../../../src/desk/plans/ledger/rows";
import { plansToForget } from "../../../src/desk/plans/retention";
import { specOf } from "./support";

const DAY = 86_400_000;
const NOW = 1_000 * DAY;

const plan = (seq: number, more: Partial<Plan> = {}): Plan => ({
  ...({ seq, maker: null, hosts: 10, created: NOW - DAY, applied: NOW - DAY, ended: NOW - DAY } as Plan),
  spec: specOf(10),
  ...more,
});
const broadcast = (seq: number, more: Partial<Plan> = {}): Plan =>
  plan(seq, { spec: specOf(10, { kind: "broadcast" }), ...more });
const forgotten = (plans: readonly Plan[], hosts = 10, kind: "plan" | "broadcast" = "plan", part?: true) =>
  plansToForget(plans, { kind, ...(part && { part }) }, hosts, (keptMs) => NOW - keptMs).map(
    ({ seq }) => seq,
  );

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

test("broadcasts push out no plan, and plans no broadcast", () => {
  const plans = Array.from({ length: 499 }, (_, at) => plan(at + 1));
  const broadcasts = Array.from({ length: 500 }, (_, at) => broadcast(at + 500, { hosts: 2_000 }));
  expect(forgotten([...plans, ...broadcasts], 2_000, "broadcast")).toEqual([500]);
  expect(forgotten([...plans, ...broadcasts])).toEqual([]);
  expect(forgotten([...plans, plan(2_000), ...broadcasts])).toEqual([1]);
});

test("parts of scripts push out each other, and no broadcast", () => {
  const broadcasts = Array.from({ length: 499 }, (_, at) => broadcast(at + 1));
  const parts = Array.from({ length: 500 }, (_, at) =>
    broadcast(at + 500, { spec: specOf(10, { kind: "broadcast", part: true }) }),
  );
  expect(forgotten([...broadcasts, ...parts], 1, "broadcast", true)).toEqual([500]);
  expect(forgotten([...broadcasts, ...parts], 1, "broadcast")).toEqual([]);
});

test("a broadcast that was never applied is forgotten after an hour", () => {
  const unbegun = (seq: number, minutes: number) =>
    broadcast(seq, { ended: null, applied: null, created: NOW - minutes * 60_000 });
  expect(forgotten([unbegun(1, 61), unbegun(2, 59)])).toEqual([1]);
});

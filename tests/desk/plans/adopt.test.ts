/** The plan of a desk that is gone goes on at another, from its ledger. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adoptPlan, copyLedger } from "../../../src/desk/plans/adopt";
import { openLedger } from "../../../src/desk/plans/ledger/ledger";
import { temporaryFolder } from "../../support";

const SPEC = {
  kind: "plan",
  on: "all",
  commands: ["AC_x"],
  waves: [1, 3],
  pause_s: 0,
  max_failures: 0,
  queue: true,
  max_parallel: 2,
  delivery_timeout_s: 1,
  timeout_s: 1,
  expires_s: 3_600,
} as unknown as Parameters<ReturnType<typeof openLedger>["create"]>[0]["spec"];

const made: Disposable[] = [];
afterEach(() => {
  for (const one of made.splice(0).reverse()) one[Symbol.dispose]();
});

function ledgers() {
  const folder = temporaryFolder();
  made.push(folder);
  const at = (name: string) => join(folder.path, name);
  const open = (name: string) => {
    const ledger = openLedger(at(name));
    made.push({ [Symbol.dispose]: () => ledger.close() });
    return ledger;
  };
  const [dead, own] = [open("dead.db"), open("own.db")];
  const hosts = ["a", "b", "c"].map((label) => ({ label, identity: `id-${label}` }));
  const plan = dead.create(
    { id: crypto.randomUUID(), digest: "d", content: "c", content_digest: "e", spec: SPEC, maker: "ann" },
    hosts,
    Date.now(),
  );
  const adopt = (file = at("dead.db"), token: string | null = null) =>
    adoptPlan(own, { file, copy: copyLedger(file, at("place")), folder: at("place") }, plan.id, token);
  return { ...{ dead, own, plan, adopt, at } };
}

test("it is here as it was there, with the rights of who took it over", () => {
  const { dead, own, plan, adopt } = ledgers();
  dead.apply(plan.seq, "ann", Date.now());
  dead.commit([{ plan: plan.seq, n: 0, attempt: 0, step: "send", way: "job" }], 1);
  const taken = adopt(undefined, "bob");
  const there = dead.plan(plan.seq);
  expect(taken).toEqual({ ...there, seq: taken.seq, maker: "bob", token: "bob", adopted: taken.adopted });
  expect(taken.adopted).toBeGreaterThan(there.adopted);
  expect(own.targets(taken.seq)).toEqual(dead.targets(plan.seq));
  expect(own.content(taken.seq)).toBe("c");
  expect(own.counts(taken.seq)).toEqual({ sent: 1, planned: 2 });
});

test("it can be taken over once", () => {
  const { dead, plan, adopt } = ledgers();
  dead.apply(plan.seq, null, Date.now());
  adopt();
  expect(() => adopt()).toThrow(`the plan ${plan.id} is here already`);
});

test("one that was never applied, or is over, needs nobody", () => {
  const { dead, plan, adopt } = ledgers();
  expect(() => adopt()).toThrow("was never applied");
  dead.apply(plan.seq, null, Date.now());
  dead.cancel(plan.seq, "enough", Date.now());
  expect(() => adopt()).toThrow("is cancelled, and over");
});

test("the ledger of the other desk stays as it is, and what is none is said to be none", () => {
  const { dead, plan, adopt, at } = ledgers();
  dead.apply(plan.seq, null, Date.now());
  writeFileSync(at("no.db"), "x".repeat(5_000));
  expect(() => adopt(at("no.db"))).toThrow("is not the ledger of a desk");
  expect(() => adopt(at("missing.db"))).toThrow("is not the ledger of a desk");
  const before = readFileSync(at("dead.db"));
  adopt();
  expect(readFileSync(at("dead.db")).equals(before)).toBe(true);
});

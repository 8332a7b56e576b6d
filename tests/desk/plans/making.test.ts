/** Plans with many hosts are made and forgotten in slices, by processes that know of each other by locks alone. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Host } from "../../../src/desk/fleet/host";
import { byLabel } from "../../../src/desk/plans/book-hosts";
import { type Ledger, openLedger } from "../../../src/desk/plans/ledger/ledger";
import { createMaking } from "../../../src/desk/plans/making";
import type { PlannedHost, Spec } from "../../../src/desk/plans/plan";
import { isLocked, tryLock } from "../../../src/lib/lock";
import { nextTurn } from "../../support";
import { plannedHosts, specOf, testLedger } from "./support";

const MANY = 20_000;

/** What a process has: its own ledger on the same file. */
function makingOn(
  path: string,
  ledger: Ledger,
  {
    goesOn = true,
    lockOf = (id: string) => join(dirname(path), "locks", `${id}.lock`),
    book = [] as readonly Host[],
  } = {},
) {
  const events: string[] = [];
  const making = createMaking({
    ledger,
    publish: (type) => void events.push(type.name),
    hostsNow: () => byLabel(book),
    lockOf,
    isLocked: (id) => isLocked(lockOf(id)),
    goesOn: () => goesOn,
  });
  const make = (hosts = plannedHosts(MANY), kind: Spec["kind"] = "broadcast") =>
    making.create("{}", "digest", { ...specOf(hosts.length), kind }, hosts, null);
  return { ...making, make, events, lockOf };
}

const locksOf = (path: string) => {
  const folder = join(dirname(path), "locks");
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe("a plan with many hosts", () => {
  test("is not taken for left over while it is written, and its lock is free once it is there", async () => {
    using made = testLedger();
    const other = openLedger(made.path);
    const first = makingOn(made.path, made.ledger);
    const second = makingOn(made.path, other);
    const writing = first.make();
    let isDone = false;
    void writing.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await second.removeUnfinished();
      await nextTurn();
    }
    const { seq, id } = await writing;
    expect(other.counts(seq)).toEqual({ planned: MANY });
    expect(isLocked(first.lockOf(id))).toBe(false);
    expect(first.events).toEqual(["plan.created"]);
    other.close();
  });

  test("is made beside another one at the same time", async () => {
    using made = testLedger();
    const { make } = makingOn(made.path, made.ledger);
    const plans = await Promise.all([make(), make(plannedHosts(MANY, "g"))]);
    for (const [nth, { seq }] of plans.entries()) {
      expect(made.ledger.counts(seq)).toEqual({ planned: MANY });
      const labels = new Set(made.ledger.targets(seq).map(({ label }) => label.charAt(0)));
      expect([...labels]).toEqual([nth === 0 ? "h" : "g"]);
    }
  });

  test("has its hosts under the labels that they got while it was made, and its digest those before", async () => {
    using made = testLedger();
    const { make, renamed } = makingOn(made.path, made.ledger);
    const rename = (identity: string, from: string, to: string) => {
      renamed(identity, from, to);
      made.ledger.rename(identity, from, to);
    };
    const last = `h${MANY - 1}`;
    const writing = make();
    // While its digest is made: one of them twice, and one that gets its own label again.
    rename("id-h1", "h1", "a");
    rename("id-h1", "a", "b");
    rename("id-h2", "h2", "c");
    rename("id-h2", "c", "h2");
    while (made.ledger.targets(1).length === 0) await nextTurn();
    // While it is written: one that is, and one that is not yet.
    rename("id-h0", "h0", "first");
    rename(`id-${last}`, last, "last");
    const { seq } = await writing;
    const labels = made.ledger.targets(seq).map(({ label }) => label);
    expect([0, 1, 2, 3, MANY - 1].map((n) => labels[n])).toEqual(["first", "b", "h2", "h3", "last"]);
    const planned = [...made.ledger.plannedLabels(seq)].toSorted(([a], [b]) => a - b);
    expect(planned).toEqual([
      [0, "h0"],
      [1, "h1"],
      [MANY - 1, last],
    ]);
  });

  test("has hosts that were renamed since they were selected under their labels of now, and each of them once", async () => {
    using made = testLedger();
    const hosts = plannedHosts(MANY);
    const at = ({ label, identity: base_url }: PlannedHost): Host => ({
      label,
      base_url,
      tags: [],
      token: undefined,
    });
    const selected = [...hosts, { label: "same", identity: "id-h7" }];
    const book = hosts.flatMap((host, n): Host[] => {
      if (n === 1) return [at({ ...host, label: "b" })];
      // The label of another one, which is gone; and those of two that have changed theirs.
      if (n === 2) return [];
      if (n === 3) return [at({ ...host, label: "h2" })];
      if (n === 4 || n === 5) return [at({ ...host, label: `h${9 - n}` })];
      // Two hosts, and one that was selected twice.
      if (n === 6) return ["c", "d"].map((label) => at({ ...host, label }));
      return n === 7 ? [at({ ...host, label: "same" })] : [at(host)];
    });
    const { make, renamed } = makingOn(made.path, made.ledger, { book });
    const writing = make(selected, "plan");
    // While it is made: one that had another label before.
    renamed("id-h1", "b", "e");
    made.ledger.rename("id-h1", "b", "e");
    const { seq } = await writing;
    const labels = made.ledger.targets(seq).map(({ label }) => label);
    expect(labels.slice(0, 9)).toEqual(["h0", "e", "h2", "h2", "h5", "h4", "h6", "h7", "h8"]);
    expect(labels.slice(9)).toEqual(selected.slice(9).map(({ label }) => label));
    const planned = [...made.ledger.plannedLabels(seq)].toSorted(([a], [b]) => a - b);
    expect(planned).toEqual([
      [1, "h1"],
      [3, "h3"],
      [4, "h4"],
      [5, "h5"],
    ]);
  });

  test("is not written where its lock is another's: it would be taken for left over", async () => {
    using made = testLedger();
    const path = join(dirname(made.path), "taken.lock");
    const release = tryLock(path);
    const { make } = makingOn(made.path, made.ledger, { lockOf: () => path });
    await expect(make()).rejects.toThrow("cannot be locked");
    release?.();
    expect(made.ledger.plans()).toEqual([]);
    expect(made.ledger.targets(1)).toEqual([]);
  });

  test("is not begun where there is no room for it", async () => {
    using made = testLedger();
    let begun = 0;
    const createInSlices: Ledger["createInSlices"] = (...given) => {
      begun++;
      return made.ledger.createInSlices(...given);
    };
    const { make } = makingOn(made.path, { ...made.ledger, createInSlices });
    const [host] = plannedHosts(1);
    if (!host) throw new Error("no host");
    await expect(make(new Array(1_000_001).fill(host))).rejects.toThrow("too many broadcasts");
    expect(begun).toBe(0);
  });

  test("leaves neither hosts nor a lock where its process stops meanwhile, once another one has looked", async () => {
    using made = testLedger();
    const closing = openLedger(made.path);
    const writing = makingOn(made.path, closing).make();
    writing.catch(() => {});
    // It has begun once its lock is there.
    while (locksOf(made.path).length === 0) await nextTurn();
    closing.close();
    await expect(writing).rejects.toThrow("svc has stopped while the plan was written");
    const next = makingOn(made.path, made.ledger);
    await next.removeUnfinished();
    expect(made.ledger.plans()).toEqual([]);
    expect(made.ledger.targets(1)).toEqual([]);
    expect(locksOf(made.path)).toEqual([]);
  });

  for (const goesOn of [true, false])
    test(`is forgotten ${goesOn ? "soon" : "at once"} by a process that ${goesOn ? "goes on" : "ends with its answer"}`, async () => {
      using made = testLedger();
      const { make, forget, removeUnfinished, events } = makingOn(made.path, made.ledger, { goesOn });
      const plan = await make();
      expect(forget([plan])).toBe(1);
      expect(events).toEqual(["plan.created", "plan.removed"]);
      expect(made.ledger.plans()).toEqual([]);
      expect(made.ledger.targets(plan.seq).length > 0).toBe(goesOn);
      await removeUnfinished();
      expect(made.ledger.targets(plan.seq)).toEqual([]);
      expect(locksOf(made.path)).toEqual([]);
    });
});

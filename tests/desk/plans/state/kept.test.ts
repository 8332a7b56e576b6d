/** The states that a desk has applied: which counts for which host, and that none is lost. */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createFleetStates, type PlanFate, type SentToHosts } from "../../../../src/desk/plans/state/kept";
import { unavailable } from "../../../../src/lib/errors";
import { silentLog } from "../../../../src/lib/log";
import { temporaryFolder } from "../../../support";

const [OLD, NEW] = ["a".repeat(64), "b".repeat(64)];

/** States in a folder of their own, whose plans are what `fates` says. */
function testStates() {
  const folder = temporaryFolder();
  const fates = new Map<string, PlanFate>();
  const place = { file: join(folder.path, "fleet_states.json"), lock: join(folder.path, "states.lock") };
  let fault: Error | undefined;
  let applied = 0;
  const states = createFleetStates(place, silentLog, async () => ({
    of(plan) {
      if (fault) throw fault;
      return fates.get(plan) ?? "gone";
    },
    open: () => new Set(),
  }));
  const removed: string[] = [];
  return {
    ...{ states, fates, removed, file: place.file },
    fail(error?: Error) {
      fault = error;
    },
    /** Makes a plan of that id. */
    plan(id: string, on: string, sha256 = OLD, name = "lab", made: () => unknown = () => {}) {
      const sent = { sha256, on, at: "2026-11-29T00:00:00.000Z", by: null };
      const create = async () => {
        fates.set(id, "new");
        await made();
        return { id };
      };
      return states.plan(name, sent, { create, remove: (one) => void removed.push(one.id) });
    },
    apply: (id: string) => fates.set(id, { applied: ++applied, isOver: true }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const plansOf = (all: readonly SentToHosts[] | undefined) => all?.map(({ plan }) => plan);

describe("a state that was applied to a selection of hosts", () => {
  test("still counts where a later plan is for fewer of them", async () => {
    using made = testStates();
    await made.plan("one", "tag:lab");
    made.apply("one");
    await made.plan("two", "lab-07", NEW);
    made.apply("two");
    const [state] = await made.states.current();
    expect(state?.applied.map(({ on, sha256 }) => [on, sha256])).toEqual([
      ["tag:lab", OLD],
      ["lab-07", NEW],
    ]);
  });

  test("counts no more where a later one is for the same hosts, or for all", async () => {
    using made = testStates();
    for (const [id, on] of [
      ["one", "tag:lab"],
      ["two", "lab-07"],
      ["three", "tag:lab"],
    ] as const) {
      await made.plan(id, on);
      made.apply(id);
    }
    expect(plansOf((await made.states.current())[0]?.applied)).toEqual(["two", "three"]);
    await made.plan("four", "all");
    made.apply("four");
    expect(plansOf((await made.states.current())[0]?.applied)).toEqual(["four"]);
  });

  test("becomes one with others of the same content where it goes to many hosts one by one, and then is refused", async () => {
    using made = testStates();
    await made.plan("first", "tag:lab,!lab-00", NEW);
    made.apply("first");
    for (let nth = 0; nth < 40; nth++) {
      await made.plan(`plan-${nth}`, `lab-${nth}`);
      made.apply(`plan-${nth}`);
    }
    await made.states.settle();
    const [state] = made.states.list();
    expect(state?.applied.length).toBeLessThanOrEqual(21);
    expect(new Set(state?.applied.flatMap(({ on }) => on.split(","))).size).toBe(42);
    expect(state?.applied[0]).toMatchObject({ on: "tag:lab,!lab-00", sha256: NEW });
    const left = 100 - (state?.applied.length ?? 0);
    for (let nth = 0; nth < left; nth++) await made.plan(`waiting-${nth}`, `shop-${nth}`);
    await expect(made.plan("more", "elsewhere")).rejects.toThrow("apply it to all of its hosts at once");
    await made.plan("all", "all");
  });
});

describe("no state is lost", () => {
  test("where a plan is made before another one, that runs, was noted", async () => {
    using made = testStates();
    await made.plan("one", "tag:lab");
    made.apply("one");
    await made.plan("two", "tag:lab", NEW);
    expect(made.states.list()).toMatchObject([{ planned: [{ plan: "two" }], applied: [{ plan: "one" }] }]);
  });

  test("where its plan is forgotten to make room for the next one", async () => {
    using made = testStates();
    await made.plan("one", "tag:lab");
    made.apply("one");
    await made.plan("two", "tag:lab", NEW, "lab", () => made.fates.delete("one"));
    expect(made.states.list()).toMatchObject([{ planned: [{ plan: "two" }], applied: [{ plan: "one" }] }]);
  });

  test("where of two plans the older one is applied", async () => {
    using made = testStates();
    await made.plan("one", "tag:lab");
    await made.plan("two", "tag:lab", NEW);
    made.apply("one");
    expect(await made.states.current()).toMatchObject([{ applied: [{ plan: "one" }] }]);
    made.apply("two");
    expect(await made.states.current()).toMatchObject([{ planned: [], applied: [{ plan: "two" }] }]);
  });

  test("while nobody can read what became of its plan", async () => {
    using made = testStates();
    await made.plan("one", "tag:lab");
    made.fail(unavailable("plans.db is busy"));
    await expect(made.states.settle()).rejects.toThrow("plans.db is busy");
    await expect(made.states.current()).rejects.toThrow("plans.db is busy");
    made.fail();
    made.apply("one");
    expect(await made.states.settle()).toBe(true);
    expect(made.states.list()).toMatchObject([{ planned: [], applied: [{ plan: "one" }] }]);
  });
});

test("a state none of whose plans was applied goes with the last of them, and takes no room", async () => {
  using made = testStates();
  await made.plan("one", "tag:lab");
  made.fates.delete("one");
  expect(await made.states.current()).toEqual([]);
  expect(await made.states.settle()).toBe(false);
  expect(made.states.list()).toEqual([]);
});

test("states change while the plan of another one is written, which has no room afterwards where they took it", async () => {
  using made = testStates();
  const written = Promise.withResolvers<void>();
  const long = made.plan("long", "all", OLD, "lab", () => written.promise);
  for (let nth = 0; nth < 99; nth++) await made.plan(`plan-${nth}`, "all", OLD, `state-${nth}`);
  const late = made.plan("late", "all", OLD, "late", () => written.promise);
  written.resolve();
  const [first, second] = await Promise.allSettled([long, late]);
  expect([first.status, second.status].toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(made.states.list()).toHaveLength(100);
  expect(made.removed).toHaveLength(1);
});

describe("no plan is left that nobody watches:", () => {
  test("none is made where there are too many states", async () => {
    using made = testStates();
    for (let nth = 0; nth < 100; nth++) await made.plan(`plan-${nth}`, "all", OLD, `state-${nth}`);
    await expect(made.plan("more", "all", OLD, "more")).rejects.toThrow("there are already 100 states");
    expect(made.fates.has("more")).toBe(false);
    // One that is gone makes room.
    made.fates.delete("plan-3");
    await made.plan("more", "all", OLD, "more");
    expect(made.states.list()).toHaveLength(100);
  });

  test("one that cannot be noted is taken back", async () => {
    using made = testStates();
    const broken = made.plan("one", "all", OLD, "lab", () => mkdirSync(made.file));
    await expect(broken).rejects.toThrow();
    expect(made.removed).toEqual(["one"]);
  });
});

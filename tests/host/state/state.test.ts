/** A state of a desk's file on the host that has it: what is refused before anything changes, and what is changed as a whole. */
import { describe, expect, spyOn, test } from "bun:test";
import * as v from "valibot";
import type { NewScript } from "../../../src/host/runs/stored-scripts";
import { STATE_COMPARISON } from "../../../src/wire/state/messages";
import { nextTurn } from "../../support";
import { calling, many, SLEEP, stateHost } from "./support";

const HOURLY = { script_path: "/srv/own.json", interval_seconds: 3_600 };
const NIGHTLY = { script_path: "/srv/own.json", cron_expression: "30 2 * * *", time_zone: "Europe/Berlin" };

/** A script of the host's own. */
const own = (name: string): NewScript => ({
  ...{ name, actions: SLEEP, parameters: [], stop_on_error: true, timeout_s: 60 },
});

const NOTHING = { scripts: [], jobs: [] };

describe("scripts that call each other", () => {
  test("are stored together, in whichever order the file has them", async () => {
    await using host = stateHost();
    const state = {
      name: "lab",
      scripts: { main: { actions: calling("helper") }, helper: { actions: SLEEP } },
    };
    const { changed } = await host.apply(state);
    expect(changed.map(({ name, change }) => [name, change])).toEqual([
      ["main", "added"],
      ["helper", "added"],
    ]);
    expect(await host.compare(state)).toMatchObject({ drift: false });
    // Also where both get another name at once.
    const renamed = { main2: { actions: calling("helper2") }, helper2: { actions: SLEEP } };
    await host.apply({ name: "lab", prune: true, scripts: renamed });
    expect(await host.names()).toEqual({ scripts: ["main2", "helper2"], jobs: [] });
  });

  test("may call what the host has stored", async () => {
    await using host = stateHost();
    await (await host.service.storedScripts()).add(own("own"), false);
    await host.apply({ name: "lab", scripts: { main: { actions: calling("own") } } });
    expect((await host.names()).scripts).toEqual(["own", "main"]);
  });

  test("are refused before anything changes where one calls what will not be there", async () => {
    await using host = stateHost();
    const state = {
      name: "lab",
      scripts: { first: { actions: SLEEP }, main: { actions: calling("gone") } },
      jobs: { first: { script: "first", interval_seconds: 60 } },
    };
    await expect(host.apply(state)).rejects.toThrow("scripts.main: actions[0].path: no script is named gone");
    expect(await host.names()).toEqual(NOTHING);
    expect(await host.states()).toEqual([]);
  });

  test("are refused where one that stays calls one that is to be removed", async () => {
    await using host = stateHost();
    const main = { actions: calling("helper") };
    await host.apply({ name: "lab", scripts: { main, helper: { actions: SLEEP } } });
    await expect(host.apply({ name: "lab", prune: true, scripts: { main } })).rejects.toThrow(
      "scripts.main: actions[0].path: the script helper is to be removed",
    );
    expect((await host.names()).scripts).toEqual(["main", "helper"]);
  });

  test("may call themselves under a condition, also when they are new", async () => {
    await using host = stateHost();
    const again = ["AC_if_var", { name: "n", value: 1, then: [], else: calling("again") }];
    const actions = [["AC_set_var", ["n", 0]], again];
    await host.apply({ name: "lab", scripts: { again: { actions } } });
    expect((await host.names()).scripts).toEqual(["again"]);
  });
});

describe("a state with a thousand jobs", () => {
  test("is compared with the jobs as they were read once, and others have their turn meanwhile", async () => {
    await using host = stateHost();
    const state = { name: "lab", jobs: many(1_000, "job", NIGHTLY) };
    await host.apply(state);
    const scheduler = await host.service.scheduler();
    using jobs = spyOn(scheduler, "jobs");
    const other = { name: "lab", jobs: many(1_000, "job", { ...NIGHTLY, cron_expression: "31 2 * * *" }) };
    let [turns, isOver] = [0, false];
    const counting = (async () => {
      for (; !isOver; turns++) await nextTurn();
    })();
    const { differences } = await host.compare(other);
    isOver = true;
    await counting;
    expect(differences).toHaveLength(1_000);
    expect(jobs).toHaveBeenCalledTimes(1);
    // Reading what is asked is one turn; a thousand cron expressions are many.
    expect(turns).toBeGreaterThan(5);
  }, 60_000);

  test("is applied in one change of the file of jobs", async () => {
    await using host = stateHost();
    const scheduler = await host.service.scheduler();
    await scheduler.jobs();
    const { store } = spyOnChanges(scheduler);
    await host.apply({ name: "lab", jobs: many(300, "job", HOURLY) });
    await host.apply({ name: "lab", prune: true, jobs: many(300, "other", HOURLY) });
    expect((await host.names()).jobs).toHaveLength(300);
    expect(store).toHaveBeenCalledTimes(2);
  });
});

/** Counts the changes of the file of jobs. */
function spyOnChanges(scheduler: object) {
  const { list } = scheduler as { readonly list: { change(edit: unknown): unknown } };
  return { store: spyOn(list, "change") };
}

describe("pruning", () => {
  test("removes all that the file had, however much that was", async () => {
    await using host = stateHost();
    await host.apply({
      name: "lab",
      scripts: many(200, "script", { actions: SLEEP }),
      jobs: many(500, "job", HOURLY),
    });
    const empty = { name: "lab", prune: true };
    expect((await host.compare(empty)).differences).toHaveLength(700);
    expect((await host.apply(empty)).changed).toHaveLength(700);
    expect(await host.names()).toEqual(NOTHING);
  }, 60_000);

  test("lists only some of what no state manages", async () => {
    await using host = stateHost();
    await host.apply({ name: "other", jobs: many(600, "other", HOURLY) });
    await host.apply({ name: "lab", jobs: many(300, "job", HOURLY) });
    const { differences } = await host.compare({ name: "lab", prune: true });
    expect(Map.groupBy(differences, ({ by }) => by).get("prune")).toHaveLength(300);
    expect(Map.groupBy(differences, ({ by }) => by).get("nothing")).toHaveLength(500);
  });

  test("makes room: as many scripts as a host keeps may get other names at once, with the jobs that run them", async () => {
    await using host = stateHost();
    const state = (prefix: string) => ({
      ...{ name: "lab", prune: true, scripts: many(120, prefix, { actions: SLEEP }) },
      jobs: { nightly: { script: `${prefix}-7`, interval_seconds: 3_600 } },
    });
    await host.apply(state("old"));
    await host.apply(state("new"));
    const { scripts, jobs } = await host.names();
    expect([scripts.length, scripts.every((name) => name.startsWith("new-"))]).toEqual([120, true]);
    expect(jobs).toEqual(["nightly"]);
    expect((await host.states()).map(({ managed }) => managed.scripts.length)).toEqual([120]);
  });

  test("leaves alone what is here under a name that the file once had, and somebody has removed and put there anew", async () => {
    await using host = stateHost();
    await host.apply({ name: "lab", scripts: { once: { actions: SLEEP } } });
    const stored = await host.service.storedScripts();
    await stored.remove("once");
    await host.apply({ name: "lab" });
    await stored.add(own("once"), false);
    await host.apply({ name: "lab", prune: true });
    expect((await host.names()).scripts).toEqual(["once"]);
  });
});

describe("what there is no room for is refused before anything changes", () => {
  test("scripts", async () => {
    await using host = stateHost();
    const stored = await host.service.storedScripts();
    await stored.change(
      Array.from({ length: 150 }, (_, n) => own(`own-${n}`)),
      [],
    );
    const state = {
      ...{ name: "lab", settings: { "diagnose.skip": ["mouse"] }, jobs: { hourly: HOURLY } },
      scripts: many(51, "script", { actions: SLEEP }),
    };
    await expect(host.apply(state)).rejects.toThrow("there would be 201 scripts, and 200 are the limit");
    expect((await host.names()).scripts).toHaveLength(150);
    expect((await host.service.settings()).get("diagnose.skip")).toEqual([]);
    expect(await host.states()).toEqual([]);
  });

  test("jobs of a named token, which leaves some to others", async () => {
    await using host = stateHost();
    const desk = await host.token("desk", "read", "operate", "admin");
    const state = (count: number, prefix = "job") => ({
      ...{ name: "lab", scripts: { own: { actions: SLEEP } }, prune: true },
      jobs: many(count, prefix, HOURLY),
    });
    await expect(host.apply(state(600), desk)).rejects.toThrow("the token desk has 500 jobs already");
    expect(await host.names()).toEqual(NOTHING);
    await host.apply(state(400), desk);
    await host.apply(state(400, "other"), desk);
    expect((await host.names()).jobs).toHaveLength(400);
  }, 60_000);
});

describe("an answer about drift", () => {
  test("has what is drift, and nothing that is there besides", async () => {
    await using host = stateHost();
    await (await host.service.storedScripts()).add(own("own"), false);
    const state = { name: "lab", scripts: { main: { actions: SLEEP } }, jobs: { hourly: HOURLY } };
    await host.apply(state);
    expect(await host.drift(state)).toMatchObject({ drift: false, differences: [], count: 0 });
    await (await host.service.scheduler()).remove("hourly");
    expect(await host.drift(state)).toMatchObject({
      ...{ drift: true, count: 1 },
      differences: [{ kind: "job", name: "hourly", state: "missing" }],
    });
  });

  test("is short however much has drifted, and says how much that is", async () => {
    await using host = stateHost();
    const state = { name: "lab", jobs: many(900, "job", HOURLY) };
    await host.apply(state);
    await (await (await host.service.scheduler()).prepare([], Object.keys(state.jobs)))();
    const found = await host.drift(state);
    expect([found.count, JSON.stringify(found).length < 64 * 1_024]).toEqual([900, true]);
    expect(v.is(STATE_COMPARISON, found)).toBe(true);
  });
});

describe("messages", () => {
  const [difference] = [
    {
      ...{ kind: "job", name: "hourly", state: "differs", by: "apply", drift: true },
      ...{ found: "repeat", wanted: "as the file says" },
    },
  ] as const;
  const answer = (more: object, count = 1) => ({
    ...{ name: "lab", drift: true, applied: null },
    differences: Array.from({ length: count }, () => ({ ...difference, ...more })),
  });

  test("are taken from a host of before, which does not count", () => {
    expect(v.is(STATE_COMPARISON, answer({}))).toBe(true);
  });

  test.each([
    ["a name", answer({ name: "x".repeat(300) })],
    ["what is there", answer({ found: "x".repeat(3_000) })],
    ["what should be", answer({ wanted: "x".repeat(3_000) })],
    ["the list", answer({}, 5_001)],
  ])("of a host are bounded: %s", (_what, given) => {
    expect(v.is(STATE_COMPARISON, given)).toBe(false);
  });
});

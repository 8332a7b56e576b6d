/** Plans as their callers make, apply and see them. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { type Grant, OWNER, type Scope } from "../../../src/core/rights";
import { broadcastExecute } from "../../../src/desk/fleet/operations/fleet";
import { openLedger } from "../../../src/desk/plans/ledger/ledger";
import { cancelPlan, pausePlan, removePlan } from "../../../src/desk/plans/operations/change";
import { listPlans, showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan, resumePlan, retryPlan } from "../../../src/desk/plans/operations/run";
import { viewOf } from "../../../src/desk/plans/view";
import { filterOf } from "../../../src/events/filter";
import { tryLock } from "../../../src/lib/lock";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { post, temporaryFolder, testServer, until } from "../../support";
import { host } from "../fleet/support";
import { newPlan as newPlanOf, plannedHosts, specOf } from "./support";

/** A desk with hosts, and who calls there. */
async function desk(labels: readonly string[] = ["a", "b"]) {
  const [here, there] = [await testServer(), await testServer()];
  const book = await here.service.addressBook();
  await book.addAll(
    labels.map((label) => host(label, label.startsWith("dead") ? undefined : there.server.url)),
    false,
  );
  const { service } = here;
  const as = (name: string | null, ...scopes: Scope[]) => {
    const caller = localCaller(service, "api", { grant: { name, scopes } });
    return {
      make: (more: object = {}) =>
        callOperation(service, newPlan, { actions: [["AC_rest_api_status"]], on: "all", ...more }, caller),
      apply: (id: string, digest: string, more: object = {}) =>
        callOperation(service, applyPlan, { id, digest, ...more }, caller),
      show: (id: string, more: object = {}) => callOperation(service, showPlan, { id, ...more }, caller),
      list: (input: object = {}) => callOperation(service, listPlans, input, caller),
      pause: (id: string) => callOperation(service, pausePlan, { id }, caller),
      resume: (id: string) => callOperation(service, resumePlan, { id }, caller),
      cancel: (id: string) => callOperation(service, cancelPlan, { id }, caller),
      remove: (id: string) => callOperation(service, removePlan, { id }, caller),
      retry: (id: string, ...state: string[]) => callOperation(service, retryPlan, { id, state }, caller),
    };
  };
  return {
    ...{ here, there, as, owner: as(null, "admin") },
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

test("a server whose plans.db is broken starts, says so, and goes on with its plans once it can", async () => {
  const lines: string[] = [];
  await using here = await testServer({
    service: { log: { ...silentLog, error: (text) => lines.push(text) } },
  });
  const { plans } = configFiles(here.configDir);
  writeFileSync(plans, "no database ".repeat(100));
  await here.service.runJobs();
  const line = "not every plan was taken over: plans.db is not a database: ";
  await until("it is logged", () => lines.some((text) => text.startsWith(line)));
  using folder = temporaryFolder();
  const backup = join(folder.path, "plans.db");
  const former = openLedger(backup);
  const hosts = plannedHosts(1);
  const { seq } = former.create(newPlanOf(hosts), hosts, Date.now());
  former.apply(seq, null, Date.now());
  // As a backup of a person is made (https://www.sqlite.org/lang_vacuum.html#vacuuminto): the whole in one file.
  new Database(backup).run("VACUUM INTO ?", [join(folder.path, "whole.db")]);
  former.close();
  copyFileSync(join(folder.path, "whole.db"), plans);
  const ledger = openLedger(plans);
  await until("it is over", () => ledger.counts(seq).refused);
  ledger.close();
});

describe("a plan", () => {
  test("says that nobody runs it where its process has ended", async () => {
    await using made = await desk();
    const { owner, here } = made;
    const { id, digest } = await owner.make();
    const stalled = async () => (await owner.list()).plans.map((plan) => plan.stalled);
    expect(await stalled()).toEqual([false]);
    const plans = await here.service.plans();
    plans.apply(plans.ledger.find(id), digest, null);
    expect(await stalled()).toEqual([true]);
    const release = tryLock(join(here.configDir, "run", "plans", `${id}.lock`));
    expect(await stalled()).toEqual([false]);
    release?.();
    expect((await owner.apply(id, digest)).stalled).toBe(false);
  });

  test("is answered with some of its many hosts where it has only begun, and with all of them once it is over", async () => {
    await using made = await desk(Array.from({ length: 1_001 }, (_, nth) => `dead-${nth}`));
    const { owner, here } = made;
    await here.service.runJobs();
    const { id, digest } = await owner.make();
    const begun = await owner.apply(id, digest);
    expect([begun.total, begun.targets.length]).toEqual([1_001, 1_000]);
    const second = await owner.make();
    const over = await owner.apply(second.id, second.digest, { wait: true });
    expect([over.state, over.targets.length]).toEqual(["done", 1_001]);
  });

  test("runs nothing before it is applied, and then on each host what its digest stands for", async () => {
    await using made = await desk(["a", "b", "dead"]);
    const { owner, there, here } = made;
    const { id, digest, ...plan } = await owner.make({ waves: [1, "100%"] });
    expect(plan).toEqual({
      hosts: ["a", "b", "dead"],
      waves: [1, 3],
      commands: ["AC_rest_api_status"],
      refusing: [],
    });
    expect((await there.service.runs()).list()).toEqual([]);
    expect(await owner.show(id)).toMatchObject({ state: "new", counts: { planned: 3 }, applied: null });
    const other = "0".repeat(64);
    await expect(owner.apply(id, other)).rejects.toThrow(`digest: ${other} is not that of the plan ${id}`);
    const rows = async () => (await here.call("/audit/list")).text();
    expect(await rows()).toContain(`plan.apply id=${id} digest=${other}`);
    expect(await rows()).not.toContain(digest);
    const done = await owner.apply(id.slice(0, 8), digest);
    expect(done).toMatchObject({
      ...{ id, state: "done", counts: { ok: 2, unreachable: 1 }, total: 3 },
      targets: [
        { label: "a", wave: 1, state: "ok", run_id: expect.any(String) },
        { label: "b", wave: 2, state: "ok" },
        { label: "dead", wave: 2, state: "unreachable", error: "connection refused" },
      ],
    });
    await expect(owner.apply(id, digest)).rejects.toThrow(`the plan ${id} is done`);
    expect(await (await here.call("/audit/list")).text()).toContain(
      `plan.apply id=${id} digest=${digest} hosts=3`,
    );
    expect((await owner.show(id, { only: ["unreachable"] })).targets).toMatchObject([{ label: "dead" }]);
    expect((await owner.show(id, { only: ["none"] })).targets).toEqual([]);
    const first = await owner.show(id, { limit: 1 });
    expect(first.targets).toMatchObject([{ label: "a" }]);
    expect(first.wave_counts).toEqual([{ ok: 1 }, { ok: 1, unreachable: 1 }]);
  });

  test("shows all that its digest stands for, without secrets", async () => {
    await using made = await desk(["a", "b", "c"]);
    const actions = [
      ["AC_set_var", { name: "n", value: "hush" }],
      [
        "AC_loop",
        {
          times: 2,
          body: [
            ["AC_sleep", [0.5]],
            ["AC_rest_api_status", { as: "status" }],
          ],
        },
      ],
    ];
    const { id } = await made.owner.make({ actions, waves: ["1", "2"], pause_s: 60, max_failures: 1 });
    expect(await made.owner.show(id)).toMatchObject({
      ...{ state: "new", wave: 0, waves: [1, 2, 3], next_wave: null, pause_s: 60, max_failures: 1 },
      ...{
        max_parallel: null,
        expires_s: 86_400,
        delivery_timeout_s: 10,
        timeout_s: 300,
        stop_on_error: false,
      },
      ...{ scope: null, files: [] },
      actions: [
        ["AC_set_var", { name: "n", value: "***" }],
        [
          "AC_loop",
          {
            times: 2,
            body: [
              ["AC_sleep", { seconds: 0.5 }],
              ["AC_rest_api_status", { as: "status" }],
            ],
          },
        ],
      ],
    });
  });

  test("is refused as a broadcast is: wrong actions, no hosts, a share that is none", async () => {
    await using made = await desk();
    const refused = [
      [{ actions: [["AC_nope"]] }, "unknown command AC_nope"],
      [{ on: "tag:none" }, "on: no host is tagged none"],
      [{ waves: ["half"] }, "waves[0]: expected a number, or a share such as 10%"],
      [{ expires_s: 0 }, "expires_s: expected at least 1"],
    ] as const;
    for (const [more, message] of refused) await expect(async () => made.owner.make(more)).toThrow(message);
  });

  test("is paused, resumed, cancelled and retried", async () => {
    await using made = await desk(["dead-1", "a"]);
    const { owner } = made;
    const { id, digest } = await owner.make({ max_failures: 0, waves: ["1"] });
    const paused = await owner.apply(id, digest);
    expect(paused).toMatchObject({
      state: "paused",
      reason: "1 failed, more than 0",
      counts: { planned: 1 },
    });
    expect(await owner.resume(id)).toMatchObject({ state: "done", counts: { unreachable: 1, ok: 1 } });
    await expect(owner.pause(id)).rejects.toThrow(
      `the plan ${id} is done: only one that is running can be paused`,
    );
    expect(await owner.retry(id, "unreachable")).toMatchObject({
      ...{ state: "done", counts: { unreachable: 1, ok: 1 } },
    });
    await expect(owner.retry(id, "failed")).rejects.toThrow("has no host that is failed");
    await expect(owner.cancel(id)).rejects.toThrow(`the plan ${id} is done`);
    const other = await owner.make();
    expect(await owner.cancel(other.id)).toMatchObject({ state: "cancelled", reason: "by the owner" });
    await expect(owner.show("nope")).rejects.toThrow("there is no plan nope");
  });

  test("belongs to the token that made it: others neither see nor apply it, the owner does", async () => {
    await using made = await desk();
    const [anna, ben] = [made.as("anna", "operate"), made.as("ben", "operate")];
    await expect(anna.make({ actions: [["AC_config_export"]] })).rejects.toThrow(
      "AC_config_export needs admin",
    );
    const { id, digest } = await anna.make({ actions: [["AC_sleep", [0]]] });
    for (const call of [() => ben.show(id), () => ben.apply(id, digest), () => ben.cancel(id)])
      await expect(async () => call()).toThrow(`there is no plan ${id}`);
    expect(await ben.list()).toEqual({ plans: [] });
    expect(await made.owner.list()).toMatchObject({ plans: [{ id, maker: "anna", token: null }] });
    await expect(async () => made.as("eve", "read").list()).toThrow("plan.list needs operate");
    expect(await anna.cancel(id)).toMatchObject({
      state: "cancelled",
      reason: "by anna",
      counts: { cancelled: 2 },
    });
  });

  test("is not applied with less than it was made with: what its digest stands for would be another", async () => {
    await using made = await desk();
    const { id, digest } = await made.as("anna", "operate", "screen").make({ actions: [["AC_sleep", [0]]] });
    await expect(async () => made.as("anna", "operate").apply(id, digest)).toThrow(
      "this token allows operate, but the plan was made with more: it runs with screen",
    );
    const other = await made.as("anna", "admin").make({ actions: [["AC_sleep", [0]]] });
    await expect(async () => made.as("anna", "operate").apply(other.id, other.digest)).toThrow(
      "it runs with admin",
    );
    expect(await made.owner.apply(id, digest)).toMatchObject({ state: "done", maker: "anna" });
    expect(await made.owner.show(id)).toMatchObject({ scope: ["screen", "operate"] });
  });

  test("is listed by its state, and removed by its maker once it is over or if it was never applied", async () => {
    await using made = await desk();
    const [anna, ben] = [made.as("anna", "operate"), made.as("ben", "operate")];
    const actions = [["AC_sleep", [0]]];
    const [first, second] = [await anna.make({ actions }), await anna.make({ actions })];
    await made.owner.apply(first.id, first.digest);
    const ids = async (input: object) => (await anna.list(input)).plans.map(({ id }) => id);
    expect(await ids({ state: ["done"] })).toEqual([first.id]);
    expect(await ids({ state: ["new", "done"] })).toEqual([second.id, first.id]);
    expect(await ids({ limit: 1 })).toEqual([second.id]);
    expect(await ids({ state: ["paused"] })).toEqual([]);
    await expect(async () => ben.remove(first.id)).toThrow(`there is no plan ${first.id}`);
    const { ledger } = await made.here.service.plans();
    const { seq } = ledger.apply(ledger.find(second.id).seq, "anna", Date.now());
    await expect(async () => anna.remove(second.id)).toThrow(
      `the plan ${second.id} is running, and not over: \`svc plan cancel\` ends it`,
    );
    ledger.cancel(seq, "by anna", Date.now());
    for (const { id } of [first, second]) expect(await anna.remove(id)).toEqual({ removed: id });
    expect(await made.owner.list()).toEqual({ plans: [] });
    await expect(async () => anna.show(first.id)).toThrow(`there is no plan ${first.id}`);
    expect((await made.there.service.runs()).list()).toMatchObject([{ source_type: "plan" }, {}]);
  });

  test("says what its hosts wait for: an earlier plan, or why they are not reached", async () => {
    await using made = await desk(["a", "dead"]);
    await made.here.service.runJobs();
    const anna = made.as("anna", "operate");
    const actions = [["AC_sleep", [0]]];
    const make = async (maker: typeof anna) => {
      const { id, digest } = await maker.make({ actions, queue: true });
      await made.owner.apply(id, digest);
      await until("all but one have ended", async () => {
        const { counts } = await made.owner.show(id);
        return counts.ok && counts.waiting;
      });
      return id;
    };
    const [first, second] = [await make(made.owner), await make(anna)];
    const waits = async (shown: ReturnType<typeof anna.show>) => (await shown).targets[1];
    expect(await waits(made.owner.show(first))).toMatchObject({
      ...{ label: "dead", state: "waiting", error: null, waits_for: expect.stringContaining("refused") },
    });
    expect(await waits(made.owner.show(second))).toMatchObject({
      waits_for: `the plan ${first}`,
      error: null,
    });
    expect(await waits(anna.show(second))).toMatchObject({ waits_for: "an earlier plan" });
    expect((await made.owner.show(first)).targets[0]).toMatchObject({ state: "ok", waits_for: null });
    await made.owner.cancel(first);
    expect(await waits(made.owner.show(first))).toMatchObject({ state: "cancelled", waits_for: null });
  });

  test("says that a host is not linked, whatever it was that it waited for before", async () => {
    await using made = await desk(["a"]);
    const { id } = await made.owner.make({ queue: true });
    const plans = await made.here.service.plans();
    const { seq } = plans.ledger.apply(plans.ledger.find(id).seq, null, Date.now());
    plans.ledger.commit([{ plan: seq, n: 0, attempt: 0, step: "wait", error: "timeout" }], Date.now());
    const look = (isGone: boolean) => viewOf({ ...plans, isOffline: () => isGone }, seq, OWNER).targets;
    expect(look(false)).toMatchObject([{ waits_for: "timeout" }]);
    expect(look(true)).toMatchObject([{ waits_for: "not linked" }]);
  });

  test("says which hosts have not dialled yet", async () => {
    await using made = await desk(["a", "b"]);
    const { id } = await made.owner.make({ waves: ["1", "100%"] });
    const plans = await made.here.service.plans();
    const { seq } = plans.ledger.find(id);
    const look = () => viewOf({ ...plans, isExpected: () => true }, seq, OWNER).targets;
    expect(look()).toMatchObject([{ waits_for: null }, { waits_for: null }]);
    plans.ledger.apply(seq, null, Date.now());
    expect(look()).toMatchObject([{ waits_for: "not seen since this desk started" }, { waits_for: null }]);
  });

  test("publishes its events for the token that made it and for admin alone", async () => {
    await using made = await desk();
    const { service } = made.here;
    const { id, digest } = await made.as("anna", "operate").make({ actions: [["AC_sleep", [0]]] });
    await made.owner.apply(id, digest);
    const events = service.events();
    const types = await service.eventTypes();
    const seenBy = (grant: Grant) => {
      const filter = filterOf(types, ["plan.*"], grant);
      const all = Array.from({ length: events.newest }, (_, nth) => events.at(nth + 1));
      return all.flatMap((one) => (one && filter.has(one) ? [one.type.name] : []));
    };
    const all = ["plan.created", "plan.started", "plan.target", "plan.ended"];
    expect(seenBy(OWNER)).toEqual(all);
    expect(seenBy({ name: "anna", scopes: ["operate"] })).toEqual(all);
    expect(seenBy({ name: "anna", scopes: ["operate"], limited: true })).toEqual([]);
    expect(seenBy({ name: "anna", scopes: ["operate"], since: Date.now() + 1_000 })).toEqual([]);
    expect(seenBy({ name: "ben", scopes: ["operate"] })).toEqual([]);
  });

  test("goes on with the rights of who resumes or retries it, once its token has ended", async () => {
    await using made = await desk();
    const { owner, here } = made;
    const actions = [["AC_sleep", [0]]];
    const plans = await here.service.plans();
    for (const way of ["resume", "retry"] as const) {
      const { id, digest } = await owner.make({ actions });
      const { seq } = plans.apply(plans.ledger.find(id), digest, "revoked");
      if (way === "resume") plans.ledger.pause(seq, "by anna");
      else plans.ledger.cancel(seq, "its token revoked was revoked", Date.now());
      const done = await (way === "resume" ? owner.resume(id) : owner.retry(id, "cancelled"));
      expect(done).toMatchObject({ state: "done", counts: { ok: 2 }, token: null });
      expect(plans.ledger.plan(seq)).toMatchObject({ token: null });
    }
  });

  test("is neither resumed nor retried by a run with a scope, or one that may not use its commands", async () => {
    await using made = await desk();
    const { here } = made;
    const { id } = await made.owner.make({ actions: [["AC_config_export"]] });
    const caller = localCaller(here.service, "api", {
      grant: { name: null, scopes: ["admin"], limited: true },
    });
    const plans = await here.service.plans();
    plans.ledger.create(
      { ...plans.ledger.find(id), id: "of-anna", content: "", maker: "anna" },
      [{ label: "a", identity: "a" }],
      Date.now(),
    );
    const anna = made.as("anna", "operate");
    const message = "a plan starts what goes on after this run";
    await expect(async () => callOperation(here.service, resumePlan, { id }, caller)).toThrow(message);
    await expect(async () => callOperation(here.service, retryPlan, { id }, caller)).toThrow(message);
    await expect(async () => anna.resume("of-anna")).toThrow("AC_config_export needs admin");
    await expect(async () => anna.retry("of-anna", "failed")).toThrow("AC_config_export needs admin");
  });

  test("runs over HTTP and in scripts", async () => {
    await using made = await desk();
    const { here } = made;
    const actions = [["AC_rest_api_status"]];
    const { id, digest } = (await (
      await here.call("/plans/new", post({ actions, on: "a", waves: ["100%"] }))
    ).json()) as { id: string; digest: string };
    const applied = await here.call(`/plans/${id}/apply`, post({ digest, wait: true }));
    expect(await applied.json()).toMatchObject({ id, state: "done", counts: { ok: 1 } });
    const script = [
      ["AC_plan_new", { actions, on: "b", as: "plan" }],
      ["AC_plan_apply", { id: "${plan.id}", digest: "${plan.digest}", wait: true }],
    ];
    const report = await (await here.call("/execute", post({ actions: script }))).json();
    expect(report).toMatchObject({ ok: true, outcomes: [{}, { result: { counts: { ok: 1 } } }] });
    expect(await (await here.call("/plans")).json()).toMatchObject({ plans: [{ on: "b" }, { id }] });
    expect((await here.call(`/plans/${id}/apply`, post({ digest: "x" }))).status).toBe(409);
  });
});

describe("a broadcast", () => {
  const broadcast = async (made: Awaited<ReturnType<typeof desk>>, input: object) =>
    callOperation(
      made.here.service,
      broadcastExecute,
      { actions: [["AC_sleep", { seconds: 0 }]], on: "all", ...input },
      localCaller(made.here.service, "api", { grant: { name: "anna", scopes: ["operate"] } }),
    );

  test("is a plan that is listed, with what became of it, and without its actions", async () => {
    await using made = await desk(["a", "dead", "b", "c"]);
    const results = await broadcast(made, { canary: 2, max_failures: 0 });
    expect(results.map(({ status }) => status)).toEqual(["ok", "unreachable", "cancelled", "cancelled"]);
    const { plans } = await made.owner.list();
    expect(plans).toMatchObject([
      {
        ...{
          kind: "broadcast",
          state: "cancelled",
          reason: "not begun: 1 failed",
          maker: "anna",
          waves: [2, 4],
        },
        counts: { ok: 1, unreachable: 1, cancelled: 2 },
      },
    ]);
    const { id = "" } = plans[0] ?? {};
    expect((await made.owner.show(id)).targets[0]).toMatchObject({ state: "ok", run_id: results[0]?.run_id });
    await expect(async () => made.owner.retry(id, "cancelled")).toThrow("is a broadcast");
    const { digest } = await made.owner.show(id);
    await expect(async () => made.owner.apply(id, digest)).toThrow("is a broadcast");
    const { ledger } = await made.here.service.plans();
    expect(ledger.content(ledger.find(id).seq)).toBe("");
  });

  test("is not sent where it cannot be put on record", async () => {
    await using made = await desk(["a"]);
    writeFileSync(join(made.here.configDir, "plans.db"), "no database");
    await expect(broadcast(made, {})).rejects.toThrow("plans.db is not a database");
    expect((await made.there.service.runs()).list()).toEqual([]);
  });

  test("leaves nothing behind where it cannot begin", async () => {
    await using made = await desk(["a"]);
    const { ledger } = await made.here.service.plans();
    ledger.apply = () => {
      throw new Error("the disk is full");
    };
    await expect(broadcast(made, {})).rejects.toThrow("the disk is full");
    expect(ledger.plans()).toEqual([]);
  });

  test("is one run of each host, as a job, which another process can end but not go on with", async () => {
    await using made = await desk(["a"]);
    await broadcast(made, {});
    const [run] = (await made.there.service.runs()).list();
    const { id = "" } = (await made.owner.list()).plans[0] ?? {};
    expect(run).toMatchObject({ source_type: "plan", source_id: expect.stringContaining(id) });
    for (const change of [made.owner.pause, made.owner.resume])
      await expect(async () => change(id)).toThrow(
        "is a broadcast, which ends with the process that runs it",
      );
  });

  test("whose process has died begins nothing more", async () => {
    await using made = await desk(["a", "b"]);
    const plans = await made.here.service.plans();
    const hosts = ["a", "b"].map((label) => ({ label, identity: label }));
    const spec = { ...specOf(2), kind: "broadcast" } as const;
    const { seq } = await plans.create("", "digest", spec, hosts, null);
    plans.ledger.apply(seq, null, Date.now());
    plans.ledger.commit([{ plan: seq, n: 0, attempt: 0, step: "send", way: "execute" }], Date.now());
    plans.runner.takeOver();
    await plans.runner.over(seq);
    expect(plans.ledger.plan(seq)).toMatchObject({
      ...{ state: "cancelled", reason: "the process that ran it has ended" },
    });
    expect(plans.ledger.counts(seq)).toEqual({ unknown: 1, cancelled: 1 });
    expect((await made.there.service.runs()).list()).toEqual([]);
  });
});

describe("variables", () => {
  const actions = [["AC_assert", { name: "mine", op: "eq", value: "${label}" }]];
  const rows = { a: { mine: "value-of-a", label: "value-of-a" }, b: { mine: "value-of-b", label: "else" } };

  test("of a plan are those of all hosts, and of each its own, and stay out of the record", async () => {
    await using made = await desk();
    const { owner, here } = made;
    const given = { actions, variables: { label: "of all", site: "Berlin-1" }, variables_by_host: rows };
    const { id, digest, commands } = await owner.make(given);
    expect(commands).toEqual(["AC_assert", "AC_set_var"]);
    const other = await owner.make({ ...given, variables_by_host: { ...rows, b: rows.a } });
    expect(other.digest).not.toBe(digest);
    const shown = await owner.show(id);
    expect(shown).toMatchObject({
      host_variables: ["mine", "label"],
      actions: [
        ["AC_set_var", { name: "site", value: "***" }],
        ["AC_assert", { name: "mine" }],
      ],
    });
    await owner.apply(id, digest);
    const { targets } = await until("it is over", async () => {
      const plan = await owner.show(id);
      return plan.ended !== null && plan;
    });
    expect(targets).toMatchObject([
      { label: "a", state: "ok" },
      { label: "b", state: "failed", error: expect.stringContaining("AC_assert: ") },
    ]);
    const record = await (await here.call("/audit/list")).text();
    const there = await (await made.there.call("/audit/list")).text();
    for (const text of [record, there, JSON.stringify(targets)])
      expect(text).not.toMatch(/value-of|Berlin-1/);
  });

  test("of a broadcast are set before its list, and are not among its results", async () => {
    await using made = await desk(["a"]);
    const caller = localCaller(made.here.service, "api", { grant: OWNER });
    const input = { actions, on: "all", variables_by_host: { a: rows.a, gone: {} } };
    const warned: string[] = [];
    const all = await callOperation(made.here.service, broadcastExecute, input, {
      ...caller,
      warn: (text: string) => warned.push(text),
    });
    expect(all).toMatchObject([{ label: "a", ok: true, outcomes: [{ command: "AC_assert", ok: true }] }]);
    expect(Object.keys(all[0]?.result ?? {})).toHaveLength(1);
    expect(warned).toEqual(["variables_by_host: no host is labelled gone"]);
  });

  test("that a host lacks, or that cannot be values, are an error before anything begins", async () => {
    await using made = await desk();
    const { owner } = made;
    const refused = async (more: object, error: string) => {
      expect(async () => owner.make({ actions, ...more })).toThrow(error);
      const answer = await made.here.call("/admin/broadcast", post({ actions, on: "all", ...more }));
      expect({ status: answer.status, body: await answer.text() }).toMatchObject({
        status: 400,
        body: expect.stringContaining(JSON.stringify(error).slice(1, -1)),
      });
    };
    await refused({ variables_by_host: { a: {} } }, "variables_by_host: nothing for b");
    await refused({ variables: { "a-b": 1 } }, "variables: expected names of letters, digits and _");
    await refused({ variables: { a: null } }, "variables.a: expected a value other than null");
    expect((await owner.list()).plans).toEqual([]);
    const runs = (await (await made.there.call("/history")).json()) as { runs: unknown[] };
    expect(runs.runs).toEqual([]);
  });

  test("reach a host that takes no jobs, whose svc is older", async () => {
    await using made = await desk(["a"]);
    const { variablesFor } = await import("../../../src/wire/job/variables");
    const { writeContents, contentsOf } = await import("../../../src/desk/plans/host-contents");
    const { writeContent } = await import("../../../src/wire/job/content");
    const { executeJob } = await import("../../../src/desk/plans/execute");
    const commands = ["AC_assert", "AC_set_var"];
    const parts = { actions, commands, stop_on_error: true, timeout_s: 30, scope: null } as const;
    const { own = [], names } = variablesFor(["a"], { variables_by_host: { a: rows.a } });
    const text = writeContents(writeContent(parts).content, own, names);
    const target = { label: "a", server: (await made.here.service.addressBook()).server("a"), host_id: null };
    const job = {
      ...{
        id: crypto.randomUUID(),
        plan: crypto.randomUUID(),
        ...contentsOf(text.content, text.digest).of(0),
      },
      ...{ not_before: "", expires: "", delivery_timeout_s: 30, timeout_s: 30 },
    };
    const signal = new AbortController().signal;
    const ended = await executeJob(target, job, { signal, client: null, async sent() {}, running() {} });
    expect(ended).toMatchObject({ state: "ok", result: { ok: true } });
    // An svc that knows no such text sends it as it is.
    const { readContent } = await import("../../../src/wire/job/content");
    expect(() => readContent(text.content)).toThrow("content: expected that of a job");
  });
});

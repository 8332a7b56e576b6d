/** What hosts should have, by a file: drift, the plan that mends it, and what it leaves alone. */
import { describe, expect, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Grant, Scope } from "../../../../src/core/rights";
import { applyPlan } from "../../../../src/desk/plans/operations/run";
import { diffFleet, planFleet } from "../../../../src/desk/plans/state/operations/fleet";
import { forgetFleet, listFleet } from "../../../../src/desk/plans/state/operations/states";
import { setSecret } from "../../../../src/host/secrets/operations";
import { unavailable } from "../../../../src/lib/errors";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import type { Service, ServiceOptions } from "../../../../src/service/service";
import { addToken, tokenStore } from "../../../../src/trust/named-tokens";
import { version } from "../../../../src/version";
import { rowsOf } from "../../../host/audit/support";
import { post, testServer, until } from "../../../support";
import { host } from "../../fleet/support";

/** A desk with hosts `a`, `b` and so on, whose token allows `scope` there; without, all. @param options of the hosts. */
async function fleet(count: number, scope?: readonly Scope[], options: Partial<ServiceOptions> = {}) {
  const here = await testServer();
  const hosts = await Promise.all(Array.from({ length: count }, () => testServer({ service: options })));
  const entries = await Promise.all(
    hosts.map(async ({ configDir, server }, n) => {
      const entry = host(String.fromCharCode(97 + n), server.url, "lab");
      if (!scope) return entry;
      const store = tokenStore(configFiles(configDir), silentLog);
      return { ...entry, token: await addToken(store, { name: "desk", scope: [...scope] }) };
    }),
  );
  await (await here.service.addressBook()).addAll(entries, false);
  const { service } = here;
  const caller = localCaller(service, "api");
  const diff = (state: object, more: object = {}, by = caller) =>
    callOperation(service, diffFleet, { state, on: "tag:lab", ...more }, by);
  const plan = (state: object, more: object = {}, by = caller) =>
    callOperation(service, planFleet, { state, on: "tag:lab", ...more }, by);
  return {
    ...{ here, hosts, service, diff, plan },
    /** Makes a plan and runs it to its end. */
    async apply(state: object, more: object = {}) {
      const { id, digest } = await plan(state, more);
      return callOperation(service, applyPlan, { id, digest, wait: true }, caller);
    },
    list: () => callOperation(service, listFleet, {}, caller),
    /** Has the desk ask its hosts now. */
    look: async () => (await service.existingStates())?.looks.look(),
    /** A caller with these scopes on the desk. */
    as: (...scopes: Scope[]) =>
      localCaller(service, "api", { grant: { name: "someone", scopes } satisfies Grant }),
    forget: (name: string) => callOperation(service, forgetFleet, { name }, caller),
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      for (const one of hosts) await one[Symbol.asyncDispose]();
    },
  };
}

const SLEEP = [["AC_sleep", { seconds: 0 }]];

/** A state with a script, a job that runs it, and a setting. */
const lab = (more: object = {}) => ({
  name: "lab",
  scripts: { refresh: { actions: SLEEP, parameters: ["site"] } },
  jobs: { refresh: { script: "refresh", interval_seconds: "15m", variables: { site: "Berlin" } } },
  settings: { "diagnose.skip": ["mouse"] },
  ...more,
});

type Diff = Awaited<ReturnType<Awaited<ReturnType<typeof fleet>>["diff"]>>;

/** What differs, in a few words for each host. */
const drifts = ({ hosts }: Diff) =>
  hosts.map(({ differences }) =>
    differences.flatMap(({ drift, state, kind, name }) => (drift ? [`${state} ${kind} ${name}`] : [])),
  );

const jobsOf = async (service: Service) => (await service.scheduler()).jobs();
const scriptsOf = async (service: Service) =>
  (await service.storedScripts()).list().map(({ name, sha256 }) => [name, sha256] as const);

const ALL_MISSING = ["missing script refresh", "missing job refresh", "differs setting diagnose.skip"];

test("hosts differ before a state is applied, and a plan makes each as the file says", async () => {
  await using made = await fleet(2);
  expect(drifts(await made.diff(lab()))).toEqual([ALL_MISSING, ALL_MISSING]);
  expect(await made.apply(lab(), { waves: ["1", "100%"] })).toMatchObject({
    state: "done",
    counts: { ok: 2 },
    waves: [1, 2],
  });
  for (const { service } of made.hosts) {
    expect(await jobsOf(service)).toMatchObject([
      {
        job_id: "refresh",
        script_path: "script:refresh",
        interval_seconds: 900,
        variables: { site: "Berlin" },
      },
    ]);
    expect((await service.settings()).get("diagnose.skip")).toEqual(["mouse"]);
  }
  const after = await made.diff(lab());
  expect(after.hosts.map(({ state, applied }) => [state, applied?.sha256])).toEqual([
    ["same", after.sha256],
    ["same", after.sha256],
  ]);
});

test("applied again, it changes nothing: neither a script nor when a job runs next", async () => {
  await using made = await fleet(1);
  const [one] = made.hosts;
  if (!one) throw new Error("no host");
  await made.apply(lab());
  const before = [await scriptsOf(one.service), await jobsOf(one.service)];
  await made.apply(lab());
  expect([await scriptsOf(one.service), await jobsOf(one.service)]).toEqual(before);
  const rows = rowsOf(configFiles(one.configDir).auditLog).flatMap(({ detail }) =>
    detail?.includes("state.apply name=lab") ? [detail] : [],
  );
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/\+ script refresh [0-9a-f]{64}; \+ job refresh; ~ setting diagnose.skip/);
  expect(rows[1]).toEndWith("changes nothing");
  // Neither has what is in the script or the variables.
  for (const row of rows) expect(row).not.toMatch(/AC_sleep|Berlin/);
});

test("only what differs is changed, and is named: fields of jobs, digests of scripts", async () => {
  await using made = await fleet(1);
  await made.apply(lab());
  const other = lab({
    scripts: { refresh: { actions: [["AC_sleep", { seconds: 1 }]], parameters: ["site"] } },
    jobs: { refresh: { script: "refresh", cron_expression: "0 3 * * *", variables: { site: "Bonn" } } },
  });
  const [host] = (await made.diff(other)).hosts;
  expect(host?.differences.filter(({ drift }) => drift)).toEqual([
    expect.objectContaining({
      ...{ kind: "script", state: "differs", by: "apply" },
      found: expect.stringMatching(/^[0-9a-f]{64}$/),
      wanted: expect.stringMatching(/^[0-9a-f]{64}$/),
    }),
    expect.objectContaining({
      ...{ kind: "job", state: "differs" },
      found: "interval_seconds, cron_expression, time_zone, variables",
    }),
  ]);
  await made.apply(other);
  expect((await made.diff(other)).hosts.map(({ state }) => state)).toEqual(["same"]);
});

test("a job that somebody paused, and a script that somebody replaced, are drift", async () => {
  await using made = await fleet(1);
  await made.apply(lab());
  const [one] = made.hosts;
  await (await one?.service.scheduler())?.pause("refresh");
  const mended = { name: "refresh", actions: [], parameters: [], stop_on_error: false, timeout_s: 60 };
  await (await one?.service.storedScripts())?.add(mended, true);
  expect(drifts(await made.diff(lab()))).toEqual([["differs script refresh", "differs job refresh"]]);
  await made.apply(lab());
  expect(drifts(await made.diff(lab()))).toEqual([[]]);
});

test("what a file no longer has is removed with prune alone, and what nobody manages never", async () => {
  await using made = await fleet(1);
  const [one] = made.hosts;
  if (!one) throw new Error("no host");
  const own = { name: "own", actions: SLEEP, parameters: [], stop_on_error: false, timeout_s: 60 };
  await (await one.service.storedScripts()).add(own, false);
  await made.apply(lab());
  const less = { name: "lab", scripts: lab().scripts };
  const [kept] = (await made.diff(less)).hosts;
  expect(kept).toMatchObject({ state: "same" });
  expect(kept?.differences.map(({ kind, name, by }) => [kind, name, by])).toEqual([
    ["job", "refresh", "prune"],
    ["setting", "diagnose.skip", "prune"],
    ["script", "own", "nothing"],
  ]);
  await made.apply(less);
  expect(await jobsOf(one.service)).toHaveLength(1);
  // Also where a state without it was applied in between.
  expect(drifts(await made.diff(less, { prune: true }))).toEqual([
    ["besides job refresh", "besides setting diagnose.skip"],
  ]);
  await made.apply(less, { prune: true });
  expect(await jobsOf(one.service)).toEqual([]);
  expect((await one.service.settings()).get("diagnose.skip")).toEqual([]);
  expect((await scriptsOf(one.service)).map(([name]) => name)).toEqual(["own", "refresh"]);
});

test("an empty state that prunes takes all of it away, and manages nothing any more", async () => {
  await using made = await fleet(1);
  const [one] = made.hosts;
  if (!one) throw new Error("no host");
  await made.apply(lab());
  await made.apply({ name: "lab", prune: true });
  expect([await scriptsOf(one.service), await jobsOf(one.service)]).toEqual([[], []]);
  expect((await made.diff({ name: "lab", prune: true })).hosts).toMatchObject([
    { state: "same", differences: [] },
  ]);
});

test("two files share a host, and neither takes what the other manages", async () => {
  await using made = await fleet(1);
  await made.apply(lab());
  const other = { name: "other", prune: true, scripts: { more: { actions: SLEEP } } };
  await made.apply(other);
  expect(drifts(await made.diff(lab()))).toEqual([[]]);
  // Also where both want the same: either could remove it.
  const greedy = { name: "other", scripts: lab().scripts };
  expect(drifts(await made.diff(greedy))).toEqual([["taken script refresh"]]);
  const failed = await made.apply(greedy);
  expect(failed).toMatchObject({ counts: { failed: 1 } });
  expect(failed.targets[0]?.error).toContain(
    "the script refresh is managed by the state lab: one file alone can have it",
  );
});

test("a secret is expected by its name: one that is missing is drift, and no value goes anywhere", async () => {
  await using made = await fleet(1);
  const state = lab({ secrets: ["crm_password"] });
  await made.apply(state);
  expect(drifts(await made.diff(state))).toEqual([["missing secret crm_password"]]);
  const { service } = made.hosts[0] ?? {};
  if (!service) throw new Error("no host");
  await callOperation(
    service,
    setSecret,
    { name: "crm_password", value: "correct horse" },
    localCaller(service, "api"),
  );
  expect(drifts(await made.diff(state))).toEqual([[]]);
});

test("a black box that the server was started without, and the version, are for a person: applying sets neither", async () => {
  await using made = await fleet(1);
  const state = { name: "lab", black_box: true, version: "9.9.9" };
  const [found] = (await made.diff(state)).hosts;
  expect(found?.differences.filter(({ drift }) => drift)).toMatchObject([
    { kind: "black_box", by: "hand", found: "off", wanted: "on" },
    { kind: "version", by: "hand", wanted: "9.9.9" },
  ]);
  expect(await made.apply(state)).toMatchObject({ counts: { ok: 1 } });
  expect(drifts(await made.diff(state))).toEqual([
    ["differs black_box black_box", "differs version version"],
  ]);
});

test("a plan pauses the black box of each host and ends that pause, for a token that may operate it", async () => {
  const scope: readonly Scope[] = ["read", "operate"];
  await using made = await fleet(2, scope, { black_box: 3_600 });
  const on = { name: "lab", black_box: true };
  const off = { name: "lab", black_box: false };
  const paused = () =>
    Promise.all(made.hosts.map(async ({ service }) => (await service.blackBox()).isPaused));
  expect(drifts(await made.diff(on))).toEqual([[], []]);
  const { id } = await made.plan(off);
  expect(await (await made.here.call(`/plans/${id}`)).text()).toContain("black box off");
  expect(drifts(await made.diff(off))).toEqual([
    ["differs black_box black_box"],
    ["differs black_box black_box"],
  ]);
  expect(await made.apply(off)).toMatchObject({ counts: { ok: 2 } });
  expect([await paused(), drifts(await made.diff(off))]).toEqual([
    [true, true],
    [[], []],
  ]);
  await made.apply(on);
  expect([await paused(), drifts(await made.diff(on))]).toEqual([
    [false, false],
    [[], []],
  ]);
});

test("a host that does not say that it has the version is not in the plan, and is to have the state all the same", async () => {
  await using made = await fleet(1);
  await (await made.service.addressBook()).addAll([host("off", "http://127.0.0.1:9", "lab")], false);
  const state = lab({ version });
  const only = { with_version: true };
  expect(await made.plan(state, only)).toMatchObject({
    hosts: ["a"],
    held_back: [{ label: "off", why: expect.stringMatching(/^unreachable: /) }],
  });
  expect(await made.apply(state, only)).toMatchObject({ counts: { ok: 1 }, total: 1 });
  await made.look();
  expect((await made.list()).states).toMatchObject([{ on: "tag:lab", same: 1, unknown: 1 }]);
  await expect(made.plan(lab({ version: "99.0.0" }), only)).rejects.toThrow(
    `no plan was made: a gets nothing else: it has ${version}, not 99.0.0; off gets nothing else: `,
  );
  await expect(made.plan(lab(), only)).rejects.toThrow("with_version: expected a state with a version");
  // Without it, all of them are.
  const all = await made.plan(state);
  expect([all.hosts, all.held_back]).toEqual([["a", "off"], undefined]);
});

describe("nothing is changed", () => {
  test("where a job can never run", async () => {
    await using made = await fleet(1);
    const bad = lab({ jobs: { never: { script: "refresh", cron_expression: "61 * * * *" } } });
    expect((await made.diff(bad)).hosts).toMatchObject([
      { state: "refused", why: expect.stringContaining("jobs.never: cron_expression: expected") },
    ]);
    expect(await made.apply(bad)).toMatchObject({ counts: { failed: 1 } });
    const [one] = made.hosts;
    if (!one) throw new Error("no host");
    expect(await scriptsOf(one.service)).toEqual([]);
    expect((await one.service.settings()).get("diagnose.skip")).toEqual([]);
  });

  test("for a setting that there is not", async () => {
    await using made = await fleet(1);
    const bad = lab({ settings: { "diagnose.skipp": ["mouse"] } });
    expect(await made.apply(bad)).toMatchObject({ counts: { failed: 1 } });
    expect(await scriptsOf(made.hosts[0]?.service as Service)).toEqual([]);
  });

  test("and no host is asked, where the state itself is wrong", async () => {
    await using made = await fleet(1);
    const script = lab({ scripts: { refresh: { actions: [["AC_slep"]], parameters: ["site"] } } });
    await expect(made.diff(script)).rejects.toThrow(/state: scripts\.refresh: .*AC_slep/);
    await expect(made.plan(lab({ jobs: { x: { script: "refresh" } } }))).rejects.toThrow(
      "state: jobs.x: expected one of interval_seconds and cron_expression",
    );
    await expect(made.plan(lab({ secrets: ["a b"] }))).rejects.toThrow("secrets[0]");
    const secret = {
      refresh: { script: "refresh", interval_seconds: 60, variables: { site: "${secret:a}" } },
    };
    await expect(made.plan(lab({ jobs: secret }))).rejects.toThrow(
      "no secret: the host would keep it as it is",
    );
    const odd = { refresh: { script: "refresh", interval_seconds: 60, variables: { place: "x" } } };
    await expect(made.plan(lab({ jobs: odd }))).rejects.toThrow(
      "jobs.refresh.variables.place: expected a parameter of the script refresh (site)",
    );
    expect((await made.list()).states).toEqual([]);
  });

  test("by the command outside of a plan", async () => {
    await using made = await fleet(1);
    const [one] = made.hosts;
    const input = { name: "lab", sha256: "0".repeat(64), items: [], state: "e30=" };
    const ran = await one?.call("/execute", post({ actions: [["AC_state_apply", input]] }));
    expect(await ran?.json()).toMatchObject({
      ok: false,
      error_text: expect.stringContaining("works as the job of a plan only"),
    });
  });
});

describe("a desk whose token at a host is for desks", () => {
  const DESK: readonly Scope[] = ["metrics", "read", "screen", "audit", "sync", "operate"];

  test("places jobs, and is refused scripts and settings, which need admin there", async () => {
    await using made = await fleet(1, DESK);
    const refused = await made.apply(lab());
    expect(refused.targets[0]?.error).toContain("the script refresh of the state lab needs admin");
    const [one] = made.hosts;
    if (!one) throw new Error("no host");
    expect(await scriptsOf(one.service)).toEqual([]);
    const jobs = { name: "lab", jobs: { own: { script_path: "/srv/own.json", interval_seconds: 60 } } };
    expect(await made.apply(jobs)).toMatchObject({ counts: { ok: 1 } });
    expect(await jobsOf(one.service)).toMatchObject([{ job_id: "own", token: "desk" }]);
    expect(drifts(await made.diff(jobs))).toEqual([[]]);
  });

  test("learns nothing of a secret that it may not use", async () => {
    await using made = await fleet(1, DESK);
    const [found] = (await made.diff({ name: "lab", secrets: ["crm_password"] })).hosts;
    expect(found).toMatchObject({ state: "same", differences: [{ kind: "secret", state: "unknown" }] });
  });
});

test("a job runs the stored script of the state, with its variables", async () => {
  await using made = await fleet(1);
  const [one] = made.hosts;
  if (!one) throw new Error("no host");
  const actions = [["AC_assert", { name: "site", value: "Berlin" }]];
  const scripts = { refresh: { actions, parameters: ["site"] } };
  const jobs = { refresh: lab().jobs.refresh, other: { ...lab().jobs.refresh, variables: { site: "Bonn" } } };
  await made.apply(lab({ scripts, jobs }));
  const scheduler = await one.service.scheduler();
  const statusOf = async (id: string) => (await (await scheduler.runNow(id)).ended).status;
  expect([await statusOf("refresh"), await statusOf("other")]).toEqual(["ok", "error"]);
});

test("${…} in a script arrives as it is written", async () => {
  await using made = await fleet(1);
  const actions = [["AC_log", { message: "${site} and $${site} and ${= 1 + 1}" }]];
  await made.apply({ name: "lab", scripts: { say: { actions, parameters: ["site"] } } });
  const stored = (await made.hosts[0]?.service.storedScripts())?.get("say");
  expect(stored?.actions).toEqual(actions);
});

test("a plan that is reviewed shows what is in a state, and no script", async () => {
  await using made = await fleet(1);
  const { id } = await made.plan(
    lab({ scripts: { refresh: { actions: [["AC_log", { message: "top" }]], parameters: ["site"] } } }),
  );
  const shown = await (await made.here.call(`/plans/${id}`)).text();
  expect(shown).toContain("script refresh (1 actions)");
  // As it is sent: base64 of {"name":"lab"…
  expect(shown).not.toContain(Buffer.from('{"name":"lab"').toString("base64").slice(0, 16));
});

describe("whoever compares learns from hosts what they may learn on the desk alone:", () => {
  const jobs = { own: { script_path: "/srv/own.json", interval_seconds: 60 } };

  test("operate without read learns nothing", async () => {
    await using made = await fleet(1);
    await expect(made.diff({ name: "lab", jobs }, {}, made.as("operate"))).rejects.toThrow(
      "this token allows operate, but comparing hosts with a state needs read",
    );
    expect((await made.diff({ name: "lab", jobs }, {}, made.as("operate", "read"))).hosts).toHaveLength(1);
  });

  test("values of variables are compared for admin alone", async () => {
    await using made = await fleet(1);
    await made.apply(lab());
    await expect(made.diff(lab(), {}, made.as("operate", "read"))).rejects.toThrow(
      "comparing variables, which may be secret, of the job refresh needs admin",
    );
    expect((await made.diff(lab(), {}, made.as("admin"))).hosts).toMatchObject([{ state: "same" }]);
  });

  test("which secrets there are is told to who may use them", async () => {
    await using made = await fleet(1);
    const state = { name: "lab", secrets: ["crm_password"] };
    await expect(made.diff(state, {}, made.as("operate", "read", "secret:shop_*"))).rejects.toThrow(
      "asking whether hosts have the secret crm_password needs secret:crm_password",
    );
    const allowed = made.as("operate", "read", "secret:crm_*");
    expect(drifts(await made.diff(state, {}, allowed))).toEqual([["missing secret crm_password"]]);
  });
});

describe("the desk remembers", () => {
  test("a state once its plan was applied, asks its hosts, and counts those that differ", async () => {
    await using made = await fleet(2);
    await made.plan(lab());
    expect((await made.list()).states).toMatchObject([
      { name: "lab", sha256: null, planned: expect.any(String) },
    ]);
    await made.apply(lab());
    const { looks } = (await made.service.existingStates()) ?? {};
    await looks?.look();
    expect((await made.list()).states).toMatchObject([
      { sha256: expect.any(String), same: 2, drift: 0, drifted: [] },
    ]);
    await (await made.hosts[1]?.service.scheduler())?.remove("refresh");
    await looks?.look();
    expect((await made.list()).states).toMatchObject([
      { same: 1, drift: 1, drifted: [{ label: "b", differences: 1 }] },
    ]);
    const metrics = await (await made.here.call("/metrics")).text();
    expect(metrics).toContain('service_fleet_drift{state="lab"} 1');
    await made.forget("lab");
    await looks?.look();
    expect(await (await made.here.call("/metrics")).text()).not.toContain("service_fleet_drift{");
  });

  test("a host that never got the state differs from it", async () => {
    await using made = await fleet(1);
    await made.apply(lab());
    const late = await testServer();
    await (await made.service.addressBook()).addAll([host("late", late.server.url, "lab")], false);
    const { looks } = (await made.service.existingStates()) ?? {};
    await looks?.look();
    expect((await made.list()).states).toMatchObject([{ same: 1, drifted: [{ label: "late" }] }]);
    await late[Symbol.asyncDispose]();
  });

  test("no state by a broken plan: one that was removed does not count", async () => {
    await using made = await fleet(1);
    const { id } = await made.plan(lab());
    await made.here.call(`/plans/${id}/remove`, post({}));
    expect((await made.list()).states).toEqual([]);
  });

  test("what hosts should have that a later plan is not for", async () => {
    await using made = await fleet(2);
    await made.apply(lab());
    await made.apply(lab(), { on: "a" });
    await made.look();
    expect((await made.list()).states).toMatchObject([{ on: "a", same: 2, drift: 0 }]);
    // Another content at one of them, too.
    await made.apply({ name: "lab", scripts: lab().scripts }, { on: "a" });
    await (await made.hosts[1]?.service.scheduler())?.remove("refresh");
    await made.look();
    expect((await made.list()).states).toMatchObject([
      { on: "a", same: 1, drifted: [{ label: "b", differences: 1 }], earlier: [{ on: "tag:lab" }] },
    ]);
  });

  test("the others where one host has left the address book", async () => {
    await using made = await fleet(2);
    await made.apply(lab(), { on: "a,b" });
    await (await made.service.addressBook()).remove("a");
    await made.look();
    expect((await made.list()).states).toMatchObject([{ same: 1, drift: 0, unknown: 0 }]);
  });

  test("that hosts are watched once a plan has noted it: a state that was forgotten is not", async () => {
    await using made = await fleet(2);
    await made.apply(lab(), { on: "a" });
    expect([(await made.diff(lab(), { on: "a" })).watched, (await made.diff(lab())).watched]).toEqual([
      true,
      false,
    ]);
    await made.apply(lab());
    expect((await made.diff(lab())).watched).toBe(true);
    await made.forget("lab");
    expect(await made.diff(lab())).toMatchObject({
      watched: false,
      hosts: [
        { state: "same", to_apply: 0 },
        { state: "same", to_apply: 0 },
      ],
    });
  });

  test("a state while the ledger of its plan cannot be read", async () => {
    await using made = await fleet(1);
    const { id, digest } = await made.plan(lab());
    const { ledger } = await made.service.plans();
    const { find } = ledger;
    Object.assign(ledger, {
      find() {
        throw unavailable("the database is locked");
      },
    });
    await expect((await made.service.fleetStates()).settle()).rejects.toThrow("the database is locked");
    Object.assign(ledger, { find });
    await callOperation(
      made.service,
      applyPlan,
      { id, digest, wait: true },
      localCaller(made.service, "api"),
    );
    expect((await made.list()).states).toMatchObject([{ sha256: expect.any(String), planned: null }]);
  });

  test("no more of a host than how many differences it has", async () => {
    await using made = await fleet(1);
    await made.apply(lab());
    await (await made.hosts[0]?.service.scheduler())?.remove("refresh");
    await made.look();
    expect(made.service.driftFound().get("lab")?.hosts).toEqual([
      { label: "a", state: "drift", differences: 1 },
    ]);
  });

  test("how many differences a host has, also where it does not list them all", async () => {
    await using made = await fleet(1);
    const job = { script_path: "/srv/own.json", interval_seconds: 60 };
    const jobs = Object.fromEntries(Array.from({ length: 250 }, (_, nth) => [`job-${nth}`, job]));
    await made.apply({ name: "lab", jobs });
    const scheduler = await made.hosts[0]?.service.scheduler();
    for (const id of Object.keys(jobs)) await scheduler?.remove(id);
    await made.look();
    expect((await made.list()).states).toMatchObject([{ drifted: [{ label: "a", differences: 250 }] }]);
  });

  test("to ask no host whose wave has not come", async () => {
    await using made = await fleet(2);
    const { id, digest } = await made.plan(lab(), { waves: ["1", "100%"], pause_s: 3_600 });
    const caller = localCaller(made.service, "api");
    const running = Promise.resolve(
      callOperation(made.service, applyPlan, { id, digest, wait: true }, caller),
    );
    const { ledger } = await made.service.plans();
    await until("the first wave", () => ledger.targets(ledger.find(id).seq, ["ok"]).length === 1);
    await made.look();
    expect((await made.list()).states).toMatchObject([{ same: 1, drift: 0, unknown: 0 }]);
    await made.here.call(`/plans/${id}/cancel`, post({}));
    await running;
    await made.look();
    expect((await made.list()).states).toMatchObject([{ same: 1, drift: 1 }]);
  });
});

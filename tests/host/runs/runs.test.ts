/** Runs: ids, cancelling, deadlines, turns, and what is kept. */

import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { localCaller, type Progress } from "../../../src/core/caller";
import { field, secret } from "../../../src/core/fields";
import { type Operation, operation } from "../../../src/core/operation";
import { OWNER } from "../../../src/core/rights";
import { withLateInput } from "../../../src/host/desktop/operations/input-operation";
import { Runs } from "../../../src/host/runs/runs";
import type { RunState } from "../../../src/host/runs/types";
import { Failure, notFound } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { operations } from "../../../src/operations";
import type { Service } from "../../../src/service/service";
import { post, runActions, testServer, testService, until } from "../../support";

const sleepLong = ["AC_sleep", { seconds: 60 }];

async function firstRun(service: Service) {
  const runs = await service.runs();
  return until("a run", () => runs.list()[0]);
}

describe("a run", () => {
  test("is listed while it goes on, cancelled by the beginning of its id, and kept with its outcomes", async () => {
    await using host = await testServer();
    const answer = host.call(
      "/execute",
      post({ actions: [["AC_sleep", [0]], sleepLong, ["AC_sleep", [0]]] }),
    );
    const { run_id, status, commands } = await firstRun(host.service);
    expect({ status, commands }).toEqual({ status: "running", commands: ["AC_sleep"] });
    const runs = await host.service.runs();
    await until("an outcome", () => runs.show(run_id).outcomes.length > 0);

    const cancelled = await host.call("/runs/cancel", post({ run_id: run_id.slice(0, 8) }));
    expect(await cancelled.json()).toMatchObject({ run_id });
    expect(await (await answer).json()).toMatchObject({
      run_id,
      ok: false,
      status: "cancelled",
      error_text: "cancelled by 127.0.0.1",
      outcomes: [{ ok: true }, { ok: false, error: "cancelled by 127.0.0.1" }],
    });
    const shown = await (await host.call(`/runs/${run_id}`)).json();
    expect(shown).toMatchObject({
      status: "cancelled",
      source_type: "rest",
      outcomes: [{ ok: true }, { ok: false }],
    });
    const listed = await (await host.call("/runs")).json();
    expect(listed).toMatchObject({ count: 1, runs: [{ run_id, status: "cancelled" }] });
  });

  test("are listed newest first, no more of them than were asked for", async () => {
    await using host = await testServer();
    for (const _ of [1, 2, 3]) await host.call("/execute", post({ actions: [["AC_runs_list"]] }));
    const all = (await (await host.call("/runs")).json()) as { runs: Array<{ run_id: string }> };
    const two = await (await host.call("/runs?limit=2")).json();
    expect([all.runs.length, two]).toMatchObject([3, { count: 2, runs: all.runs.slice(0, 2) }]);
  });

  test("that ended cannot be cancelled, one that never was is not found", async () => {
    await using host = await testServer();
    const { run_id } = await runActions(host.service, [["AC_rest_api_status"]]);
    expect((await host.call("/runs/cancel", post({ run_id }))).status).toBe(409);
    expect((await host.call("/runs/cancel", post({ run_id: "ffffffff-none" }))).status).toBe(404);
    expect((await host.call("/runs/ffffffff-none")).status).toBe(404);
  });

  test("is cancelled in the middle of a loop", async () => {
    await using host = testService();
    const spin = ["AC_loop", { times: 90_000, body: [["AC_sleep", [0]]] }];
    const running = runActions(host.service, [spin, ["AC_sleep", [0]]]);
    const { run_id } = await firstRun(host.service);
    (await host.service.runs()).cancel(run_id, "cancelled");
    const report = await running;
    expect(report.status).toBe("cancelled");
    expect(report.outcomes).toHaveLength(1);
  });

  test("reports its progress, action by action", async () => {
    await using host = testService();
    const steps: Progress[] = [];
    const caller = localCaller(host.service, "api", { progress: (step) => void steps.push(step) });
    const loop = ["AC_loop", { times: 3, body: [["AC_sleep", [0]]] }];
    await runActions(host.service, [loop, ["AC_sleep", [0]]], {}, caller);
    expect(steps).toEqual([
      { what: "actions", done: 1, total: 2 },
      { what: "actions", done: 2, total: 2 },
    ]);
  });

  test("ends at its deadline", async () => {
    await using host = testService();
    const report = await runActions(host.service, [sleepLong, sleepLong], { timeout_s: 0.02 });
    expect(report).toMatchObject({
      status: "timeout",
      error_text: "the run's deadline of 0.02 s has passed",
      outcomes: [{ ok: false }],
    });
  });

  test("executes a bounded number of actions", async () => {
    await using host = testService();
    const endless = ["AC_loop", { times: 100_000, body: [["AC_loop", { times: 100_000, body: [] }]] }];
    const report = await runActions(host.service, [endless]);
    expect(report).toMatchObject({ status: "error", error_text: "more than 200000 actions in one run" });
  });

  test("keeps nothing of the turns of a loop beyond the outcomes that it reports", async () => {
    await using host = await testServer();
    const turns = 20_000;
    const wait = [
      "AC_if_var",
      {
        name: "n",
        value: turns,
        then: [
          ["AC_log", ["all"]],
          ["AC_sleep", [600]],
        ],
      },
    ];
    const body = [["AC_set_var", { name: "n", op: "add", value: 1 }], wait];
    const actions = [
      ["AC_set_var", ["n", 0]],
      ["AC_loop", { times: turns, body }],
    ];
    const client = new AbortController();
    Bun.gc(true);
    const before = heapStats().objectCount;
    const answer = host.call("/execute", { ...post({ actions }), signal: client.signal }).catch(() => {});
    const { run_id } = await firstRun(host.service);
    const runs = await host.service.runs();
    await until("the last turn", () => runs.show(run_id).log.length === 1, { everyMs: 50 });
    Bun.gc(true);
    expect(heapStats().objectCount - before).toBeLessThan(2 * turns);
    runs.cancel(run_id, "the test ends");
    await answer;
  }, 60_000);

  test("leaves the event loop to others, also when its actions wait for nothing", async () => {
    await using host = testService();
    const busy = ["AC_loop", { times: 20_000, body: [["AC_set_var", ["a", 1]]] }];
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    expect((await runActions(host.service, [busy])).ok).toBe(true);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(2);
  });

  test("continues when its client has hung up", async () => {
    await using host = await testServer();
    const client = new AbortController();
    const body = post({
      actions: [
        ["AC_sleep", [0.05]],
        ["AC_sleep", [0]],
      ],
    });
    const answer = host.call("/execute", { ...body, signal: client.signal });
    const { run_id } = await firstRun(host.service);
    client.abort();
    await answer.catch(() => {});
    const runs = await host.service.runs();
    await until("the run to end", () => runs.show(run_id).status !== "running");
    expect(runs.show(run_id).status).toBe("ok");
  });

  test("is cancelled when its process stops, after some grace", async () => {
    await using host = testService();
    const running = runActions(host.service, [sleepLong]);
    await firstRun(host.service);
    const runs = await host.service.runs();
    await runs.stop(0);
    expect((await running).status).toBe("cancelled");
    expect(runActions(host.service, [["AC_rest_api_status"]])).rejects.toMatchObject({ code: "unavailable" });
  });
});

test("a run over HTTP is in the audit log before and after, by its id, commands and digest", async () => {
  await using host = await testServer();
  const other = runActions(host.service, [sleepLong]);
  const going = await firstRun(host.service);
  const actions = [
    ["AC_sleep", [0]],
    ["AC_runs_cancel", { run_id: going.run_id }],
  ];
  const answer = await host.call("/execute", post({ actions }));
  const { run_id } = (await answer.json()) as { run_id: string };
  expect((await other).status).toBe("cancelled");
  const rows = (await (await host.service.audit())?.list({ limit: 10, event_type: "rest_api" })) ?? [];
  const subject = `run=${run_id} commands=AC_sleep,AC_runs_cancel args=sha256:`;
  expect(rows.map(({ detail }) => detail)).toEqual([
    expect.stringContaining(`POST /execute -> ok:200 ${subject}`),
    `POST /execute -> started run=${run_id} runs.cancel run=${going.run_id}`,
    expect.stringContaining(`POST /execute -> started ${subject}`),
  ]);
});

const press = operation({
  name: "test.press",
  summary: "Use the input devices",
  scope: "operate",
  uses: "input",
  command: "AC_test_press",
  input: v.strictObject({ who: field(v.string(), "Who") }),
  output: v.null(),
  run: () => null,
});

test("two runs that touch the input devices take turns, others do not wait", async () => {
  await using host = testService({ operations: [...operations, press] });
  const runs = await host.service.runs();
  const first = runActions(host.service, [["AC_test_press", ["a"]], sleepLong]);
  const running = await firstRun(host.service);
  await until("an outcome", () => runs.show(running.run_id).outcomes.length > 0);

  const second = runActions(host.service, [["AC_loop", { times: 1, body: [["AC_test_press", ["b"]]] }]]);
  await until("the second run to wait", () => runs.list()[0]?.status === "waiting");
  expect((await runActions(host.service, [["AC_sleep", [0]]])).ok).toBe(true);
  expect(runs.list().filter(({ status }) => status === "waiting")).toHaveLength(1);

  const holder = `run ${running.run_id.slice(0, 8)} (manual)`;
  expect(runs.list().map(({ waiting_for }) => waiting_for)).toEqual([null, holder, null]);
  const { promise: reported, resolve: progress } = Promise.withResolvers<Progress>();
  const caller = localCaller(host.service, "api", { progress });
  const third = runActions(host.service, [["AC_test_press", ["c"]]], {}, caller);
  expect(await reported).toEqual({ what: `actions, waiting for ${holder}`, done: 0, total: 1 });

  runs.cancel(running.run_id, "cancelled");
  expect((await first).status).toBe("cancelled");
  expect((await second).status).toBe("ok");
  expect((await third).status).toBe("ok");
});

test("a run that breaks on a bug gives up its turn", async () => {
  const endless: Record<string, unknown> = {};
  endless.itself = endless;
  const bug = operation({
    ...press,
    name: "test.bug",
    command: "AC_test_bug",
    run() {
      throw new Failure("rejected", "its details never end", endless);
    },
  });
  await using host = testService({ operations: [...operations, press, bug] });
  await expect(runActions(host.service, [["AC_test_bug", ["a"]]])).rejects.toThrow();
  expect((await runActions(host.service, [["AC_test_press", ["b"]]])).ok).toBe(true);
});

test("a run that is cancelled while it waits for its turn has run nothing", async () => {
  await using host = testService({ operations: [...operations, press] });
  const turn = await (await host.service.desktop()).inputLock.take(new Requester(null));
  const waiting = runActions(host.service, [["AC_test_press", ["a"]]]);
  const { run_id } = await firstRun(host.service);
  (await host.service.runs()).cancel(run_id, "cancelled");
  expect(await waiting).toMatchObject({ status: "cancelled", outcomes: [] });
  await turn.end("finished");
});

/** Its program acts, or leaves it to pointer and keyboard; answers who uses them. */
const either = operation({
  name: "test.either",
  summary: "Act by a program, or by pointer and keyboard",
  scope: "operate",
  command: "AC_test_either",
  input: v.strictObject({
    refuses: field(v.optional(v.boolean(), false), "Whether the program does nothing"),
    timeout: field(v.optional(v.number(), 60), "Seconds to wait"),
  }),
  output: v.nullable(v.string()),
  async run(service: Pick<Service, "desktop">, { refuses, timeout }, caller) {
    const desktop = await service.desktop();
    const { inputLock } = desktop;
    if (!refuses) return inputLock.user();
    const turn = { name: "test.either", why: "the program did not do it", timeout, whole: timeout };
    return withLateInput(desktop, caller, turn, async () => inputLock.user());
  },
});

describe("of an action by name", () => {
  const made = () => testService({ operations: [...operations, press, either] });
  const refusing = ["AC_test_either", { refuses: true }];

  test("what a program does itself waits for nobody who uses pointer and keyboard", async () => {
    await using host = made();
    const turn = await (await host.service.desktop()).inputLock.take(new Requester(null), "viewer ann");
    expect(await runActions(host.service, [["AC_test_either"]])).toMatchObject({
      status: "ok",
      outcomes: [{ result: "viewer ann" }],
    });
    await turn.end("finished");
  });

  test("the run takes a turn once it needs one, waits for it like any other, and gives it back", async () => {
    await using host = made();
    const runs = await host.service.runs();
    const { inputLock } = await host.service.desktop();
    const turn = await inputLock.take(new Requester(null), "viewer ann");
    const { promise: reported, resolve: progress } = Promise.withResolvers<Progress>();
    const caller = localCaller(host.service, "api", {
      progress: (step) => step.what.includes("waiting") && progress(step),
    });
    const actions = [["AC_test_either"], refusing, ["AC_test_either"]];
    const run = runActions(host.service, actions, {}, caller);
    await until("the run to wait", () => runs.list()[0]?.status === "waiting");
    expect(runs.list()[0]?.waiting_for).toBe("viewer ann");
    expect(await reported).toEqual({ what: "actions, waiting for viewer ann", done: 1, total: 3 });
    await turn.end("finished");
    const { run_id, outcomes } = await run;
    const own = `run ${run_id.slice(0, 8)} (manual)`;
    expect(outcomes.map(({ result }) => result)).toEqual(["viewer ann", own, null]);
  });

  test("it fails with who uses them where they do not come free", async () => {
    await using host = made();
    const { inputLock } = await host.service.desktop();
    const turn = await inputLock.take(new Requester(null), "viewer ann");
    const report = await runActions(host.service, [["AC_test_either", { refuses: true, timeout: 0.1 }]]);
    expect(report.error_text).toBe(
      "AC_test_either: the program did not do it; pointer and keyboard are not free after 0.1 s: viewer ann uses them",
    );
    expect((await host.service.runs()).show(report.run_id)).toMatchObject({ waiting_for: null });
    await turn.end("finished");
  });

  test("the run does nothing where it is cancelled while it waits for that turn", async () => {
    await using host = made();
    const runs = await host.service.runs();
    const { inputLock } = await host.service.desktop();
    const turn = await inputLock.take(new Requester(null), "viewer ann");
    const run = runActions(host.service, [refusing]);
    const waiting = await until("the run to wait", () => runs.list().find((one) => one.status === "waiting"));
    runs.cancel(waiting.run_id, "cancelled");
    expect(await run).toMatchObject({ status: "cancelled", outcomes: [{ ok: false }] });
    await turn.end("finished");
    // Nobody is left in the queue.
    await (await inputLock.take(new Requester(null), "viewer bob")).end("finished");
    expect(inputLock.taken()).toBe(false);
  });

  test("the turn ends with the run, also where the action goes on", async () => {
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const { promise: over, resolve: ends } = Promise.withResolvers<void>();
    const lasting = operation({
      ...either,
      name: "test.lasting",
      command: "AC_test_lasting",
      async run(service: Pick<Service, "desktop">, { timeout }, caller) {
        const turn = { name: "test.lasting", why: "the program did not do it", timeout, whole: timeout };
        return withLateInput(await service.desktop(), caller, turn, async () => {
          begins();
          await over;
          return null;
        });
      },
    });
    await using host = testService({ operations: [...operations, lasting] });
    const runs = await host.service.runs();
    const { inputLock } = await host.service.desktop();
    const run = runActions(host.service, [["AC_test_lasting"]]);
    await begun;
    const [running] = runs.list();
    expect(inputLock.holder()).toBe(`run ${running?.run_id.slice(0, 8)} (manual)`);
    runs.cancel(running?.run_id ?? "", "cancelled");
    const next = await inputLock.take(new Requester(null), "viewer ann");
    expect(inputLock.holder()).toBe("viewer ann");
    ends();
    await run;
    // The work that is over now gives back no turn of another.
    expect(inputLock.holder()).toBe("viewer ann");
    await next.end("finished");
  });

  test("a run that has its turn already does not wait for itself", async () => {
    await using host = made();
    const { run_id, outcomes } = await runActions(host.service, [["AC_test_press", ["a"]], refusing]);
    expect(outcomes[1]).toMatchObject({ ok: true, result: `run ${run_id.slice(0, 8)} (manual)` });
    expect((await host.service.desktop()).inputLock.taken()).toBe(false);
  });
});

const SECRET = "hunter2-s3cret";
const answerSecret: Operation = operation({
  name: "test.answer_secret",
  summary: "Answer with a secret",
  scope: "operate",
  command: "AC_test_answer_secret",
  input: v.strictObject({ text: field(secret(v.string()), "Secret") }),
  output: v.object({ plain: v.string(), inner: v.object({ token: v.nullable(secret(v.string())) }) }),
  run: (_service, { text }) => ({ plain: "fine", inner: { token: `${text}` } }),
}) as Operation;

const complain = operation({
  name: "test.complain",
  summary: "Fail with what was given",
  scope: "operate",
  changes: "announces",
  command: "AC_test_complain",
  input: v.strictObject({ title: field(v.string(), "Not secret in itself") }),
  output: v.null(),
  async run(_service, { title }, caller) {
    await caller.announce(`complain about ${title}`);
    throw notFound(`no window whose title contains ${JSON.stringify(title)}`);
  },
});

test("what was filled into a field that is not secret is kept nowhere either, though errors quote it", async () => {
  await using host = testService({ operations: [...operations, complain] });
  const password = 'hunter2 "quoted"';
  const report = await runActions(
    host.service,
    [
      ["AC_retry", { max_attempts: 1, body: [["AC_test_complain", { title: "Login ${password}" }]] }],
      ["AC_try", { body: [["AC_test_complain", { title: "${password}" }]], error_var: "problem" }],
      ["AC_test_complain", { title: "${problem}" }],
    ],
    { variables: { password } },
  );
  expect(report.outcomes[0]?.error).toContain("hunter2");
  expect(report.error_text).toBe(
    'AC_retry: attempt 1: AC_test_complain: no window whose title contains "Login ***" (and 1 more)',
  );
  const kept = [
    (await host.service.runs()).show(report.run_id),
    await (await host.service.history()).list({ limit: 9 }),
    await (await host.service.audit())?.list({ limit: 9 }),
  ];
  expect(JSON.stringify(kept)).not.toContain("hunter2");
  expect(JSON.stringify(kept)).toContain("complain about Login ***");
  expect(JSON.stringify(kept)).toContain("complain about AC_test_complain: no window whose title contains");
});

test("nor is a number", async () => {
  await using host = testService({ operations: [...operations, complain] });
  const actions = [["AC_test_complain", { title: "Code ${pin}" }]];
  const { error_text } = await runActions(host.service, actions, { variables: { pin: 48_151_623 } });
  expect(error_text).toBe('AC_test_complain: no window whose title contains "Code ***"');
});

test("nor is it logged when the host fails at it", async () => {
  const fall = operation({
    ...complain,
    name: "test.fall",
    command: "AC_test_fall",
    run(_service, { title }) {
      throw Object.assign(new Error(`EIO: i/o error, open '/x/${title}'`), { code: "EIO" });
    },
  });
  const logged: string[] = [];
  const log = { ...silentLog, error: (text: string) => logged.push(text) };
  await using host = testService({ operations: [...operations, fall], log });
  await runActions(host.service, [["AC_test_fall", { title: "${word}" }]], {
    variables: { word: "hunter2" },
  });
  expect(logged).toEqual([expect.stringContaining("open '/x/***'")]);
});

test("secrets are in the reply and nowhere else", async () => {
  const logged: string[] = [];
  const log = {
    info: (text: string) => logged.push(text),
    warn: (text: string) => logged.push(text),
    error: (text: string) => logged.push(text),
  };
  const announced: string[] = [];
  await using host = testService({ operations: [...operations, answerSecret], log });
  const report = await runActions(
    host.service,
    [
      ["AC_test_answer_secret", { text: SECRET }],
      ["AC_set_var", { name: "password", value: SECRET }],
      ["AC_loop", { times: 1, body: [["AC_test_answer_secret", { text: "${password}" }]] }],
      ["AC_sleep", { seconds: "${password}" }],
      ["AC_if_var", { name: "password", op: "lt", value: 1 }],
    ],
    {},
    {
      kind: "rest",
      lasts: true,
      client: "10.0.0.1",
      grant: OWNER,
      signal: new AbortController().signal,
      announce: async (subject) => void announced.push(subject),
    },
  );
  expect(JSON.stringify(report.outcomes[0]?.result)).toContain(SECRET);
  const runs = await host.service.runs();
  const kept = JSON.stringify([runs.list(), runs.show(report.run_id)]);
  expect(kept).toContain("fine");
  expect(kept).not.toContain(SECRET);
  expect(announced).toEqual([
    expect.stringMatching(
      new RegExp(
        `^run=${report.run_id} commands=AC_test_answer_secret,AC_set_var,AC_loop,AC_sleep,AC_if_var args=sha256:[0-9a-f]{64}$`,
      ),
    ),
  ]);
  expect(logged.join()).not.toContain(SECRET);
});

test("runs are counted while they go on, and by how they ended ever after", async () => {
  await using host = await testServer();
  const { service } = host;
  const scraped = async () => {
    const text = await (await host.call("/metrics")).text();
    return text.split("\n").filter((line) => /^service_(active_runs|runs_total)\b.* [1-9]/.test(line));
  };
  expect(await scraped()).toEqual([]);
  await runActions(service, [["AC_sleep", [0]]]);
  await host.call("/execute", post({ actions: [["AC_rest_api_status", { no: "such field" }]] }));
  await host.call("/execute", post({ actions: [["AC_runs_show", { run_id: "ffffffff" }]] }));
  const cancelled = runActions(service, [sleepLong]);
  const runs = await service.runs();
  await until("an active run", () => runs.totals().active > 0);
  expect(await scraped()).toEqual([
    'service_runs_total{source="rest",status="error"} 1',
    'service_runs_total{source="manual",status="ok"} 1',
    "service_active_runs 1",
  ]);
  runs.cancel(runs.list()[0]?.run_id ?? "", "enough");
  await cancelled;
  expect(await scraped()).toContain('service_runs_total{source="manual",status="cancelled"} 1');
  expect(await scraped()).not.toContain("service_active_runs 1");
});

const START = {
  source_type: "manual",
  source_id: "",
  token: null,
  script_path: "",
  commands: [],
  timeout_s: 60,
};

test("the last runs are kept, those that go on always", () => {
  const runs = new Runs(() => {});
  const begin = (run_id: string) => runs.begin({ run_id, ...START });
  const going = begin("still-going");
  for (let nth = 0; nth < 150; nth++) begin(`run-${nth}`).end("ok", null);
  const ids = runs.list().map(({ run_id }) => run_id);
  expect(ids).toHaveLength(101);
  expect(ids[0]).toBe("run-149");
  expect(ids.at(-1)).toBe("still-going");
  going.end("ok", null);
  expect(runs.show("still-going").status).toBe("ok");
  expect(runs.list()).toHaveLength(100);
});

test("one token pushes out the runs of others only as long as they have more", () => {
  const runs = new Runs(() => {});
  const run = (run_id: string, token: string | null) =>
    runs.begin({ ...START, run_id, token }).end("ok", null);
  for (let nth = 0; nth < 90; nth++) run(`own-${nth}`, null);
  for (let nth = 0; nth < 5; nth++) run(`bert-${nth}`, "bert");
  for (let nth = 0; nth < 1_000; nth++) run(`anna-${nth}`, "anna");
  const kept = (token: string | null) => runs.list().filter((one) => one.token === token).length;
  expect([kept(null), kept("bert"), kept("anna")]).toEqual([48, 5, 47]);
  expect(runs.show("own-89").status).toBe("ok");
});

test("a run that changes nothing is not noted, and pushes out none that does", () => {
  const noted: RunState[] = [];
  const runs = new Runs((one) => noted.push(one));
  runs.begin({ ...START, run_id: "change" }).end("ok", null);
  for (let nth = 0; nth < 150; nth++)
    runs.begin({ ...START, run_id: `read-${nth}`, isRead: true }).end("ok", null);
  expect(new Set(noted.map(({ run_id }) => run_id))).toEqual(new Set(["change"]));
  expect(runs.list()).toHaveLength(101);
  expect(runs.show("change").status).toBe("ok");
});

test("a bounded amount of a run's outcomes is kept", () => {
  const runs = new Runs(() => {});
  const run = runs.begin({ run_id: "long", ...START });
  for (let nth = 0; nth < 500; nth++)
    run.keep({ command: "AC_x", ok: true, result: "x".repeat(3_000), duration_ms: 0 });
  run.end("ok", null);
  expect(JSON.stringify(runs.show("long")).length).toBeLessThan(80_000);
});

test("one token has half of the runs; the rest is for others", () => {
  const runs = new Runs(() => {});
  let begun = 0;
  const begin = (token: string | null) => runs.begin({ ...START, run_id: `run-${begun++}`, token });
  for (let nth = 0; nth < 128; nth++) begin("anna");
  expect(() => begin("anna")).toThrow(
    "the token anna has 128 active runs already, and leaves the rest to others",
  );
  const [first] = Array.from({ length: 128 }, () => begin(null));
  expect(() => begin(null)).toThrow("there are 256 active runs already, which is the limit");
  first?.end("ok", null);
  begin("bert");
});

test("what hosts ask for with the owner's token and a scope has one share of the runs", async () => {
  await using host = testService();
  const limited = () => runActions(host.service, [sleepLong], { scope: ["operate"] });
  const running = Array.from({ length: 128 }, limited);
  const runs = await host.service.runs();
  await until("128 runs", () => runs.totals().active === 128);
  await expect(limited()).rejects.toThrow("128 active runs already, and leaves the rest to others");
  expect(runs.list()[0]?.token).toBe(null);
  expect((await runActions(host.service, [["AC_sleep", [0]]])).ok).toBe(true);
  for (const { run_id, status } of runs.list()) if (status === "running") runs.cancel(run_id, "enough");
  await Promise.all(running);
});

test("the results of the runs of one token leave room for those of others, and count until their run ends", () => {
  const runs = new Runs(() => {});
  const begin = (run_id: string, token: string | null) => runs.begin({ ...START, run_id, token });
  const [first, second, other, own] = [
    begin("1", "anna"),
    begin("2", "anna"),
    begin("3", "bert"),
    begin("4", null),
  ];
  const share = 128 * 1024 * 1024;
  expect([first.hold(share), second.hold(1), other.hold(share - 1), own.hold(1), own.hold(1)]).toEqual([
    true,
    false,
    true,
    true,
    false,
  ]);
  first.end("ok", null);
  expect(second.hold(share)).toBe(true);
});

test("what fails again and again before it begins is one run, which says how often", () => {
  const noted: RunState[] = [];
  const runs = new Runs((run) => noted.push(run));
  const { timeout_s, ...start } = { ...START, source_type: "scheduler", source_id: "nightly", token: "anna" };
  const refuse = (run_id: string, source_id = "nightly") =>
    runs.refuse({ ...start, run_id, source_id }, "path: no such file");
  const first = refuse("1");
  for (let nth = 2; nth <= 500; nth++) refuse(`${nth}`);
  expect(refuse("501")).toEqual({
    ...first,
    finished_at: expect.any(String),
    error_text: "path: no such file (501 starts in a row failed)",
  });
  expect(new Set(noted.map(({ run_id }) => run_id))).toEqual(new Set(["1"]));
  expect(refuse("other", "weekly").error_text).toBe("path: no such file");
  expect(runs.list().map(({ run_id }) => run_id)).toEqual(["other", "1"]);
  runs.begin({ ...start, timeout_s, run_id: "good" }).end("ok", null);
  expect(refuse("again").run_id).toBe("again");
});

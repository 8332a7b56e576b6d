/** Scripts of several hosts, with a desk and its hosts in this process. */
import { describe, expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { showTrace } from "../../../src/host/trace/operations";
import { post, runActions, testServer, testService, until } from "../../support";
import { host } from "../fleet/support";

/** A desk with so many hosts: lab-1, lab-2, … */
async function startDesk(count: number) {
  await using stack = new AsyncDisposableStack();
  const hosts: Awaited<ReturnType<typeof testServer>>[] = [];
  for (let nth = 0; nth < count; nth++) hosts.push(stack.use(await testServer()));
  const desk = stack.use(await testServer());
  const book = await desk.service.addressBook();
  await book.addAll(
    hosts.map(({ server }, nth) => host(`lab-${nth + 1}`, server.url, "lab")),
    false,
  );
  const owned = stack.move();
  return { hosts, desk, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

const on = (label: string, body: readonly unknown[], more: object = {}) => [
  "AC_on",
  { host: label, body, timeout: "20s", ...more },
];
const set = (name: string, value: unknown) => ["AC_set_var", { name, value }];
const equals = (name: string, value: unknown) => ["AC_assert", { name, op: "eq", value }];
const meet = (name: string) => ["AC_barrier", { name, timeout: "10s" }];

/** What the host has run for plans: how each run ended, the oldest first. */
const runsAt = async ({ service }: { service: Awaited<ReturnType<typeof testServer>>["service"] }) =>
  (await service.runs())
    .list()
    .map(({ status, commands }) => ({ status, commands }))
    .toReversed();

describe("AC_on", () => {
  test("has a host run its body with variables of the script, and gives back what it shares", async () => {
    await using fleet = await startDesk(2);
    const { desk, hosts } = fleet;
    const body = [equals("customer", "ACME"), set("order", "${= customer + '-17'}")];
    const report = await runActions(
      desk.service,
      [on("lab-2", body, { share: ["order"], secret: false, as: "block" }), equals("order", "ACME-17")],
      { variables: { customer: "ACME" } },
    );
    expect(report.error_text).toBeNull();
    const [ran] = await runsAt(hosts[1] as (typeof hosts)[number]);
    expect(ran?.status).toBe("ok");
    expect(await runsAt(hosts[0] as (typeof hosts)[number])).toEqual([]);
    expect(report.outcomes[0]?.result).toMatchObject({
      host: "lab-2",
      actions: 2,
      runs: [expect.any(String)],
    });
  });

  test("takes the secrets of its host, and none of the desk", async () => {
    await using fleet = await startDesk(1);
    const { desk } = fleet;
    const given = await desk.call(
      "/execute",
      post({ actions: [on("lab-1", [equals("pin", 1)], { variables: { pin: "${secret:pin}" } })] }),
    );
    expect(given.status).toBe(400);
    expect(await given.text()).toContain("a secret stays on its host");
  });

  test("names one host, in the book of a desk: else nothing runs", async () => {
    await using fleet = await startDesk(2);
    const { desk, hosts } = fleet;
    const faultOf = async (action: unknown, where = desk) => {
      const checked = await where.call("/execute/check", post({ actions: [set("x", 1), action] }));
      const ran = await where.call("/execute", post({ actions: [set("x", 1), action] }));
      const { error } = (await checked.json()) as { error: string };
      expect(await ran.json()).toMatchObject({ error });
      return error;
    };
    const nothing = [["AC_sleep", { seconds: 0 }]];
    expect(await faultOf(on("lab-9", nothing))).toContain("actions[1].host: no host is labelled lab-9");
    expect(await faultOf(on("tag:lab", nothing))).toContain(
      "tag:lab is 2 hosts (lab-1, lab-2): expected one",
    );
    expect(await faultOf(on("lab-1", nothing), hosts[0])).toContain("actions[1]: this host is no desk");
    expect(await faultOf(on("lab-1", [["AC_nope"]]))).toContain(
      "actions[1].body[0]: unknown command AC_nope",
    );
    expect(await faultOf(on("lab-1", [meet("a")]))).toContain("the barrier a can meet nobody");
    expect(await faultOf(on("lab-1", nothing, { share: ["y"] }))).toContain(
      "nothing in the body of AC_on sets y",
    );
    expect(await faultOf(meet("a"))).toContain("actions[1]: expected in the body of AC_on");
    expect(await runsAt(hosts[0] as (typeof hosts)[number])).toEqual([]);
  });

  test("as the job of a host that is no desk, is refused there", async () => {
    await using fleet = await startDesk(1);
    const inner = on("lab-1", [["AC_sleep", { seconds: 0 }]]);
    const { outcomes } = await runActions(fleet.desk.service, [on("lab-1", [inner])]);
    expect(outcomes[0]?.error).toContain("this host is no desk");
    expect(outcomes[0]?.detail).toMatchObject({ code: "refused", host: "lab-1" });
  });

  test("demands what a broadcast does: a token for `operate` sends no command that needs admin", async () => {
    await using fleet = await startDesk(1);
    const { desk, hosts } = fleet;
    const executor = await desk.service.executor();
    const caller = localCaller(desk.service, "script", { grant: { name: "runner", scopes: ["operate"] } });
    const list = await executor.prepare([on("lab-1", [["AC_config_export"]])]);
    await expect(executor.run(list, caller)).rejects.toThrow("AC_config_export needs admin");
    expect(await runsAt(hosts[0] as (typeof hosts)[number])).toEqual([]);
  });

  test("whose outcome is unknown ends the run: AC_retry around it sends nothing again", async () => {
    await using fleet = await startDesk(1);
    const { service } = fleet.desk;
    let sent = 0;
    const result = { label: "lab-1", ok: false, status: "failed", delivered: true, duration_ms: 1 } as const;
    Object.assign(service, {
      async runOnHost() {
        sent++;
        return { state: "unknown", result: { ...result, error: "its answer was lost" } };
      },
    });
    const around = ["AC_retry", { max_attempts: 3, backoff: 0, body: [on("lab-1", [set("x", 1)])] }];
    const report = await runActions(service, [around, set("after", 1)]);
    expect(sent).toBe(1);
    expect(report.status).toBe("error");
    expect(report.error_text).toContain(
      "lab-1: [0].body[0].body[0] (AC_set_var): what became of it is unknown",
    );
    expect(report.outcomes).toHaveLength(1);
  });
});

describe("AC_together", () => {
  test("has hosts wait for each other and pass variables on at barriers", async () => {
    await using fleet = await startDesk(3);
    const chat = [
      "AC_together",
      {
        timeout: "30s",
        branches: [
          [
            on("lab-1", [set("a", 1), meet("one"), equals("b", 2), meet("two"), equals("c", 3)], {
              share: ["a"],
            }),
          ],
          [on("lab-2", [set("b", 2), meet("one"), equals("a", 1), meet("two")], { share: ["b"] })],
          [
            on("lab-3", [meet("one"), set("c", "${= int(a + b)}"), meet("two")], {
              share: ["c"],
              secret: false,
            }),
          ],
        ],
      },
    ];
    const report = await runActions(fleet.desk.service, [chat, equals("c", 3)]);
    expect(report.error_text).toBeNull();
    const counts = await Promise.all(
      fleet.hosts.map(async (one) => (await runsAt(one)).map(({ status }) => status)),
    );
    expect(counts).toEqual([["ok", "ok", "ok"], ["ok", "ok"], ["ok"]]);
  });

  test("ends what the others run with the first failure, at their hosts too", async () => {
    await using fleet = await startDesk(2);
    const began = performance.now();
    const report = await runActions(fleet.desk.service, [
      [
        "AC_together",
        {
          branches: [
            [on("lab-1", [set("x", 1), ["AC_fail", { message: "no such order" }]])],
            [on("lab-2", [["AC_sleep", { seconds: 60 }]], { timeout: 120 })],
          ],
        },
      ],
    ]);
    expect(performance.now() - began).toBeLessThan(10_000);
    const [outcome] = report.outcomes;
    expect(outcome?.error).toContain("lab-1: [0].branches[0][0].body[1] (AC_fail): ");
    expect(outcome?.detail).toMatchObject({ code: "failed", host: "lab-1" });
    const other = fleet.hosts[1] as (typeof fleet.hosts)[number];
    await until("the other host has ended its part", async () =>
      (await runsAt(other)).every(({ status }) => status === "cancelled"),
    );
  });

  test("is cancelled on all hosts with its run", async () => {
    await using fleet = await startDesk(2);
    const { desk, hosts } = fleet;
    const sleeps = (label: string) => [on(label, [["AC_sleep", { seconds: 60 }]], { timeout: 120 })];
    const running = runActions(desk.service, [
      ["AC_together", { branches: [sleeps("lab-1"), sleeps("lab-2")] }],
    ]);
    for (const one of hosts)
      await until("it runs", async () => (await runsAt(one)).some(({ status }) => status === "running"));
    const runs = await desk.service.runs();
    runs.cancel(runs.list()[0]?.run_id ?? "", "cancelled by a test");
    expect((await running).status).toBe("cancelled");
    for (const one of hosts)
      await until("it was cancelled", async () =>
        (await runsAt(one)).every(({ status }) => status === "cancelled"),
      );
  });

  test("is refused before anything runs where barriers cannot meet, or a host is in two branches", async () => {
    await using fleet = await startDesk(2);
    const faultOf = async (...branches: unknown[]) => {
      const response = await fleet.desk.call(
        "/execute/check",
        post({ actions: [["AC_together", { branches }]] }),
      );
      expect(response.status).toBe(400);
      return ((await response.json()) as { error: string }).error;
    };
    const block = (label: string, ...names: string[]) => [on(label, names.map(meet))];
    expect(await faultOf(block("lab-1", "a"), block("lab-2"))).toContain(
      "the barrier a is in one branch only",
    );
    expect(await faultOf(block("lab-1", "a", "b"), block("lab-2", "b", "a"))).toContain("cannot meet");
    expect(await faultOf(block("lab-1"), block("lab-1"))).toContain("lab-1 is in two branches");
    expect(await faultOf([["AC_sleep", { seconds: 1 }]])).toContain("expected AC_on");
    expect(await faultOf(block("lab-1"), block("lab-7"))).toContain("no host is labelled lab-7");
  });

  test("tells and keeps no value that was shared, also where a host quotes it", async () => {
    await using fleet = await startDesk(2);
    const { service } = fleet.desk;
    const report = await runActions(service, [
      on("lab-1", [set("token", "hunter2-x")], { share: ["token"] }),
      on("lab-2", [["AC_fail", { message: "not ${token}" }]]),
    ]);
    expect(report.error_text).toContain("lab-2: [1].body[0] (AC_fail): AC_fail: not ***");
    const { ledger } = await service.plans();
    const errors = ledger.plans().flatMap(({ seq }) => ledger.targets(seq).map(({ error }) => error));
    expect(errors).toEqual([null, null]);
  });

  test("counts the actions of all bodies together", async () => {
    await using fleet = await startDesk(1);
    const sleeps = new Array(600).fill(["AC_sleep", { seconds: 0 }]);
    const actions = [on("lab-1", sleeps), on("lab-1", sleeps)];
    const response = await fleet.desk.call("/execute/check", post({ actions }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("expected at most 1000 actions in all");
  });

  test("leaves one trace, in which each step has its host", async () => {
    await using fleet = await startDesk(2);
    const { service } = fleet.desk;
    const report = await runActions(
      service,
      [
        [
          "AC_together",
          {
            branches: [
              [on("lab-1", [set("x", 1), meet("a")], { share: ["x"] })],
              [on("lab-2", [meet("a"), equals("x", 1)])],
            ],
          },
        ],
      ],
      { trace: true },
    );
    expect(report.error_text).toBeNull();
    const { steps } = await callOperation(
      service,
      showTrace,
      { trace: report.run_id },
      localCaller(service, "api"),
    );
    expect(steps.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    const lanes = Map.groupBy(steps, (step) => step.host);
    expect(lanes.get(undefined)).toMatchObject([{ command: "AC_together" }]);
    expect(lanes.get("lab-1")).toMatchObject([
      { command: "AC_set_var", place: "[0].branches[0][0].body[0]", ok: true },
      { command: "AC_barrier", place: "[0].branches[0][0].body[1]", ok: true },
    ]);
    expect(lanes.get("lab-2")).toMatchObject([{ command: "AC_barrier" }, { command: "AC_assert", ok: true }]);
    expect(steps.map(({ at_ms }) => at_ms)).toEqual(
      steps.map(({ at_ms }) => at_ms).toSorted((a, b) => a - b),
    );
  });

  test("is run by the server on the folder, where one runs beside the process of the script", async () => {
    await using fleet = await startDesk(1);
    const { desk } = fleet;
    await using beside = testService({ configDir: desk.configDir, handsOver: true });
    const report = await runActions(
      beside.service,
      [on("lab-1", [set("x", "${given}")], { share: ["x"], secret: false }), equals("x", 5)],
      { variables: { given: 5 } },
    );
    expect(report.error_text).toBeNull();
    const rows = await (await desk.service.audit())?.list({ limit: 20 });
    expect(
      rows?.some(({ event_type, detail }) => event_type === "cli" && detail?.includes("together.run")),
    ).toBe(true);
  });
});

test("a check knows which variables the blocks of a script need", async () => {
  await using fleet = await startDesk(1);
  const actions = [
    on("lab-1", [equals("a", 1), set("b", "${b0}"), equals("b", 1)], { share: ["b"] }),
    equals("b", 1),
  ];
  const response = await fleet.desk.call("/execute/check", post({ actions }));
  expect(await response.json()).toMatchObject({ variables: { used: ["a", "b", "b0"], unset: ["a", "b0"] } });
});

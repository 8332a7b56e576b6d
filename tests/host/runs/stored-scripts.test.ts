/** Stored scripts: what a token for one of them may do, and what nobody may. */
import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { Scope } from "../../../src/core/rights";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { post, testServer } from "../../support";
import { rowsOf } from "../audit/support";

/** What only the owner may do, and what `operate` may not. */
const NIGHTLY = [
  ["AC_sleep", [0]],
  ["AC_try", { body: [["AC_audit_log_list", { limit: 1 }]] }],
];

/** A server with the script `nightly`, and callers with tokens. */
async function hostWith(script: object = { name: "nightly", actions: NIGHTLY }) {
  const host = await testServer();
  const files = configFiles(host.configDir);
  const stored = await host.call("/scripts/add", post(script));
  const as = async (...scope: Scope[]) => {
    const token = await addToken(tokenStore(files, silentLog), {
      name: scope.join("-").replaceAll(":", "."),
      scope,
    });
    return async (path: string, body?: object) => {
      const init = body === undefined ? {} : post(body);
      const answer = await host.call(path, { ...init, headers: { authorization: `Bearer ${token}` } });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
  };
  const rows = () => rowsOf(files.auditLog).map(({ detail }) => detail ?? "");
  return { host, files, as, rows, stored, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

test("a token for one script runs it, whatever its commands need, and nothing else", async () => {
  await using made = await hostWith();
  await made.host.call("/scripts/add", post({ name: "other", actions: [["AC_sleep", [0]]] }));
  const ask = await made.as("run:nightly");
  const ran = await ask("/scripts/nightly/run", {});
  expect([ran.status, ran.body.ok]).toEqual([200, true]);
  const refused = await Promise.all([
    ask("/scripts/other/run", {}),
    ask("/scripts/none/run", {}),
    ask("/execute", { actions: NIGHTLY }),
    ask("/scripts"),
    ask("/runs"),
    ask("/audit/list"),
    ask("/scripts/add", { name: "mine", actions: NIGHTLY }),
    ask("/scripts/remove", { name: "nightly" }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual(Array(8).fill(403));
  expect(refused[0]?.body).toMatchObject({
    error: "this token allows run:nightly, but this needs run:other",
  });
});

test("a run of a stored script is traced for a caller with the scope screen, whatever the script may do", async () => {
  await using made = await hostWith();
  const traced = async (...scope: Scope[]) =>
    (await made.as(...scope))("/scripts/nightly/run", { trace: true });
  const refused = await traced("run:nightly");
  expect([refused.status, refused.body.error]).toEqual([
    403,
    "this token allows run:nightly, but trace needs screen",
  ]);
  const { body } = await traced("run:nightly", "screen");
  expect(body.ok).toBe(true);
  const listed = await (await made.host.call("/traces")).json();
  expect(listed).toMatchObject({
    count: 1,
    traces: [{ run_id: body.run_id, script_path: "script:nightly" }],
  });
});

test("a job that a script added ends with the script; removing it names the tokens that still name it", async () => {
  await using made = await hostWith();
  const { host } = made;
  const script_path = `${host.configDir}/quick.json`;
  writeFileSync(script_path, JSON.stringify([["AC_sleep", [0]]]));
  const add = (job_id: string) => ["AC_scheduler_add_job", { job_id, script_path, interval_seconds: 3_600 }];
  await host.call("/scripts/add", post({ name: "plan", actions: [add("theirs")] }));
  const planned = await (await made.as("run:plan"))("/scripts/plan/run", {});
  expect(planned.body.ok).toBe(true);
  // The owner's own job has nothing to do with the script.
  await host.call("/scripts/add", post({ name: "own", actions: [add("own")] }));
  await host.call("/scripts/own/run", post({}));
  const removed = await host.call("/scripts/remove", post({ name: "plan" }));
  expect(await removed.json()).toEqual({ removed: "plan", jobs: 1, tokens: ["run.plan"] });
  await host.call("/scripts/remove", post({ name: "own" }));
  const { jobs } = (await (await host.call("/jobs")).json()) as { jobs: object[] };
  expect(jobs).toMatchObject([
    {
      job_id: "theirs",
      enabled: false,
      disabled_reason: "the stored script plan, which added it, was removed",
    },
    { job_id: "own", enabled: true, disabled_reason: null },
  ]);
});

test("a job of a script whose file was edited by hand does not run either", async () => {
  await using made = await hostWith();
  const { host } = made;
  const script_path = `${host.configDir}/quick.json`;
  writeFileSync(script_path, JSON.stringify([["AC_sleep", [0]]]));
  const actions = [["AC_scheduler_add_job", { job_id: "theirs", script_path, interval_seconds: 3_600 }]];
  await host.call("/scripts/add", post({ name: "plan", actions }));
  await (await made.as("run:plan"))("/scripts/plan/run", {});
  writeFileSync(made.files.scripts, JSON.stringify({ scripts: [] }));
  const run = await host.call("/jobs/run", post({ job_id: "theirs" }));
  expect([run.status, JSON.stringify(await run.json())]).toEqual([
    409,
    expect.stringContaining("the stored script plan, which added it, was removed"),
  ]);
});

test("without its name, a caller needs the scope of each command: operate is not admin through a stored script", async () => {
  await using made = await hostWith();
  const operate = await (await made.as("operate"))("/scripts/nightly/run", {});
  expect([operate.status, operate.body.error]).toEqual([
    403,
    "this run allows operate, but AC_audit_log_list needs audit",
  ]);
  expect((await (await made.as("operate", "audit"))("/scripts/nightly/run", {})).body.ok).toBe(true);
  expect((await made.host.call("/scripts/nightly/run", post({}))).status).toBe(200);
  for (const scope of ["metrics", "read", "screen", "audit", "sync"] as const) {
    expect([scope, (await (await made.as(scope))("/scripts/nightly/run", {})).status]).toEqual([scope, 403]);
  }
});

test("a token that is given other scopes too has them in the script no more than elsewhere", async () => {
  await using made = await hostWith({ name: "nightly", actions: [["AC_sleep", [0]]] });
  const ask = await made.as("read", "run:nightly");
  expect((await ask("/execute", { actions: [["AC_sleep", [0]]] })).status).toBe(403);
  expect((await ask("/scripts/nightly/run", {})).status).toBe(200);
  expect(await ask("/scripts")).toMatchObject({ status: 200, body: { count: 1 } });
});

test("the audit rows and the history name the script, its digest and the token", async () => {
  await using made = await hostWith();
  await (await made.as("run:nightly"))("/scripts/nightly/run", {});
  const { sha256 } = (await made.stored.json()) as { sha256: string };
  expect(
    made
      .rows()
      .filter((row) => row.includes("run="))
      .at(-1),
  ).toMatch(
    new RegExp(
      `^POST /scripts/nightly/run -> ok:200 run=\\S+ script=nightly stored=sha256:${sha256} commands=.+ token=run.nightly$`,
    ),
  );
  const { runs } = (await (await made.host.call("/history")).json()) as { runs: object[] };
  expect(runs).toMatchObject([{ script_path: "script:nightly", token: "run.nightly", status: "ok" }]);
});

test("whoever runs it sets the parameters that it was stored with, and no other variable or option", async () => {
  const actions = [["AC_if_var", { name: "customer", value: "ACME", else: [["AC_audit_log_list"]] }]];
  await using made = await hostWith({ name: "order", actions, parameters: ["customer"] });
  const ask = await made.as("run:order");
  const ran = await ask("/scripts/order/run", { variables: { customer: "ACME" } });
  expect(ran.body.ok).toBe(true);
  const odd = await ask("/scripts/order/run", { variables: { customer: "ACME", path: "/etc/passwd" } });
  expect(odd).toMatchObject({ status: 400, body: { error: "variables: order takes customer" } });
  for (const more of [{ timeout_s: 0.001 }, { stop_on_error: true }, { actions }, { scope: [] }]) {
    expect((await ask("/scripts/order/run", more)).body.error).toContain("unknown field");
  }
  expect((await ask("/scripts/order/run", { name: "other" })).body.error).toBe(
    "name: expected in the path, not in the body",
  );
});

test("a variable for a script without parameters is refused, with how it gets one", async () => {
  await using made = await hostWith();
  const odd = await (await made.as("run:nightly"))("/scripts/nightly/run", {
    variables: { customer: "ACME" },
  });
  expect(odd.body.error).toBe(
    "variables: nightly declares no parameters: `svc scripts add nightly … --replace --parameter customer` does",
  );
});

test("its deadline and where it stops are stored with it", async () => {
  const actions = [
    ["AC_set_var", { name: "a" }],
    ["AC_sleep", [60]],
  ];
  await using made = await hostWith({ name: "short", actions: [["AC_sleep", [60]]], timeout_s: 0.05 });
  expect((await (await made.as("run:short"))("/scripts/short/run", {})).body.status).toBe("timeout");
  expect((await made.host.call("/scripts/add", post({ name: "bad", actions }))).status).toBe(400);
});

test("a script that was changed in the file is not run", async () => {
  await using made = await hostWith();
  const text = readFileSync(made.files.scripts, "utf8");
  expect(statSync(made.files.scripts).mode & 0o777).toBe(0o600);
  const ask = await made.as("run:nightly");
  for (const [from, to] of [
    ["AC_audit_log_list", "AC_audit_log_clear"],
    ['"parameters": []', '"parameters": ["x"]'],
  ] as const) {
    writeFileSync(made.files.scripts, text.replace(from, to));
    expect(await ask("/scripts/nightly/run", {})).toMatchObject({
      status: 503,
      body: { error: "the script nightly is not the one that was stored: store it again" },
    });
  }
});

test("a name that is taken is taken over only with replace, and a removed script is gone", async () => {
  await using made = await hostWith();
  const again = { name: "nightly", actions: [["AC_sleep", [0]]] };
  const refused = await made.host.call("/scripts/add", post(again));
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining("nightly is already taken"),
  ]);
  expect((await made.host.call("/scripts/add", post({ ...again, replace: true }))).status).toBe(200);
  const ask = await made.as("operate");
  expect((await ask("/scripts/nightly/run", {})).status).toBe(200);
  await made.host.call("/scripts/remove", post({ name: "nightly" }));
  expect((await ask("/scripts/nightly/run", {})).status).toBe(404);
});

test("no argument of a script is in the listing or the audit log", async () => {
  const actions = [["AC_set_var", { name: "password", value: "s3cret-of-the-script" }]];
  await using made = await hostWith({ name: "login", actions });
  const ran = await (await made.as("run:login", "read"))("/scripts/login/run", {});
  expect(ran.status).toBe(200);
  expect(await (await made.host.call("/scripts")).text()).not.toContain("s3cret");
  expect(made.rows().join("\n")).not.toContain("s3cret");
});

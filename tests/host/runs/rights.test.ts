/** The rights of a run: those of its caller for each action, and what the process permits at all. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { localCaller } from "../../../src/core/caller";
import { NO_INPUT } from "../../../src/core/fields";
import { operation } from "../../../src/core/operation";
import type { Scope } from "../../../src/core/rights";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { operations } from "../../../src/operations";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { post, runActions, TOKEN, testServer, testService, until } from "../../support";
import { rowsOf } from "../audit/support";

type Host = Awaited<ReturnType<typeof testServer>>;

/** A `call` with a token for these scopes. */
async function callerWith({ configDir, call }: Host, ...scope: Scope[]): Promise<Host["call"]> {
  const store = tokenStore(configFiles(configDir), silentLog);
  const token = await addToken(store, { name: scope.join("-"), scope });
  return (path, init = {}) =>
    call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
}

const answer = async (response: Response) => [response.status, await response.json()];

const startedRuns = (host: Host) =>
  rowsOf(configFiles(host.configDir).auditLog).filter(({ detail }) => detail?.includes("started run="));

test("a list is refused before it runs when its caller may not use all of it, however nested", async () => {
  await using host = await testServer();
  const call = await callerWith(host, "operate");
  const nested = [
    "AC_try",
    { body: [["AC_sleep", [0]]], finally: [["AC_loop", { times: 1, body: [["AC_config_export"]] }]] },
  ];
  const refused = await call("/execute", post({ actions: [nested, ["AC_audit_log_list"]] }));
  expect(await answer(refused)).toEqual([
    403,
    { error: "this run allows operate, but AC_config_export needs admin, AC_audit_log_list needs audit" },
  ]);
  expect(startedRuns(host)).toEqual([]);
  const allowed = await call("/execute", post({ actions: [["AC_sleep", [0]]] }));
  expect([allowed.status, startedRuns(host).length]).toEqual([200, 1]);
});

test("a file and a check of a list are held to the same", async () => {
  await using host = await testServer();
  const [operate, read] = [await callerWith(host, "operate"), await callerWith(host, "read", "operate")];
  const path = `${host.configDir}/script.json`;
  await Bun.write(path, JSON.stringify([["AC_config_export"]]));
  expect((await operate("/execute_file", post({ path }))).status).toBe(403);
  expect((await read("/execute/check", post({ actions: [["AC_config_export"]] }))).status).toBe(403);
});

test("an action is checked when it runs, too", async () => {
  const another = operation({
    name: "test.another",
    summary: "Call another operation as this caller",
    scope: "operate",
    command: "AC_test_another",
    input: NO_INPUT,
    output: v.null(),
    async run(service: object, _input, caller) {
      const { callOperation } = await import("../../../src/core/call");
      const exportConfig = operations.find(({ name }) => name === "config.export");
      if (exportConfig) await callOperation(service, exportConfig, {}, caller);
      return null;
    },
  });
  await using made = testService({ operations: [...operations, another] });
  const grant = { name: "anna", scopes: ["operate" as const] };
  const caller = localCaller(made.service, "api", { grant });
  const report = await runActions(made.service, [["AC_test_another"]], {}, caller);
  expect(report.error_text).toBe("AC_test_another: this token allows operate, but config.export needs admin");
});

test("a run can be limited to some of the scopes of its caller, never to more", async () => {
  await using host = await testServer();
  const limited = await host.call("/execute", post({ actions: [["AC_config_export"]], scope: ["operate"] }));
  expect(limited.status).toBe(403);
  const call = await callerWith(host, "operate");
  const wider = await call(
    "/execute",
    post({ actions: [["AC_runs_list"]], scope: ["operate", "admin", "read"] }),
  );
  expect(await answer(wider)).toEqual([
    403,
    { error: "this run allows operate, but AC_runs_list needs read" },
  ]);
});

test("a limited run starts nothing that goes on after it: no job, no sync", async () => {
  await using host = await testServer();
  const dir = host.configDir;
  const lasting = [
    ["AC_scheduler_add_job", { script_path: "/x.json", interval_seconds: 60 }],
    ["AC_scheduler_add_cron_job", { script_path: "/x.json", cron_expression: "@daily" }],
    ["AC_sync_start", { dir, to: "nobody" }],
  ];
  const answer = await host.call("/execute", post({ actions: lasting, scope: ["operate"] }));
  const { outcomes } = (await answer.json()) as { outcomes: Array<{ error: string }> };
  const words = 'starts what goes on after this run, which has a "scope": use a token of this host';
  expect(outcomes.map(({ error }) => error)).toEqual([`a job ${words}`, `a job ${words}`, `a sync ${words}`]);
  const { jobs } = (await (await host.call("/jobs")).json()) as { jobs: unknown[] };
  expect(jobs).toEqual([]);
});

test("a limited run ends when its client goes, another one does not", async () => {
  await using host = await testServer();
  const runs = await host.service.runs();
  const client = new AbortController();
  for (const limits of [{}, { scope: ["operate"] }]) {
    const list = post({ actions: [["AC_sleep", [60]]], ...limits });
    void host.call("/execute", { ...list, signal: client.signal }).catch(() => null);
  }
  await until("both runs", () => runs.list().filter(({ status }) => status === "running").length === 2);
  client.abort();
  const ended = await until("the end of one", () => runs.list().find(({ status }) => status === "cancelled"));
  expect(ended.error_text).toBe("the client that asked for it has gone");
  expect(runs.totals().active).toBe(1);
  for (const { run_id, status } of runs.list()) if (status === "running") runs.cancel(run_id, "over");
});

test("the outcomes of a run are shown to whoever may use its commands", async () => {
  await using host = await testServer();
  const call = await callerWith(host, "operate");
  const run = async (...actions: unknown[]) =>
    ((await (await host.call("/execute", post({ actions }))).json()) as { run_id: string }).run_id;
  expect((await call(`/runs/${await run(["AC_sleep", [0]])}`)).status).toBe(200);
  expect(await answer(await call(`/runs/${await run(["AC_audit_log_list"])}`))).toEqual([
    403,
    { error: "this token allows operate, but AC_audit_log_list needs audit" },
  ]);
});

test("what a run found out of the host's own token is not kept", async () => {
  await using host = await testServer();
  const report = await runActions(host.service, [["AC_rest_api_status"]]);
  expect(JSON.stringify(report.outcomes)).toContain(host.server.token.current());
  expect(JSON.stringify((await host.service.runs()).show(report.run_id))).not.toContain(
    host.server.token.current(),
  );
});

test("only the owner finds out the host's own token, also in a process of its own", async () => {
  await using host = await testServer();
  const grant = { name: "anna", scopes: ["admin" as const] };
  const caller = localCaller(host.service, "scheduler", { grant });
  const report = await runActions(host.service, [["AC_rest_api_status"]], {}, caller);
  expect(report.outcomes[0]?.result).toMatchObject({ running: true, token: null });
});

test("no list starts or stops a server whose process does not permit it", async () => {
  await using host = await testServer({ service: { serverControl: false } });
  for (const command of ["AC_rest_api_stop", "AC_rest_api_start"]) {
    const refused = await host.call("/execute", post({ actions: [["AC_try", { body: [[command]] }]] }));
    expect(await answer(refused)).toMatchObject([
      403,
      { error: `${command} works in \`svc execute\` and the programmatic API, not under \`svc serve\`` },
    ]);
  }
  const { commands } = (await (await host.call("/commands")).json()) as { commands: string[] };
  expect(commands.filter((name) => name.startsWith("AC_rest"))).toEqual(["AC_rest_api_status"]);
});

test("what a run relays of other runs and hosts is shown to its caller alone", async () => {
  await using host = await testServer();
  const { server, call } = host;
  await call("/admin/hosts/add", post({ label: "self", base_url: server.url, token: "token-in-the-book" }));
  const relay = async (...action: unknown[]) =>
    (await (await call("/execute", post({ actions: [action] }))).json()) as { run_id: string };
  const export_ = await relay("AC_config_export");
  const shown = await relay("AC_runs_show", { run_id: export_.run_id });
  expect(JSON.stringify(shown)).toContain("AC_config_export");
  await call("/admin/hosts/set", post({ label: "self", token: TOKEN }));
  const sent = await relay("AC_admin_broadcast_execute", { on: "self", actions: [["AC_config_export"]] });
  expect(JSON.stringify(sent)).toContain(`"token":"${TOKEN}"`);
  const operate = await callerWith(host, "operate");
  expect((await operate(`/runs/${export_.run_id}`)).status).toBe(403);
  const kept = async ({ run_id }: { run_id: string }) =>
    ((await (await operate(`/runs/${run_id}`)).json()) as { outcomes: Array<{ result: unknown }> }).outcomes;
  expect(await kept(shown)).toMatchObject([{ result: { run_id: export_.run_id, outcomes: "***" } }]);
  expect(await kept(sent)).toMatchObject([
    { result: [{ label: "self", status: "ok", result: "***", outcomes: "***" }] },
  ]);
});

test("the list of commands names those that a server does not permit, with what would permit them", async () => {
  await using host = await testServer();
  const { commands, not_permitted } = (await (await host.call("/commands")).json()) as {
    commands: string[];
    not_permitted: Array<{ command: string; reason: string }>;
  };
  const reasons = new Map(not_permitted.map(({ command, reason }) => [command, reason]));
  expect(reasons.get("AC_shell_command")).toContain("--allow-shell");
  expect(reasons.get("AC_audit_log_clear")).toContain("--allow-audit-clear");
  expect(commands.filter((name) => reasons.has(name))).toEqual([]);
  await using open = await testServer({ service: { allow_shell: true } });
  const body = (await (await open.call("/commands")).json()) as { not_permitted: typeof not_permitted };
  expect(body.not_permitted.map(({ command }) => command)).not.toContain("AC_shell_command");
});

/** Whose a job is: the token that added it, with its name and scopes, until it is revoked. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { RunState } from "../../../src/host/runs/types";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { replaceToken, revokeToken } from "../../../src/trust/operations/tokens";
import { post, testServer, until } from "../../support";
import { rowsOf } from "../audit/support";
import { job, testScheduler } from "./support";

/** A server that runs its jobs, and a `call` with a token for scripts. */
async function hostOfAnna(actions: unknown[]) {
  const host = await testServer();
  await host.service.runJobs();
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const token = await addToken(store, { name: "anna", scope: ["read", "operate"] });
  const call = (path: string, init: RequestInit = {}) =>
    host.call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  const script_path = join(host.configDir, "script.json");
  writeFileSync(script_path, JSON.stringify(actions));
  const added = await call("/jobs/add", post({ job_id: "hers", script_path, interval_seconds: 3_600 }));
  const revoke = () =>
    callOperation(host.service, revokeToken, { name: "anna" }, localCaller(host.service, "cli"));
  const jobs = async () => ((await (await host.call("/jobs")).json()) as { jobs: object[] }).jobs;
  return { host, call, revoke, jobs, added: (await added.json()) as { problem: string | null } };
}

const lastRun = async ({ host }: Awaited<ReturnType<typeof hostOfAnna>>, status: string) => {
  const runs = await host.service.runs();
  return until(`a run that is ${status}`, () => runs.list().find((run: RunState) => run.status === status));
};

test("a job runs with the name and the scopes of who added it, whoever starts it", async () => {
  const made = await hostOfAnna([["AC_audit_log_list"]]);
  await using host = made.host;
  expect(made.added).toMatchObject({
    token: "anna",
    scopes: ["read", "operate"],
    problem: "this job allows read, operate, but AC_audit_log_list needs audit",
  });
  await host.call("/jobs/run", post({ job_id: "hers" }));
  expect(await lastRun(made, "error")).toMatchObject({
    source_id: "hers",
    token: "anna",
    error_text: "this run allows read, operate, but AC_audit_log_list needs audit",
  });
});

test("the rows of a job's run end in the name of its token, and the history has it", async () => {
  const made = await hostOfAnna([["AC_usb_watch_stop"]]);
  await using host = made.host;
  await host.call("/jobs/run", post({ job_id: "hers", wait: true }));
  const rows = rowsOf(configFiles(host.configDir).auditLog).filter(
    ({ event_type }) => event_type === "scheduler",
  );
  expect(rows.map(({ detail }) => detail?.replaceAll(/[0-9a-f-]{36,}/g, "…"))).toEqual([
    "job=hers run=… commands=AC_usb_watch_stop args=sha256:… token=anna",
    "job=hers run=… usb.watch.stop token=anna",
  ]);
  const { runs } = (await (await host.call("/history?source_id=hers")).json()) as { runs: object[] };
  expect(runs).toMatchObject([{ source_id: "hers", token: "anna", status: "ok" }]);
});

test("revoking a token disables its jobs, says why, and cancels what runs", async () => {
  const made = await hostOfAnna([["AC_sleep", [60]]]);
  await using host = made.host;
  void made.call("/execute", post({ actions: [["AC_sleep", [60]]] }));
  await host.call("/jobs/run", post({ job_id: "hers" }));
  const runs = await host.service.runs();
  await until("both runs", () => runs.list().filter(({ status }) => status === "running").length === 2);
  expect(await made.revoke()).toEqual({ removed: "anna", jobs: 1 });
  await until("their end", () => runs.list().every(({ status }) => status === "cancelled"));
  expect(runs.list().map(({ error_text }) => error_text)).toEqual([
    "its token anna was revoked",
    "its token anna was revoked",
  ]);
  const disabled_reason = "its token anna was revoked";
  expect(await made.jobs()).toMatchObject([
    { job_id: "hers", enabled: false, next_run_at: null, disabled_reason },
  ]);
  for (const verb of ["resume", "run"]) {
    const refused = await host.call(`/jobs/${verb}`, post({ job_id: "hers" }));
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining(disabled_reason)]);
  }
});

test("a token that another process revokes ends its runs, also when the server is not notified", async () => {
  const made = await hostOfAnna([["AC_sleep", [60]]]);
  await using host = made.host;
  await host.call("/jobs/run", post({ job_id: "hers" }));
  await lastRun(made, "running");
  const files = configFiles(host.configDir);
  await tokenStore(files, silentLog).change((list) => list.remove("anna"));
  expect(await lastRun(made, "cancelled")).toMatchObject({ source_id: "hers" });
});

test("a job whose token has expired fails and says why, and runs again once the token is replaced", async () => {
  const made = await hostOfAnna([["AC_sleep", [0]]]);
  await using host = made.host;
  const files = configFiles(host.configDir);
  const expires = new Date(Date.now() - 1_000).toISOString();
  await tokenStore(files, silentLog).change((list) => list.update("anna", { expires }));
  await host.call("/jobs/run", post({ job_id: "hers" }));
  const error_text = "its token anna has expired: `svc token rotate anna`";
  expect(await lastRun(made, "error")).toMatchObject({ source_id: "hers", token: "anna", error_text });
  expect(await made.jobs()).toMatchObject([{ job_id: "hers", enabled: true, disabled_reason: null }]);
  const owner = localCaller(host.service, "cli");
  await callOperation(host.service, replaceToken, { name: "anna" }, owner);
  await host.call("/jobs/run", post({ job_id: "hers" }));
  expect(await lastRun(made, "ok")).toMatchObject({ source_id: "hers", token: "anna" });
});

test("what a token runs ends when the token expires", async () => {
  const made = await hostOfAnna([["AC_sleep", [60]]]);
  await using host = made.host;
  await host.call("/jobs/run", post({ job_id: "hers" }));
  await lastRun(made, "running");
  const expires = new Date(Date.now() - 1_000).toISOString();
  const store = tokenStore(configFiles(host.configDir), silentLog);
  await store.change((list) => list.update("anna", { expires }));
  expect(await lastRun(made, "cancelled")).toMatchObject({ error_text: "its token anna has expired" });
});

test("a job whose token was revoked by hand is disabled when it is due", async () => {
  using made = testScheduler();
  await made.scheduler.add(job({ job_id: "hers", interval_seconds: 60, token: "anna", scopes: ["operate"] }));
  await made.scheduler.add(job({ job_id: "owners", interval_seconds: 60 }));
  await made.scheduler.start();
  made.revoked.add("anna");
  await made.time.until("2026-06-01T00:01:30.000Z");
  expect(made.runs.map((run) => run.job)).toEqual(["owners"]);
  expect(await made.scheduler.jobs()).toMatchObject([
    { job_id: "hers", enabled: false, disabled_reason: "its token anna was revoked" },
    { job_id: "owners", enabled: true, disabled_reason: null },
  ]);
});

test("a job of before tokens had scopes is the owner's", async () => {
  using made = testScheduler();
  const old = { job_id: "old", script_path: "/x.json", interval_seconds: 60 };
  writeFileSync(made.file, JSON.stringify({ jobs: [old] }));
  expect(await made.scheduler.jobs()).toMatchObject([{ token: null, scopes: ["admin"] }]);
  await made.scheduler.pause("old");
  expect(JSON.parse(readFileSync(made.file, "utf8")).jobs).toMatchObject([
    { token: null, scopes: ["admin"] },
  ]);
});

test("a named token has half of the jobs, and leaves the rest to others", async () => {
  using made = testScheduler();
  const jobs = (count: number, token: string | null) =>
    Array.from({ length: count }, (_, nth) =>
      job({ job_id: `${token}-${nth}`, interval_seconds: 60, token }),
    );
  writeFileSync(made.file, JSON.stringify({ jobs: jobs(500, "anna") }));
  const add = (token: string | null) =>
    made.scheduler.add(job({ job_id: "one-more", interval_seconds: 60, token }));
  await expect(add("anna")).rejects.toThrow("the token anna has 500 jobs already");
  await add("bert");
  await made.scheduler.remove("one-more");
  await add(null);
});

test("the jobs of a named token start 120 times in a minute, those of the owner as often as they should", async () => {
  using made = testScheduler();
  const each = { interval_seconds: 1 };
  for (let nth = 0; nth < 20; nth++)
    await made.scheduler.add(job({ ...each, job_id: `hers-${nth}`, token: "anna", scopes: ["operate"] }));
  await made.scheduler.add(job({ ...each, job_id: "his", token: "bert", scopes: ["operate"] }));
  for (const job_id of ["owners-1", "owners-2", "owners-3"])
    await made.scheduler.add(job({ ...each, job_id }));
  await made.scheduler.start();
  await made.time.until("2026-06-01T00:01:59.500Z");
  const starts = (name: string) => made.runs.filter((run) => run.job.startsWith(name)).length;
  expect([starts("hers"), starts("his"), starts("owners")]).toEqual([240, 119, 357]);
  expect(made.said).toEqual(
    Array(2).fill(
      "the jobs of the token anna have started 120 times in this minute: its further runs are skipped until the next",
    ),
  );
});

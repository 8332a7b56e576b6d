/** The jobs that a host takes: each runs once or not at all, with the rights of its token, on record. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Scope } from "../../../src/core/rights";
import { showRun } from "../../../src/host/runs/operations/runs";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/trust/identity";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { seal } from "../../../src/wire/job/envelope";
import { joinString, joinWith, tlsServer } from "../../desk/join/support";
import { caller, temporaryFolder, testServer } from "../../support";
import { rowsOf } from "../audit/support";
import { at, bodyOf, countingTable, madeUpJob, send } from "./support";

const hostWith = async (table = countingTable()) => ({
  table,
  host: await testServer({ service: { operations: table.operations } }),
});

/** As whoever has a new token of this name. */
async function tokenOf(
  host: { readonly configDir: string; readonly server: { readonly url: string } },
  name: string,
  ...scope: Scope[]
) {
  const token = await addToken(tokenStore(configFiles(host.configDir), silentLog), { name, scope });
  return { call: caller(host.server.url, token) };
}

/** The rows of the audit log that say that a job has begun. */
const begunIn = ({ configDir }: { readonly configDir: string }) =>
  rowsOf(configFiles(configDir).auditLog).flatMap(({ detail }) =>
    detail?.includes("started plan=") ? detail : [],
  );

test("a job runs once, however often it comes, and each time the host says how it ended", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const body = bodyOf(madeUpJob());
  const all = await Promise.all(Array.from({ length: 20 }, () => send(host, body)));
  const [first] = all;
  expect(first).toMatchObject({
    status: 200,
    state: "done",
    outcome: { ok: true, status: "ok", results_kept: true },
  });
  for (const one of [...all, await send(host, body)]) expect(one).toEqual(first as typeof one);
  expect(table.ran()).toBe(1);
});

test("without the content, a host says what it knows and runs nothing", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const job = madeUpJob();
  const { content, ...ask } = bodyOf(job);
  expect(await send(host, ask)).toMatchObject({ status: 200, state: "unseen", outcome: null });
  expect(table.ran()).toBe(0);
  await send(host, { ...ask, content });
  expect(await send(host, ask)).toMatchObject({
    state: "done",
    outcome: { result: { 'execute: ["AC_count"]': 1 } },
  });
});

test("a long job is answered as running, and its end can be waited for", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const body = bodyOf(madeUpJob({ actions: [["AC_hold"]] }));
  expect(await send(host, { ...body, wait_s: 0 })).toMatchObject({ state: "running", outcome: null });
  await table.reached;
  const ended = send(host, body);
  table.letGo();
  expect(await ended).toMatchObject({ state: "done", outcome: { ok: true } });
  expect(table.ran()).toBe(1);
});

test("the results are gone after a restart; how it ended is not", async () => {
  const { host } = await hostWith();
  await using _ = host;
  const body = bodyOf(madeUpJob());
  const before = await send(host, body);
  await host.service.stop();
  const next = countingTable();
  const { createService } = await import("../../../src/service/service");
  const service = createService({ configDir: host.configDir, operations: next.operations });
  const server = await (await service.rest()).start({ port: 0, token: "another-token-0123456789" });
  const after = await send({ call: caller(server.url, "another-token-0123456789") }, body);
  expect(after).toMatchObject({
    state: "done",
    outcome: { ...before.outcome, result: {}, outcomes: [], results_kept: false },
  });
  expect(next.ran()).toBe(0);
  await service.stop();
});

test("a job that a stop of this host has cut off is interrupted, before and after its restart", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const body = bodyOf(madeUpJob({ actions: [["AC_hold"]] }));
  const waiting = send(host, { ...body, wait_s: 20 });
  await table.reached;
  const stopped = (await host.service.runs()).stop(0);
  expect(await waiting).toMatchObject({
    state: "interrupted",
    outcome: { ok: false, status: "cancelled", by_desk: false },
  });
  await stopped;
  await host.service.stop();
  const { createService } = await import("../../../src/service/service");
  const service = createService({ configDir: host.configDir, operations: countingTable().operations });
  const server = await (await service.rest()).start({ port: 0, token: "another-token-0123456789" });
  expect(await send({ call: caller(server.url, "another-token-0123456789") }, body)).toMatchObject({
    state: "interrupted",
    outcome: { status: "cancelled", results_kept: false },
  });
  await service.stop();
});

describe("a job is refused, and nothing runs,", () => {
  test.each([
    ["when it has expired", { not_before: at(-60_000), expires: at(-1) }, 200, "expired"],
    ["when it is too early", { not_before: at(600_000) }, 409, "not to begin before"],
    ["when it would be known for too long", { expires: at(40 * 86_400_000) }, 400, "32 days"],
    ["when its content is another one", { digest: "0".repeat(64) }, 400, "not what the digest"],
  ])("%s", async (_, more, status, words) => {
    const { table, host } = await hostWith();
    await using _host = host;
    const answer = await send(host, bodyOf(madeUpJob({}, more)));
    expect(answer.status).toBe(status);
    expect(answer.error ?? answer.state).toContain(words);
    expect(table.ran()).toBe(0);
  });

  test("when its list is wrong, and it may come again", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const body = bodyOf(madeUpJob({ actions: [["AC_count"], ["AC_nonsense"]] }));
    for (const answer of [await send(host, body), await send(host, body)])
      expect(answer).toMatchObject({ status: 400, error: expect.stringContaining("AC_nonsense") });
    expect(table.ran()).toBe(0);
    expect(await send(host, { ...body, content: undefined })).toMatchObject({ state: "unseen" });
  });

  test("when another job has its id", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const job = madeUpJob();
    await send(host, bodyOf(job));
    const other = madeUpJob({ timeout_s: 61 }, { id: job.id, plan: job.plan });
    expect(await send(host, bodyOf(other))).toMatchObject({
      status: 409,
      error: "this id is that of another job",
    });
    expect(table.ran()).toBe(1);
  });
});

describe("the rights of a job are those of its token:", () => {
  test("a program runs where svc was started with --allow-shell only", async () => {
    const job = madeUpJob({ actions: [["AC_shell_command", { shell_command: "true" }]] });
    await using strict = await testServer();
    expect(await send(strict, bodyOf(job))).toMatchObject({
      status: 403,
      error: expect.stringContaining("--allow-shell"),
    });
    await using open = await testServer({ service: { allow_shell: true } });
    expect(await send(open, bodyOf(job))).toMatchObject({ status: 200, outcome: { ok: true } });
  });

  test("a token needs operate, and what its commands need; a scope in the job takes away, and gives nothing", async () => {
    const { host } = await hostWith();
    await using _ = host;
    expect(await send(await tokenOf(host, "reader", "read"), bodyOf(madeUpJob()))).toMatchObject({
      status: 403,
    });
    const operator = await tokenOf(host, "operator", "operate");
    const shot = { actions: [["AC_screenshot"]] };
    expect(await send(operator, bodyOf(madeUpJob(shot)))).toMatchObject({
      status: 403,
      error: expect.stringContaining("AC_screenshot needs screen"),
    });
    const limited = bodyOf(madeUpJob({ scope: ["read"] }));
    expect(await send(operator, limited)).toMatchObject({
      status: 403,
      error: expect.stringContaining("AC_count needs operate"),
    });
    const more = bodyOf(madeUpJob({ ...shot, scope: ["operate", "screen", "admin"] }));
    expect(await send(operator, more)).toMatchObject({ status: 403 });
  });

  test("a token learns nothing of the jobs of others", async () => {
    const { host } = await hostWith();
    await using _ = host;
    const anna = await tokenOf(host, "anna", "operate");
    const berta = await tokenOf(host, "berta", "operate");
    const body = bodyOf(madeUpJob());
    expect(await send(anna, body)).toMatchObject({ state: "done" });
    expect(await send(berta, body)).toMatchObject({
      status: 403,
      error: expect.stringContaining("jobs of others need admin"),
    });
    expect(await send(host, body)).toMatchObject({ state: "done" });
  });
});

test("a run says of which plan and job it is, and the audit log whose job it was", async () => {
  const { host } = await hostWith();
  await using _ = host;
  const job = madeUpJob();
  const { outcome } = await send(host, bodyOf(job));
  const run_id = outcome?.run_id ?? "";
  const source = { source_type: "plan", source_id: `${job.plan}/${job.id}`, script_path: "" };
  const run = await callOperation(host.service, showRun, { run_id }, localCaller(host.service, "api"));
  expect(run).toMatchObject({ ...source, status: "ok" });
  const history = (await (await host.call("/history?source_type=plan")).json()) as object;
  expect(history).toMatchObject({ runs: [{ ...source, run_id }] });
  expect(begunIn(host)).toEqual([
    expect.stringMatching(
      new RegExp(
        `^POST /plans/jobs -> started plan=${job.plan} job=${job.id} content=sha256:${job.digest} run=${run_id} commands=AC_count args=`,
      ),
    ),
  ]);
});

describe("a cancelled job", () => {
  const cancel = (host: Parameters<typeof send>[0], job: Parameters<typeof bodyOf>[0]) =>
    send(host, seal(job, "cancel", null, null), "/plans/jobs/cancel");

  test("ends where it runs", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const job = madeUpJob({ actions: [["AC_hold"]] });
    const answered = send(host, bodyOf(job));
    await table.reached;
    expect(await cancel(host, job)).toMatchObject({ status: 200 });
    expect(await answered).toMatchObject({
      state: "done",
      outcome: { ok: false, status: "cancelled", by_desk: true, error_text: "cancelled by its desk" },
    });
    expect(await cancel(host, job)).toMatchObject({ state: "done" });
  });

  test("never begins where it comes before the job", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const job = madeUpJob();
    expect(await cancel(host, job)).toMatchObject({ status: 200, state: "cancelled" });
    expect(await send(host, bodyOf(job))).toMatchObject({ state: "cancelled", outcome: null });
    expect(table.ran()).toBe(0);
  });
});

describe("where a host has joined a desk,", () => {
  async function joined() {
    const table = countingTable();
    const desk = await tlsServer();
    const made = await tlsServer({ service: { operations: table.operations } });
    const { join_string } = await joinString(desk);
    await joinWith(made, join_string);
    const [entry] = (await desk.service.addressBook()).hosts();
    if (!entry?.member) throw new Error("not joined");
    const call = caller(made.server.url, entry.token ?? "");
    const key = openSigningKey(desk.files.deskKey);
    return {
      ...{ desk, made, table, call, key, host_id: entry.member.host_id, entry },
      async [Symbol.asyncDispose]() {
        await made[Symbol.asyncDispose]();
        await desk[Symbol.asyncDispose]();
      },
    };
  }

  test("its token brings jobs that the desk has signed for this host, and no others", async () => {
    await using one = await joined();
    const { host_id, key, table, made } = one;
    expect(await send(one, bodyOf(madeUpJob(), { host_id, key }))).toMatchObject({
      status: 200,
      state: "done",
    });
    using folder = temporaryFolder();
    const thief = openSigningKey(join(folder.path, "key"));
    const others = [
      bodyOf(madeUpJob()),
      bodyOf(madeUpJob(), { host_id, key: thief }),
      bodyOf(madeUpJob(), { host_id: "f".repeat(32), key }),
      {
        ...bodyOf(madeUpJob(), { host_id, key }),
        signature: bodyOf(madeUpJob(), { host_id, key }).signature,
      },
    ];
    for (const body of others) expect(await send(one, body)).toMatchObject({ status: 403 });
    expect(table.ran()).toBe(1);
    expect(begunIn(made)).toEqual([
      expect.stringMatching(
        /^POST \/plans\/jobs -> started plan=\S+ job=\S+ signed content=sha256:.* token=desk$/,
      ),
    ]);
  });

  test("its desk cancels with its signature alone", async () => {
    await using one = await joined();
    const { host_id, key } = one;
    const job = madeUpJob();
    expect(await send(one, seal(job, "cancel", null, null), "/plans/jobs/cancel")).toMatchObject({
      status: 403,
    });
    expect(await send(one, seal(job, "cancel", host_id, key), "/plans/jobs/cancel")).toMatchObject({
      state: "cancelled",
    });
  });
});

test("a host that takes no job makes no file for them", async () => {
  const { host } = await hostWith();
  await using _ = host;
  await host.call("/status");
  expect(existsSync(configFiles(host.configDir).seenJobs)).toBe(false);
  expect(readdirSync(join(host.configDir, "run"))).not.toContain("job-files");
});

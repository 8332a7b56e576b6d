/** Runs of a process beside a server: the server keeps them, lists them and cancels them. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { streamOfOwner } from "../../src/client/owner";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { attachRun } from "../../src/host/runs/attached-run";
import { cancelRun, listHistory, listRuns, showRun } from "../../src/host/runs/operations/runs";
import type { RunView } from "../../src/host/runs/types";
import { isLocked } from "../../src/lib/lock";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { Requester } from "../../src/lib/slots";
import { createService, type Service } from "../../src/service/service";
import { nextTurn, runActions, temporaryFolder, testServer, testService, until } from "../support";

/** What a process says that has nothing to say. */
async function* nothing() {}

const sleepLong = ["AC_sleep", { seconds: 60 }];

/** A process beside the server of `configDir`. */
const beside = (configDir: string) =>
  createService({ configDir, audit: false, handsOver: true, log: silentLog });

const call = (service: Service) => localCaller(service, "api");

/** The only run that `service` lists, once it is there and as it should be. */
const listed = (service: Service, status: string) =>
  until(`a run that is ${status}`, async () => {
    const { runs } = await callOperation(service, listRuns, {}, call(service));
    return runs.find((run) => run.status === status);
  });

const history = async (service: Service) =>
  (await callOperation(service, listHistory, {}, call(service))).runs.map(({ status }) => status);

describe("a run beside a server", () => {
  test("is listed by the server, with its outcomes and what it logs", async () => {
    await using host = await testServer();
    const other = beside(host.configDir);
    const { run_id } = await runActions(other, [
      ["AC_log", { message: "hello" }],
      ["AC_sleep", [0]],
    ]);
    await other.stop();
    expect(await callOperation(host.service, showRun, { run_id }, call(host.service))).toMatchObject({
      ...{ run_id, status: "ok", commands: ["AC_log", "AC_sleep"], outcomes_kept: true },
      outcomes: [{ ok: true }, { ok: true }],
      log: [{ message: "hello" }],
    });
    expect(await history(host.service)).toEqual(["ok"]);
  });

  test("is cancelled at the server", async () => {
    await using host = await testServer();
    const other = beside(host.configDir);
    const report = runActions(other, [sleepLong]);
    const { run_id } = await listed(host.service, "running");
    await callOperation(host.service, cancelRun, { run_id }, call(host.service));
    expect(await report).toMatchObject({ status: "cancelled", error_text: "cancelled by api" });
    await other.stop();
    await listed(host.service, "cancelled");
  });

  test("does not keep the server from stopping, and goes on when it does", async () => {
    const folder = temporaryFolder();
    const host = await testServer({ service: { configDir: folder.path } });
    const other = beside(folder.path);
    const running = runActions(other, [sleepLong]);
    const { run_id } = await listed(host.service, "running");
    // It has ended before the run does.
    await host[Symbol.asyncDispose]();

    // The next server keeps it.
    await using next = await testServer({ service: { configDir: folder.path } });
    await listed(next.service, "running");
    (await other.runs()).cancel(run_id, "enough");
    expect((await running).status).toBe("cancelled");
    await other.stop();
    expect(await history(next.service)).toEqual(["cancelled"]);
    folder[Symbol.dispose]();
  });

  test("is interrupted when its process has gone", async () => {
    await using host = await testServer();
    const run: RunView = {
      ...{ run_id: crypto.randomUUID(), source_type: "manual", source_id: "", token: null, script_path: "" },
      ...{ commands: ["AC_sleep"], error_text: null, waiting_for: null },
      status: "running",
      ...{ started_at: new Date().toISOString(), finished_at: null, duration_seconds: null },
    };
    const killed = new AbortController();
    const pieces = streamOfOwner(host.configDir, attachRun, { run }, killed.signal, nothing());
    const over = pieces.next().catch(() => {});
    await listed(host.service, "running");
    killed.abort();
    await over;
    await listed(host.service, "interrupted");
    expect(await history(host.service)).toEqual(["interrupted"]);
  });

  test("is kept by its own process when the server has ended", async () => {
    const folder = temporaryFolder();
    const host = await testServer({ service: { configDir: folder.path } });
    const other = beside(folder.path);
    const running = runActions(other, [sleepLong]);
    const { run_id } = await listed(host.service, "running");
    await host[Symbol.asyncDispose]();
    (await other.runs()).cancel(run_id, "enough");
    await running;
    await other.stop();
    await using later = testService({ configDir: folder.path });
    expect(await history(later.service)).toEqual(["cancelled"]);
    folder[Symbol.dispose]();
  });
});

describe("pointer and keyboard beside a server", () => {
  const lockOf = async (service: Service) => (await service.desktop()).inputLock;
  const owner = new Requester(null);

  test("are given by the server, in the order in which its runs and those of others ask", async () => {
    await using host = await testServer();
    const other = beside(host.configDir);
    const [here, there] = [await lockOf(host.service), await lockOf(other)];
    const first = await here.take(owner, "run 1");
    const waits = Promise.withResolvers<void>();
    const order: string[] = [];
    const theirs = there.take(owner, "run 2", waits.resolve).then((hold) => {
      order.push("run 2");
      expect(here.user()).toBe("run 2");
      return hold.end("finished");
    });
    await waits.promise;
    const third = here.take(new Requester(null, new AbortController().signal), "run 3").then((hold) => {
      order.push("run 3");
      return hold.end("finished");
    });
    await first.end("finished");
    await Promise.all([theirs, third]);
    expect(order).toEqual(["run 2", "run 3"]);
    await other.stop();
  });

  test("stay with a run that is cancelled until its keys are released", async () => {
    await using host = await testServer();
    const other = beside(host.configDir);
    const cancelled = new AbortController();
    const hold = await (await lockOf(other)).take(new Requester(null, cancelled.signal), "run 1");
    cancelled.abort();
    const here = await lockOf(host.service);
    await nextTurn();
    expect(here.user()).toBe("run 1");
    await hold.end("finished");
    await (await here.take(owner, "run 2")).end("finished");
    await other.stop();
  });

  test("stay with their run when the server ends", async () => {
    using folder = temporaryFolder();
    const host = await testServer({ service: { configDir: folder.path } });
    const other = beside(folder.path);
    const hold = await (await lockOf(other)).take(owner, "run 1");
    await host[Symbol.asyncDispose]();
    const { inputLock } = configFiles(folder.path);
    await until("the lock of its own process", () => isLocked(inputLock));
    await hold.end("finished");
    expect(isLocked(inputLock)).toBe(false);
    await other.stop();
  });
});

test("a run without a server is kept in its own process", async () => {
  using folder = temporaryFolder();
  const other = beside(folder.path);
  await runActions(other, [["AC_sleep", [0]]]);
  expect(await history(other)).toEqual(["ok"]);
  await other.stop();
  expect(existsSync(`${folder.path}/run/owner.json`)).toBe(false);
});

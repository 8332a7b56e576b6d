import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import * as v from "valibot";
import { askOwner, streamOfOwner } from "../../src/client/owner";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { NO_INPUT } from "../../src/core/fields";
import { type Operation, operation } from "../../src/core/operation";
import { listEvents } from "../../src/events/operations";
import { listAudit } from "../../src/host/audit/operations";
import { inspectorRecord, inspectorReset } from "../../src/host/inspector/operations";
import { showRun } from "../../src/host/runs/operations/runs";
import { overview } from "../../src/http/operations";
import { conflict } from "../../src/lib/errors";
import { tryLock } from "../../src/lib/lock";
import { connectToOwner, listenAsOwner } from "../../src/lib/owner-socket";
import { configFiles } from "../../src/lib/paths";
import { host as addressed } from "../desk/fleet/support";
import { runActions, temporaryFolder, testServer, testService } from "../support";

/** An operation of a test, which the owner answers. */
const tested = (name: string, run: Operation["run"], changes?: true) =>
  operation({
    name: `test.${name}`,
    summary: "Test",
    scope: "admin",
    ...(changes && { changes }),
    answeredBy: "server",
    input: NO_INPUT,
    output: v.any(),
    run,
  });

/** A server with these operations alone. */
const serverWith = (...operations: Operation[]) => testServer({ service: { operations } });

describe("the owner of a folder answers", () => {
  test("without a token, also where its own is not known here", async () => {
    await using host = await testServer({ token: "of-an-environment-that-is-not-ours" });
    const asked = await askOwner(host.configDir, overview, {});
    expect(asked?.answer).toMatchObject({ server: { url: host.server.url } });
  });

  test("as the command line would: a change is on record as one of it", async () => {
    await using host = await testServer();
    await askOwner(host.configDir, inspectorReset, {});
    const caller = localCaller(host.service, "api");
    const { rows } = await callOperation(host.service, listAudit, {}, caller);
    expect(rows.map(({ event_type, detail }) => [event_type, detail])).toEqual([["cli", "inspector.reset"]]);
  });

  test("with the rights of who asks, where those are less", async () => {
    const rights = tested("rights", (_service, _input, { grant }) => grant);
    const reads = { ...rights, name: "test.reads", scope: "read" } as const;
    await using host = await serverWith(rights, reads);
    const grant = { name: null, scopes: ["read" as const], owner: true as const, without: ["jobs.list"] };
    await expect(askOwner(host.configDir, rights, {}, { grant })).rejects.toMatchObject({
      code: "forbidden",
    });
    expect(await askOwner(host.configDir, reads, {}, { grant })).toEqual({ answer: grant });
    expect(await askOwner(host.configDir, rights, {})).toEqual({ answer: { name: null, scopes: ["admin"] } });
  });

  test("with its failures as if they had happened here", async () => {
    const fails = tested("fails", () => {
      throw Object.assign(conflict("it runs", { run: 7 }), { cause: new Error("/its/path") });
    });
    await using host = await serverWith(fails);
    await expect(askOwner(host.configDir, fails, {})).rejects.toMatchObject({
      code: "conflict",
      message: "it runs",
      more: { run: 7 },
      cause: { message: "/its/path" },
    });
  });

  test("for a run that there is not", async () => {
    await using host = await testServer();
    await expect(askOwner(host.configDir, showRun, { run_id: "no-such-run" })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test("for a bug, without its words", async () => {
    const breaks = tested("breaks", () => {
      throw new TypeError("secret");
    });
    await using host = await serverWith(breaks);
    await expect(askOwner(host.configDir, breaks, {})).rejects.toMatchObject({
      code: "unavailable",
      message: "test.breaks failed in the server: its log says why",
    });
  });

  test("with what it says on the way", async () => {
    const talks = tested("talks", (_service, _input, { progress, warn, logged, lasts }) => {
      progress?.({ what: "rows", done: 1, total: 2, item: { id: 7 } });
      warn?.("careful");
      logged?.("from the script");
      return { lasts };
    });
    await using host = await serverWith(talks);
    const said: unknown[] = [];
    const take = (one: unknown) => void said.push(one);
    const asked = await askOwner(host.configDir, talks, {}, { progress: take, warn: take, logged: take });
    expect(said).toEqual([
      { what: "rows", done: 1, total: 2, item: { id: 7 } },
      "careful",
      "from the script",
    ]);
    expect(asked?.answer).toEqual({ lasts: true });
  });

  test("with a stream, until it is not read any longer", async () => {
    await using host = await testServer();
    const ended = new AbortController();
    const pieces: string[] = [];
    const reading = (async () => {
      for await (const piece of streamOfOwner(
        host.configDir,
        listEvents,
        { types: ["hook.*"] },
        ended.signal,
      ))
        pieces.push(piece);
    })();
    await expect(reading).rejects.toMatchObject({ code: "bad_input" });
    for await (const piece of streamOfOwner(host.configDir, listEvents, {}, ended.signal)) {
      pieces.push(piece);
      break;
    }
    expect(pieces.join("")).toContain("event: mark");
  });

  test("nothing that a terminal does itself", async () => {
    const { answeredBy: _, ...own } = tested("own", () => 1);
    await using host = await serverWith(own);
    await expect(askOwner(host.configDir, own, {})).rejects.toThrow(
      /^the server is svc .*: restart the server$/,
    );
  });
});

describe("when a process has gone that asked the owner,", () => {
  const asking = async (changes?: true) => {
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<string>();
    const goOn = Promise.withResolvers<void>();
    const waits = tested(
      "waits",
      async (_service, _input, { signal }) => {
        begun.resolve();
        const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        over.resolve(await Promise.race([aborted.then(() => "ended"), goOn.promise.then(() => "done")]));
      },
      changes,
    );
    const host = await serverWith(waits);
    const gone = new AbortController();
    const asked = askOwner(host.configDir, waits, {}, { signal: gone.signal });
    await begun.promise;
    return { host, gone, asked, over: over.promise, goOn: goOn.resolve };
  };

  test("what only reads ends", async () => {
    const { host, gone, asked, over } = await asking();
    gone.abort();
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    expect(await over).toBe("ended");
    await host[Symbol.asyncDispose]();
  });

  test("a change goes on", async () => {
    const { host, gone, asked, over, goOn } = await asking(true);
    gone.abort();
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    goOn();
    expect(await over).toBe("done");
    await host[Symbol.asyncDispose]();
  });

  test("what is attended is told to end, and answers how it did; it ends with the server too", async () => {
    let begun = Promise.withResolvers<void>();
    const attends = tested(
      "attends",
      async (_service, _input, { signal }) => {
        const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        begun.resolve();
        await aborted;
        return "left";
      },
      true,
    );
    const attended = { ...attends, attended: true } as const;
    await using host = await serverWith(attended);
    const gone = new AbortController();
    const asked = askOwner(host.configDir, attended, {}, { signal: gone.signal });
    await begun.promise;
    gone.abort();
    expect(await asked).toEqual({ answer: "left" });
    begun = Promise.withResolvers();
    const another = askOwner(host.configDir, attended, {});
    await begun.promise;
    await host.server.stop();
    expect(await another).toEqual({ answer: "left" });
  });

  test("a server that stops ends what reads, and waits for a change", async () => {
    const read = await asking();
    const stopped = read.host.server.stop();
    await expect(read.asked).resolves.toBeDefined();
    await stopped;
    await read.host[Symbol.asyncDispose]();
    const change = await asking(true);
    const stopping = change.host.server.stop();
    change.goOn();
    await expect(change.asked).resolves.toBeDefined();
    await stopping;
    expect(existsSync(configFiles(change.host.configDir).ownerFile)).toBe(false);
    await change.host[Symbol.asyncDispose]();
  });

  test("a server that stops does not wait for who has not asked yet", async () => {
    await using host = await testServer();
    const idle = await connectToOwner(configFiles(host.configDir).ownerFile);
    await host.server.stop();
    await idle?.closed;
  });
});

describe("without an answer", () => {
  test("a change is said to be unknown, and a read is not", async () => {
    using folder = temporaryFolder();
    const { ownerFile, serveLock, runFolder } = configFiles(folder.path);
    mkdirSync(runFolder, { mode: 0o700 });
    const owner = listenAsOwner(ownerFile, async (connection) => {
      await connection.next(10_000);
      connection.cut();
    });
    // Without the lock of a server, who listens is nobody to ask.
    expect(await askOwner(folder.path, inspectorReset, {})).toBeUndefined();
    tryLock(serveLock);
    const unknown = "whether it was done is unknown, see `svc audit list`";
    await expect(askOwner(folder.path, inspectorReset, {})).rejects.toMatchObject({
      code: "unavailable",
      message: `the server ended before it had answered inspector.reset: ${unknown}`,
    });
    await expect(askOwner(folder.path, overview, {})).rejects.toMatchObject({
      message: "the server ended before it had answered dashboard.overview",
    });
    owner.stop();
  });

  test("nothing is asked where no server runs, and no folder is made", async () => {
    await using made = testService();
    expect(await askOwner(made.configDir, overview, {})).toBeUndefined();
    expect(existsSync(configFiles(made.configDir).runFolder)).toBe(false);
  });
});

describe("an action of a run in a process beside a server", () => {
  test("acts on that server where it is about its watcher, its statistics and its address", async () => {
    await using host = await testServer();
    await callOperation(
      host.service,
      inspectorRecord,
      { samples: [{ rtt_ms: 7 }] },
      localCaller(host.service, "api"),
    );
    await using beside = testService({ configDir: host.configDir, handsOver: true });
    const { outcomes } = await runActions(beside.service, [
      ["AC_usb_watch_start", { poll_interval_s: 60 }],
      ["AC_inspector_summary"],
      ["AC_rest_api_status"],
      ["AC_usb_recent_events"],
    ]);
    expect(outcomes.map(({ ok, error }) => [ok, error])).toEqual(outcomes.map(() => [true, undefined]));
    expect((await host.service.usb()).watcher.running).toBe(true);
    expect(outcomes[1]?.result).toMatchObject({ sample_count: 1 });
    expect(outcomes[2]?.result).toMatchObject({ running: true, url: host.server.url, token: null });
    expect(outcomes[3]?.result).toMatchObject({ watcher_running: true });
    (await host.service.usb()).watcher.stop();
  });

  test("changes the files of the folder by that server, with the paths of the process and on record", async () => {
    await using host = await testServer();
    await using beside = testService({ configDir: host.configDir, handsOver: true, audit: false });
    const { outcomes } = await runActions(beside.service, [
      ["AC_scheduler_add_job", { script_path: "nightly.json", interval_seconds: 60, job_id: "a" }],
      ["AC_config_set", { name: "desktop.screen", value: ["none"] }],
    ]);
    expect(outcomes.map(({ ok, error }) => [ok, error])).toEqual(outcomes.map(() => [true, undefined]));
    expect(outcomes[0]?.result).toMatchObject({ script_path: resolve("nightly.json") });
    const bus = beside.service.events();
    const types = Array.from({ length: bus.newest }, (_, nth) => bus.at(nth + 1)?.type.name);
    expect(types.filter((type) => !type?.startsWith("run."))).toEqual([]);
    const rows = await (await host.service.audit())?.list({ limit: 10 });
    expect(rows?.map(({ event_type, detail }) => [event_type, detail?.split(" ", 1)[0]])).toEqual([
      ["cli", "config.set"],
      ["cli", "jobs.add"],
    ]);
  });

  test("is limited to what the run may do, on that server too", async () => {
    await using host = await testServer();
    await using beside = testService({ configDir: host.configDir, handsOver: true });
    const executor = await beside.service.executor();
    const caller = localCaller(beside.service, "script", {
      grant: { name: null, scopes: ["read"], owner: true },
    });
    const list = await executor.prepare([["AC_usb_watch_start"]]);
    await expect(executor.run(list, caller)).rejects.toThrow("AC_usb_watch_start needs operate");
    expect((await host.service.usb()).watcher.running).toBe(false);
  });

  test("makes plans, runs them and broadcasts by that server, which alone writes the ledger", async () => {
    await using host = await testServer();
    await (await host.service.addressBook()).add(addressed("here", host.server.url));
    await using beside = testService({ configDir: host.configDir, handsOver: true });
    const nothing = [["AC_sleep", { seconds: 0 }]];
    const { outcomes } = await runActions(beside.service, [
      ["AC_plan_new", { actions: nothing, on: "here", as: "made" }],
      ["AC_plan_apply", { id: "${made.id}", digest: "${made.digest}", wait: true }],
      ["AC_plan_retry", { id: "${made.id}", state: ["failed"] }],
      ["AC_admin_broadcast_execute", { actions: nothing, on: "here" }],
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false, true]);
    expect(outcomes[1]?.result).toMatchObject({ state: "done", counts: { ok: 1 } });
    expect(outcomes[2]?.error).toContain("has no host that is failed");
    expect(outcomes[3]?.result).toMatchObject([{ label: "here", ok: true }]);
    const typesOf = (bus: ReturnType<typeof beside.service.events>) =>
      Array.from({ length: bus.newest }, (_, nth) => bus.at(nth + 1)?.type.name);
    expect(typesOf(beside.service.events()).filter((type) => type?.startsWith("plan."))).toEqual([]);
    expect(typesOf(host.service.events()).filter((type) => type === "plan.started")).toHaveLength(2);
    const rows = await (await host.service.audit())?.list({ limit: 50 });
    const subjects = rows?.flatMap((row) =>
      row.event_type === "cli" ? [`${row.detail}`.split(" ", 1)[0]] : [],
    );
    // What failed has a second row.
    const [retry, ...others] = ["plan.retry", "plan.retry", "admin.broadcast_execute"];
    expect(subjects?.reverse()).toEqual(["plan.new", "plan.apply", retry, ...others]);
  });

  test("fails as a plan does that it waits for", async () => {
    await using host = await testServer();
    await (await host.service.addressBook()).add(addressed("here", host.server.url));
    await using beside = testService({ configDir: host.configDir, handsOver: true });
    const { outcomes } = await runActions(beside.service, [
      [
        "AC_plan_new",
        { actions: [["AC_assert", { name: "x", op: "eq", value: 1 }]], on: "here", as: "made" },
      ],
      ["AC_plan_apply", { id: "${made.id}", digest: "${made.digest}", wait: true }],
    ]);
    expect(outcomes[1]).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^the plan \S+ is .*1 failed$/),
    });
  });

  test("is done by the process itself where no server runs", async () => {
    await using alone = testService({ handsOver: true });
    const { outcomes } = await runActions(alone.service, [["AC_rest_api_status"]]);
    expect(outcomes).toMatchObject([{ ok: true, result: { running: false } }]);
  });
});

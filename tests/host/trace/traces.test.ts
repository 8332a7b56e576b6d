/** Traces: what is recorded of a run, what is left out, and which traces a host keeps. */
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { callOperation } from "../../../src/core/call";
import { type Caller, localCaller } from "../../../src/core/caller";
import type { Scope } from "../../../src/core/rights";
import { openTrace } from "../../../src/host/trace/open";
import { getTrace, showTrace } from "../../../src/host/trace/operations";
import { LIMITS } from "../../../src/host/trace/trace";
import { createTraceWriter } from "../../../src/host/trace/trace-writer";
import { Traces, type TracesParts } from "../../../src/host/trace/traces";
import { writePage } from "../../../src/host/trace/write-page";
import { silentLog } from "../../../src/lib/log";
import { createZip } from "../../../src/lib/zip";
import type { Service } from "../../../src/service/service";
import { post, runActions, temporaryFolder, testServer, testService, until } from "../../support";

const run = (nth: number, source_id = "", share: string | null = null) => ({
  run_id: `00000000-0000-4000-8000-${String(nth).padStart(12, "0")}`,
  source_type: source_id ? "scheduler" : "rest",
  source_id,
  script_path: "",
  commands: ["AC_sleep"],
  share,
});
const ended = { status: "error", error_text: "AC_sleep: no" } as const;
const END = { ...ended, started_at: "", finished_at: "" };
const same = (text: string) => text;

/** A screen that shows something else at each look. */
function screen(bytes = 10) {
  let shots = 0;
  return {
    shots: () => shots,
    async shoot(file: string) {
      shots++;
      writeFileSync(file, Buffer.alloc(bytes, shots));
    },
  };
}

const click = { place: "[0]", command: "AC_click_mouse", arguments: {}, pictured: true };
const wait = { place: "[1]", command: "AC_sleep", arguments: { seconds: 1 }, pictured: false };
const good = { ok: true, duration_ms: 1 };

function recorded(shoot: (file: string) => Promise<unknown>, sparse = false) {
  const folder = temporaryFolder();
  const recorder = createTraceWriter({ folder: folder.path, shoot, sparse });
  const file = join(folder.path, "trace.zip");
  return {
    ...recorder,
    async read(scrub = same) {
      const { share: _, ...start } = run(1);
      await recorder.write(file, { ...start, ...END }, scrub);
      using trace = openTrace(file);
      return { run: trace.run, steps: trace.steps(), names: trace.names() };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

describe("a trace", () => {
  test("has a picture before and after an action that looks or acts, and none around another", async () => {
    using recorder = recorded(screen().shoot);
    await (await recorder.step(click))(good);
    await (await recorder.step(wait))({ ok: false, error: "no", duration_ms: 2 });
    const { steps, names, run: about } = await recorder.read();
    expect(steps).toMatchObject([
      { number: 1, ok: true, before: "pictures/00001.png", after: "pictures/00002.png" },
      { number: 2, ok: false, error: "no", before: null, after: null, arguments: { seconds: 1 } },
    ]);
    expect(names).toEqual(["run.json", "steps.json", "pictures/00001.png", "pictures/00002.png"]);
    expect(about).toMatchObject({ steps: 2, pictures: 2, omitted_steps: 0, status: "error" });
  });

  test("says where pointer and keyboard did what a program was to do", async () => {
    using recorder = recorded(screen().shoot);
    const result = { role: "button", name: "Save", window_title: "Order" };
    for (const by of ["program", "real"])
      await (await recorder.step(wait))({ ...good, result: { ...result, by } });
    const { steps } = await recorder.read();
    expect(steps.map(({ element }) => element)).toEqual([
      'button "Save" in window "Order"',
      'button "Save" in window "Order" (by pointer and keyboard)',
    ]);
  });

  test("has one picture of a screen that has not changed", async () => {
    using recorder = recorded(async (file) => writeFileSync(file, "the same"));
    for (let nth = 0; nth < 3; nth++) await (await recorder.step(click))(good);
    const { steps, names } = await recorder.read();
    expect(steps.map(({ before, after }) => [before, after])).toEqual(
      Array.from({ length: 3 }, () => ["pictures/00001.png", "pictures/00001.png"]),
    );
    expect(names.length).toBe(3);
  });

  test("says why a picture is missing, and a screen that fails fails no action and is soon left alone", async () => {
    let asked = 0;
    using recorder = recorded(async () => {
      asked++;
      throw new Error("no display");
    });
    for (let nth = 0; nth < 5; nth++) await (await recorder.step(click))(good);
    const { steps } = await recorder.read();
    expect(steps[0]).toMatchObject({ ok: true, before: null, no_picture: "no display" });
    expect(asked).toBe(3);
  });

  test("keeps the latest steps and pictures where there are too many, and says how many it left out", async () => {
    using recorder = recorded(screen(LIMITS.bytes / 4).shoot);
    for (let nth = 0; nth < 4; nth++) await (await recorder.step(click))(good);
    for (let nth = 0; nth < LIMITS.steps; nth++) await (await recorder.step(wait))(good);
    const { run: about, steps, names } = await recorder.read();
    expect(about).toMatchObject({ steps: LIMITS.steps, omitted_steps: 4 });
    expect(about.pictures).toBe(4);
    expect(about.omitted_pictures).toBeGreaterThan(0);
    expect(names.length).toBe(2 + about.pictures);
    expect(steps.at(-1)?.number).toBe(LIMITS.steps + 4);
  });

  test("has no long argument, and no secret that became known later", async () => {
    using recorder = recorded(screen().shoot);
    const texts = { image: "A".repeat(5_000), message: "it is hunter2" };
    await (await recorder.step({ ...wait, arguments: texts }))({ ...good, result: ["hunter2"] });
    const { steps } = await recorder.read((text) => text.replaceAll("hunter2", "***"));
    expect(steps[0]).toMatchObject({
      arguments: { image: "(5000 characters)", message: "it is ***" },
      result: ["***"],
    });
  });

  test("has at most so many steps: an archive of others that says more is refused before they are looked at", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "trace.zip");
    const zip = await createZip(file);
    const { share: _, ...start } = run(1);
    const counts = { steps: 0, pictures: 0, omitted_steps: 0, omitted_pictures: 0 };
    await zip.add(
      "run.json",
      Buffer.from(JSON.stringify({ format: "svc-trace", version: 1, ...start, ...END, ...counts })),
    );
    await zip.add("steps.json", Buffer.from(`[${"1,".repeat(4_000_000)}1]`));
    await zip.finish();
    using trace = openTrace(file);
    const before = process.memoryUsage.rss();
    expect(() => trace.steps()).toThrow("trace: steps.json in it is not of a trace of svc");
    expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 * 1024);
  });

  test("that nobody asked for has few pictures, and one after what failed", async () => {
    const { shoot, shots } = screen();
    using recorder = recorded(shoot, true);
    for (let nth = 0; nth < 5; nth++) await (await recorder.step(click))(good);
    expect(shots()).toBeLessThan(10);
    const before = shots();
    await (await recorder.step(click))({ ok: false, error: "no", duration_ms: 1 });
    expect(shots()).toBeGreaterThan(before);
  });
});

describe("a host keeps", () => {
  const traces = (more: Partial<TracesParts> = {}) => {
    const folder = temporaryFolder();
    const path = join(folder.path, "traces");
    const parts = { folder: path, jobTraces: 2, shoot: screen().shoot, log: silentLog, ...more };
    return { path, kept: new Traces(parts), [Symbol.dispose]: () => folder[Symbol.dispose]() };
  };
  const trace = async (kept: Traces, start: ReturnType<typeof run>, status: "ok" | "error" = "error") => {
    const begun = await kept.begin(start, start.source_type === "rest");
    await (await begun?.step(click))?.(good);
    return begun?.end({ status, error_text: null }, same);
  };

  test("the trace of the last failed run of each job, for so many jobs", async () => {
    using made = traces();
    for (const [nth, job] of ["a", "a", "b", "b", "c"].entries()) await trace(made.kept, run(nth, job));
    const jobs = made.kept.list().map(({ run_id, source_id }) => [source_id, run_id.at(-1)]);
    expect(jobs.toSorted()).toEqual([
      ["b", "3"],
      ["c", "4"],
    ]);
  });

  test("no trace of a job that succeeded, and nothing else of it", async () => {
    using made = traces();
    expect(await trace(made.kept, run(1, "a"), "ok")).toBeNull();
    expect(readdirSync(made.path)).toEqual([]);
  });

  test("none of any job when it keeps 0, and makes no folder for it", async () => {
    using made = traces({ jobTraces: 0 });
    expect(await trace(made.kept, run(1, "a"))).toBeUndefined();
    expect(existsSync(made.path)).toBe(false);
  });

  test("the newest of those that clients asked for, private to its owner", async () => {
    using made = traces();
    for (let nth = 0; nth < 22; nth++) await trace(made.kept, run(nth), "ok");
    await trace(made.kept, run(50, "a"));
    expect(made.kept.list().filter(({ source_type }) => source_type === "rest").length).toBe(20);
    expect(() => made.kept.open(run(1).run_id)).toThrow("no trace of such a run");
    const { file, trace: found } = made.kept.open(run(21).run_id);
    found[Symbol.dispose]();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(made.path).mode & 0o777).toBe(0o700);
  });

  test("nothing that a killed process has left, and the work of one that runs", async () => {
    using made = traces();
    const killed = Bun.spawnSync(["true"]).pid;
    const left = [`.work-${killed}-${run(1).run_id}`, `.work-${process.ppid}-${run(2).run_id}`];
    for (const name of left) mkdirSync(join(made.path, name), { recursive: true });
    await trace(made.kept, run(3));
    expect(readdirSync(made.path).toSorted()).toEqual([left[1] ?? "", `${run(3).run_id}.zip`]);
  });

  test("the trace that is being written while another run begins", async () => {
    using made = traces();
    const first = await made.kept.begin(run(1), true);
    await (await first?.step(click))?.(good);
    const ending = first?.end({ status: "ok", error_text: null }, same);
    const second = await made.kept.begin(run(2), true);
    expect(await ending).not.toBeNull();
    await second?.end({ status: "ok", error_text: null }, same);
  });

  test("no more than so many at work at once, jobs apart, and logs that a job failed without one", async () => {
    const logged: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void logged.push(text) };
    using made = traces({ log });
    for (let nth = 0; nth < 8; nth++) await made.kept.begin(run(nth), true);
    expect(made.kept.begin(run(8), true)).rejects.toThrow("there are 8 traced runs already");
    expect((await trace(made.kept, run(9, "job")))?.run_id).toBe(run(9).run_id);
    for (let nth = 10; nth < 18; nth++) await made.kept.begin(run(nth, "job"), false);
    expect(await trace(made.kept, run(18, "job"), "ok")).toBeNull();
    expect(logged).toEqual([]);
    expect(await trace(made.kept, run(19, "job"))).toBeNull();
    expect(logged).toEqual([
      `run ${run(19).run_id} failed and was not traced: there are 8 traced runs already, which is the limit`,
    ]);
  });

  test("some of those at work for others than one token, and for other jobs than its own", async () => {
    using made = traces();
    for (let nth = 0; nth < 4; nth++) await made.kept.begin(run(nth, "", "ci"), true);
    expect(made.kept.begin(run(4, "", "ci"), true)).rejects.toThrow("the token ci has 4 traced runs already");
    expect(await made.kept.begin(run(5, "", "desk"), true)).toBeDefined();
    for (let nth = 10; nth < 16; nth++) await trace(made.kept, run(nth, `job-${nth}`, "ci"));
    for (let nth = 20; nth < 26; nth++) await made.kept.begin(run(nth, `job-${nth}`, "ci"), false);
    expect((await trace(made.kept, run(30, "other")))?.run_id).toBe(run(30).run_id);
  });

  test.each([
    ["clients asked for", ""],
    ["jobs have", "job"],
  ])("the traces of others when one token makes many of those that %s", async (_what, job) => {
    using made = traces({ jobTraces: 20 });
    for (let nth = 0; nth < 3; nth++) await trace(made.kept, run(nth, job && `${job}-${nth}`));
    for (let nth = 10; nth < 40; nth++) await trace(made.kept, run(nth, job && `${job}-${nth}`, "ci"));
    const shares = made.kept.list().map(({ share = null }) => share);
    expect(shares.length).toBe(20);
    expect(shares.filter((share) => share === null).length).toBe(3);
  });

  test("nothing that a killed server has left, once it is started again", async () => {
    await using made = testService();
    const left = join(made.configDir, "traces", `.work-${Bun.spawnSync(["true"]).pid}-${run(1).run_id}`);
    mkdirSync(left, { recursive: true });
    const stop = await made.service.runJobs();
    expect(existsSync(left)).toBe(false);
    stop();
  });
});

describe("a run", () => {
  test("that is traced has a step for each action, nested ones and each turn of a loop too", async () => {
    await using made = testService();
    const report = await runActions(
      made.service,
      [
        ["AC_set_var", ["word", "geheim42"]],
        [
          "AC_loop",
          { times: 2, body: [["AC_if_var", { name: "word", value: "x", else: [["AC_sleep", [0]]] }]] },
        ],
        ["AC_wait_window", { title_substring: "${word}", timeout: 0 }],
      ],
      { trace: true, variables: { other: "hidden-one" } },
    );
    const { trace } = (await made.service.traces()).open(report.run_id);
    using _ = trace;
    const steps = trace.steps();
    expect(steps.map(({ place, command }) => `${place} ${command}`)).toEqual([
      "[0] AC_set_var",
      "[1] AC_loop",
      "[1].body[0] AC_if_var",
      "[1].body[0].else[0] AC_sleep",
      "[1].body[0] AC_if_var",
      "[1].body[0].else[0] AC_sleep",
      "[2] AC_wait_window",
    ]);
    expect(steps[1]).toMatchObject({ arguments: { times: 2 }, ok: true });
    expect(steps[6]).toMatchObject({ arguments: { title_substring: "${word}", timeout: 0 }, ok: false });
    expect(JSON.stringify([trace.run, steps])).not.toMatch(/geheim42|hidden-one/);
  });

  test("has arguments as they were written, and what the script says is no secret", async () => {
    await using made = testService();
    const report = await runActions(
      made.service,
      [
        ["AC_set_var", { name: "orders", value: ["ACME", "Initech"], secret: false }],
        ["AC_set_var", { name: "copy", value: "${orders}" }],
        ["AC_for_each", { list: "${orders}", var: "order", body: [["AC_log", ["${order}"]]] }],
        ["AC_for_each", { list: ["Hooli"], var: "order", secret: false, body: [] }],
        ["AC_set_var", { name: "joined", value: "with ${pw}", secret: false }],
        ["AC_set_var", { name: "kept", value: "geheim42" }],
        ["AC_set_var", { name: "kept", op: "append", value: "-geheim43" }],
        ["AC_for_each", { list: ["geheim44"], var: "order", body: [] }],
      ],
      { trace: true, variables: { pw: "geheim45" } },
    );
    expect(report.error_text).toBeNull();
    using trace = (await made.service.traces()).open(report.run_id).trace;
    const [orders, copy, each, , , literal, joined, kept, appended, list] = trace.steps();
    const names = ["ACME", "Initech"];
    expect(orders).toMatchObject({ arguments: { value: names, secret: false }, result: names });
    expect(copy).toMatchObject({ arguments: { value: "${orders}" }, result: names });
    expect(each).toMatchObject({ arguments: { list: "${orders}", var: "order" } });
    expect(literal).toMatchObject({ arguments: { list: ["Hooli"] } });
    expect(joined).toMatchObject({ arguments: { value: "with ${pw}" }, result: "with ***" });
    expect([kept, appended]).toMatchObject([{ result: "***" }, { result: "***" }]);
    expect(list).toMatchObject({ arguments: { list: "***" } });
    const { outcomes } = (await made.service.runs()).show(report.run_id);
    expect(outcomes[0]?.result).toEqual(names);
    expect(JSON.stringify([trace.steps(), outcomes])).not.toContain("geheim");
  });

  test("is not traced for a caller without the scope screen", async () => {
    await using made = testService();
    const caller = localCaller(made.service, "api", { grant: { name: "ci", scopes: ["operate"] } });
    const asked = runActions(made.service, [["AC_sleep", [0]]], { trace: true }, caller);
    expect(asked).rejects.toThrow("trace needs screen");
  });

  test("over HTTP leaves a trace that a GET returns, on record, to whoever may see the screen", async () => {
    await using host = await testServer();
    const ran = await host.call("/execute", post({ actions: [["AC_sleep", [0]]], trace: true }));
    const { run_id } = (await ran.json()) as { run_id: string };
    const answer = await host.call(`/runs/${run_id.slice(0, 8)}/trace`);
    expect(answer.headers.get("content-type")).toBe("application/zip");
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "t.zip"), await answer.bytes());
    using trace = openTrace(join(folder.path, "t.zip"));
    expect(trace.run).toMatchObject({ run_id, status: "ok", steps: 1 });
    const listed = await (await host.call("/traces")).json();
    expect(listed).toMatchObject({ count: 1, traces: [{ run_id, steps: 1 }] });
    expect((await host.call("/runs/00000000/trace")).status).toBe(404);
    expect((await host.call("/runs/..%2f..%2fetc/trace")).status).toBe(400);
    const audit = await host.call("/audit/list");
    expect(await audit.text()).toContain(`traces.get run_id=\\"${run_id.slice(0, 8)}\\"`);
  });

  /** Runs the admin's script, whose path is in a variable, up to twice; the last action of it fails. */
  const ranUnknown = async (service: Service, folder: string, caller?: Caller) => {
    const script = join(folder, "admin.json");
    writeFileSync(script, JSON.stringify([["AC_sleep", [0]], ["AC_config_export"]]));
    const call = ["AC_run_script", { path: "${path}" }];
    return runActions(service, [call, call], { trace: true, variables: { path: script } }, caller);
  };
  const named = (service: Service, ...scopes: Scope[]) =>
    localCaller(service, "api", { grant: { name: "ci", scopes } });

  test("that called a script with admin commands shows its trace to no token without admin", async () => {
    await using made = testService();
    using folder = temporaryFolder();
    const { run_id } = await ranUnknown(made.service, folder.path);
    const traces = await made.service.traces();
    const [listed] = traces.list();
    expect(listed?.commands).toEqual(["AC_run_script", "AC_sleep", "AC_config_export"]);
    const kept = join(made.configDir, "traces", `${run_id}.zip`);
    const reads = [
      async (caller: Caller) => callOperation(made.service, getTrace, { run_id }, caller),
      async (caller: Caller) => callOperation(made.service, showTrace, { trace: run_id }, caller),
      async (caller: Caller) => callOperation(made.service, showTrace, { trace: kept }, caller),
    ];
    for (const read of reads) {
      expect(read(named(made.service, "screen", "operate"))).rejects.toThrow("AC_config_export needs admin");
      await read(named(made.service, "admin"));
    }
  });

  test("has a trace that is safe also where an earlier build did not list all of its commands", async () => {
    await using made = testService();
    const traces = await made.service.traces();
    const started = { ...run(1), commands: ["AC_sleep"] };
    const begun = await traces.begin(started, true);
    await begun?.end({ status: "ok", error_text: null }, same);
    const file = join(made.configDir, "traces", `${started.run_id}.zip`);
    using trace = openTrace(file);
    const zip = await createZip(join(made.configDir, "old.zip"));
    await zip.add("run.json", Buffer.from(JSON.stringify(trace.run)));
    const step = {
      number: 1,
      place: "[0]",
      command: "AC_config_export",
      arguments: {},
      at_ms: 0,
      duration_ms: 1,
      ok: true,
    };
    await zip.add("steps.json", Buffer.from(JSON.stringify([{ ...step, before: null, after: null }])));
    await zip.finish();
    renameSync(join(made.configDir, "old.zip"), file);
    const read = callOperation(
      made.service,
      getTrace,
      { run_id: started.run_id },
      named(made.service, "screen"),
    );
    expect(read).rejects.toThrow("AC_config_export needs admin");
  });

  test("refuses a script that it may not call also the second time", async () => {
    await using made = testService();
    using folder = temporaryFolder();
    const caller = named(made.service, "screen", "operate");
    const { outcomes } = await ranUnknown(made.service, folder.path, caller);
    expect(outcomes.map(({ error }) => error)).toEqual(
      Array.from({ length: 2 }, () => "this run allows screen, operate, but AC_config_export needs admin"),
    );
  });

  test("of a job that fails leaves a trace; one that was not asked for and succeeds leaves none", async () => {
    await using made = testService();
    using folder = temporaryFolder();
    const script = join(folder.path, "job.json");
    const executor = await made.service.executor();
    const caller = localCaller(made.service, "scheduler");
    const start = async (actions: unknown) => {
      writeFileSync(script, JSON.stringify(actions));
      const { runId, ended: end } = await executor.startFile(script, caller, "nightly", { timeout_s: 10 });
      await end;
      return runId;
    };
    await start([["AC_sleep", [0]]]);
    const traces = await made.service.traces();
    expect(traces.list()).toEqual([]);
    const failed = await start([["AC_wait_window", { title_substring: "no such", timeout: 0 }]]);
    expect(traces.list()).toMatchObject([{ run_id: failed, source_id: "nightly", status: "error" }]);
  });

  test("that is cancelled has a trace too", async () => {
    await using made = testService();
    const runs = await made.service.runs();
    const report = runActions(made.service, [["AC_sleep", [60]]], { trace: true });
    const { run_id } = await until("a run", () => runs.list()[0]);
    runs.cancel(run_id, "enough");
    expect((await report).status).toBe("cancelled");
    expect((await made.service.traces()).list()).toMatchObject([{ run_id, status: "cancelled", steps: 1 }]);
  });
});

describe("a trace of somebody else", () => {
  /** An archive whose index names `names`, all of which stand for one deflated picture of `bytes` zeros. */
  function bomb(file: string, names: readonly string[], bytes: number): void {
    const steps = names.map((name, at) => ({
      ...{ number: at + 1, place: `[${at}]`, command: "AC_sleep", arguments: {}, at_ms: 0, duration_ms: 1 },
      ...{ ok: true, before: name, after: null },
    }));
    const about = { ...run(1), ...END, format: "svc-trace", version: 1, steps: names.length };
    const { share: _, ...shown } = { ...about, pictures: 1, omitted_steps: 0, omitted_pictures: 0 };
    const picture = Buffer.alloc(bytes);
    const parts: Buffer[] = [];
    let at = 0;
    const local = (data: Buffer) => {
      const header = Buffer.alloc(30);
      header.writeUInt32LE(0x0403_4b50, 0);
      const here = at;
      parts.push(header, data);
      at += 30 + data.length;
      return here;
    };
    const entry = (name: string, method: number, data: Buffer, whole: Buffer, where: number) => {
      const header = Buffer.alloc(46);
      header.writeUInt32LE(0x0201_4b50, 0);
      header.writeUInt16LE(method, 10);
      header.writeUInt32LE(crc32(whole), 16);
      header.writeUInt32LE(data.length, 20);
      header.writeUInt32LE(whole.length, 24);
      header.writeUInt16LE(name.length, 28);
      header.writeUInt32LE(where, 42);
      return Buffer.concat([header, Buffer.from(name)]);
    };
    const small = deflateRawSync(picture);
    const texts = { "run.json": shown, "steps.json": steps };
    const index = Object.entries(texts).map(([name, value]) => {
      const data = Buffer.from(JSON.stringify(value));
      return entry(name, 0, data, data, local(data));
    });
    const where = local(small);
    index.push(...names.map((name) => entry(name, 8, small, picture, where)));
    const whole = Buffer.concat(index);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x0605_4b50, 0);
    end.writeUInt16LE(index.length, 10);
    end.writeUInt32LE(whole.length, 12);
    end.writeUInt32LE(at, 16);
    writeFileSync(file, Buffer.concat([...parts, whole, end]));
  }

  test("writes its pictures where they are as large as one may be, and none where many names stand for more", async () => {
    using folder = temporaryFolder();
    await using host = testService();
    const file = join(folder.path, "run.zip");
    const show = (pictures: string) =>
      callOperation(host.service, showTrace, { trace: file, pictures }, localCaller(host.service, "cli"));
    const names = Array.from({ length: 40 }, (_, nth) => `pictures/${nth}.png`);
    bomb(file, names, 1_024 * 1_024);
    await show(join(folder.path, "good"));
    expect(readdirSync(join(folder.path, "good")).length).toBe(40);
    bomb(file, names, 2 * 1_024 * 1_024);
    await expect(show(join(folder.path, "bad"))).rejects.toThrow(
      "its pictures have more than 67108864 bytes",
    );
    expect(readdirSync(join(folder.path, "bad"))).toEqual([]);
  });
});

test("an archive of more than 128 MiB becomes no page", async () => {
  using folder = temporaryFolder();
  const [file, page] = [join(folder.path, "run.zip"), join(folder.path, "run.html")];
  writeFileSync(file, "");
  const trace = { run: { run_id: "0f1e2d3c-4b5a-4000-8000-000000000001", status: "finished" } } as never;
  truncateSync(file, 128 * 1024 * 1024 + 1);
  await expect(writePage(trace, file, page, "file")).rejects.toMatchObject({
    code: "bad_input",
    message: "trace: expected at most 134217728 bytes for a page",
  });
  expect(existsSync(page)).toBe(false);
});

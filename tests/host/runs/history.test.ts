/** The history of runs. */

import { Database } from "bun:sqlite";
import { describe, expect, spyOn, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseInput } from "../../../src/core/input";
import { createHistory, type History } from "../../../src/host/runs/history";
import type { RunState } from "../../../src/host/runs/types";
import { HISTORY_QUERY } from "../../../src/host/runs/types";
import { silentLog } from "../../../src/lib/log";
import { createService } from "../../../src/service/service";
import { post, runActions, temporaryFolder, testServer, testService } from "../../support";

const run = (id: string, more: Partial<RunState> = {}): RunState => ({
  run_id: id,
  source_type: "manual",
  source_id: "",
  token: null,
  script_path: "",
  commands: [],
  status: "ok",
  started_at: new Date().toISOString(),
  finished_at: new Date().toISOString(),
  duration_seconds: 0.5,
  error_text: null,
  ...more,
});

const going = { status: "running", finished_at: null, duration_seconds: null } as const;

/** A history on a file of its own; `reopen` is another process's, in effect. */
function testHistory({ maxRows = 1_000, log = silentLog } = {}) {
  const folder = temporaryFolder();
  const path = join(folder.path, "history.db");
  const opened: History[] = [];
  const open = () => {
    const history = createHistory({ path, maxRows, log });
    opened.push(history);
    return history;
  };
  return {
    path,
    history: open(),
    open,
    async [Symbol.asyncDispose]() {
      for (const history of opened) await history.close();
      folder[Symbol.dispose]();
    },
  };
}

const idsOf = async (history: History) => (await history.list({ limit: 100 })).map(({ run_id }) => run_id);

describe("the history", () => {
  test("has a run as it begins, and completes it as it ends", async () => {
    await using kept = testHistory();
    kept.history.note(run("one", { ...going, script_path: "/x.json" }));
    expect(await kept.history.list({ limit: 10 })).toEqual([
      {
        id: 1,
        run_id: "one",
        source_type: "manual",
        source_id: "",
        token: null,
        script_path: "/x.json",
        started_at: expect.any(String),
        finished_at: null,
        status: "running",
        error_text: null,
        duration_seconds: null,
      },
    ]);
    kept.history.note(run("one", { status: "error", error_text: "AC_x: broken" }));
    expect(await kept.history.list({ limit: 10 })).toMatchObject([
      { id: 1, status: "error", error_text: "AC_x: broken", duration_seconds: 0.5 },
    ]);
  });

  test("counts runs, not the records of a run", async () => {
    await using kept = testHistory();
    for (const id of ["a", "b"]) {
      kept.history.note(run(id, going));
      await kept.history.list({ limit: 1 });
      kept.history.note(run(id));
      await kept.history.list({ limit: 1 });
    }
    expect((await kept.history.list({ limit: 10 })).map(({ id }) => id)).toEqual([2, 1]);
  });

  test("survives its process", async () => {
    await using kept = testHistory();
    kept.history.note(run("one"));
    await kept.history.close();
    expect(await idsOf(kept.open())).toEqual(["one"]);
  });

  test("keeps the newest rows, so many of them", async () => {
    await using kept = testHistory({ maxRows: 3 });
    for (const id of ["a", "b", "c", "d", "e"]) {
      kept.history.note(run(id));
      await kept.history.list({ limit: 1 });
    }
    expect(await idsOf(kept.history)).toEqual(["e", "d", "c"]);
  });

  test("keeps as many also when a process without that setting writes to it", async () => {
    await using kept = testHistory({ maxRows: 3 });
    kept.history.note(run("a"));
    await kept.history.list({ limit: 1 });
    const other = createHistory({ path: kept.path, maxRows: undefined, log: silentLog });
    for (const id of ["b", "c", "d"]) other.note(run(id));
    expect(await idsOf(other)).toEqual(["d", "c", "b"]);
    await other.close();
  });

  test("is listed by where runs came from, how they ended, and page by page", async () => {
    await using kept = testHistory();
    kept.history.note(run("a", { source_type: "rest", source_id: "10.0.0.1" }));
    kept.history.note(run("b", { source_type: "scheduler", source_id: "nightly", status: "error" }));
    kept.history.note(run("c", { source_type: "scheduler", source_id: "hourly" }));
    const ids = async (query: object) =>
      (await kept.history.list({ limit: 10, ...query })).map(({ run_id }) => run_id);
    expect(await ids({ source_type: "scheduler" })).toEqual(["c", "b"]);
    expect(await ids({ source_id: "nightly" })).toEqual(["b"]);
    expect(await ids({ source_id: "night" })).toEqual([]);
    expect(await ids({ status: "ok" })).toEqual(["c", "a"]);
    expect(await ids({ before_id: 3, limit: 1 })).toEqual(["b"]);
  });

  test("is listed by plan: by its id, or how that begins", async () => {
    await using kept = testHistory();
    const ids = async (query: object) =>
      (await kept.history.list({ limit: 10, ...query })).map(({ run_id }) => run_id);
    kept.history.note(run("7d3f", { source_type: "scheduler", source_id: "7d3f0c52x" }));
    for (const of of ["7d3f0c52/1", "7d3f0c52/2", "7d3f0c53/1"])
      kept.history.note(run(of, { source_type: "plan", source_id: of }));
    expect(await ids({ source_id: "7d3f0c52" })).toEqual(["7d3f0c52/2", "7d3f0c52/1"]);
    expect(await ids({ source_id: "7d3f0c52/1" })).toEqual(["7d3f0c52/1"]);
    expect(await ids({ source_id: "%" })).toEqual([]);
    expect(await ids({ source_id: "" })).toEqual([]);
  });

  test("does not take a run of this process for one that died, whatever the clock is set to", async () => {
    await using kept = testHistory();
    kept.history.note(run("one", going));
    expect(await idsOf(kept.history)).toEqual(["one"]);
    const now = Date.now();
    const clock = spyOn(Date, "now").mockImplementation(() => now + 400 * 86_400_000);
    try {
      expect(await kept.history.find("one")).toMatchObject({ status: "running" });
    } finally {
      clock.mockRestore();
    }
  });

  test("marks a run whose process died as interrupted", async () => {
    await using kept = testHistory();
    kept.history.note(run("mine", going));
    kept.history.note(run("dead", going));
    kept.history.note(run("of-old", { ...going, started_at: "2020-01-01T00:00:00.000Z" }));
    await kept.history.list({ limit: 1 });
    const child = Bun.spawn(["true"]);
    await child.exited;
    using db = new Database(kept.path);
    db.run("UPDATE runs SET pid = ? WHERE run_id = 'dead'", [child.pid]);
    // Its number is that of another process by now.
    db.run("UPDATE runs SET pid = ? WHERE run_id = 'of-old'", [process.ppid]);
    const statuses = (await kept.history.list({ limit: 10 })).map(({ run_id, status }) => [run_id, status]);
    expect(statuses).toEqual([
      ["of-old", "interrupted"],
      ["dead", "interrupted"],
      ["mine", "running"],
    ]);
  });

  test("marks it also when the process id was reused, as in a restarted container", async () => {
    await using kept = testHistory();
    kept.history.note(run("before", going));
    await kept.history.close();
    const after = kept.open();
    after.note(run("after", going));
    const statuses = (await after.list({ limit: 10 })).map(({ run_id, status }) => [run_id, status]);
    expect(statuses).toEqual([
      ["after", "running"],
      ["before", "interrupted"],
    ]);
    expect(await after.list({ limit: 1 })).toMatchObject([{ run_id: "after", status: "running" }]);
  });

  test("waits for another process's lock, and lets nobody else wait", async () => {
    await using kept = testHistory();
    kept.history.note(run("a"));
    await kept.history.list({ limit: 1 });
    const other = new Database(kept.path);
    other.run("BEGIN IMMEDIATE");
    kept.history.note(run("b"));
    expect(await idsOf(kept.history)).toEqual(["a"]);
    other.run("COMMIT");
    other.close();
    expect(await idsOf(kept.history)).toEqual(["b", "a"]);
  });

  test("says so when it closes and another process has held the lock all the time", async () => {
    const said: string[] = [];
    await using kept = testHistory({ log: { ...silentLog, error: (text) => said.push(text) } });
    await kept.history.list({ limit: 1 });
    using other = new Database(kept.path);
    other.run("BEGIN IMMEDIATE");
    kept.history.note(run("a"));
    await kept.history.close();
    expect(said).toEqual(["the history cannot be written: another process has held it for 2 s"]);
  });

  test("takes over the file of another tool, with its rows", async () => {
    await using kept = testHistory();
    using db = new Database(kept.path, { create: true });
    db.run(`CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, source_type TEXT NOT NULL, source_id TEXT NOT NULL,
      script_path TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT, status TEXT NOT NULL, error_text TEXT)`);
    db.run(
      "INSERT INTO runs (source_type, source_id, script_path, started_at, status) VALUES ('hotkey', 'f5', '/a', '2026-01-01T00:00:00', 'running')",
    );
    kept.history.note(run("new"));
    expect(await kept.history.list({ limit: 10 })).toMatchObject([
      { id: 2, run_id: "new" },
      { id: 1, run_id: null, source_type: "hotkey", status: "running", duration_seconds: null },
    ]);
  });

  test("that is no database is reported once, runs go on, and reading it says why", async () => {
    const said: string[] = [];
    await using kept = testHistory({ log: { ...silentLog, error: (text) => said.push(text) } });
    writeFileSync(kept.path, "not a database, certainly not one".repeat(100));
    kept.history.note(run("a"));
    kept.history.note(run("b"));
    expect(kept.history.list({ limit: 1 })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("not a database"),
    });
    expect(said).toEqual([expect.stringContaining("the history cannot be written")]);
  });

  test("is private to its owner", async () => {
    await using kept = testHistory();
    kept.history.note(run("a"));
    await kept.history.list({ limit: 1 });
    expect(statSync(kept.path).mode & 0o777).toBe(0o600);
  });
});

test("GET /history has each run of this host, with what went wrong and no argument", async () => {
  await using host = await testServer();
  const script = join(host.configDir, "script.json");
  writeFileSync(script, JSON.stringify([["AC_sleep", [0]]]));
  await host.call("/execute_file", post({ path: script }));
  await host.call("/execute", post({ actions: [["AC_if_var", { name: "nobody", value: "s3cret" }]] }));
  const { runs } = (await (await host.call("/history?limit=5&source_type=rest")).json()) as {
    runs: Record<string, unknown>[];
  };
  expect(runs).toMatchObject([
    { id: 2, source_type: "rest", source_id: "127.0.0.1", script_path: "", status: "error" },
    { id: 1, source_type: "rest", script_path: script, status: "ok", error_text: null },
  ]);
  expect(runs[0]?.error_text).toBe("AC_if_var: unknown variable: nobody");
  expect(JSON.stringify(runs)).not.toContain('"s3cret"');
});

test("an unusable number of rows is refused", () => {
  for (const history_rows of [0, -1, 1.5, Number.NaN]) {
    expect(() => createService({ configDir: "/nowhere", history_rows })).toThrow("history_rows: expected");
  }
});

test("a service keeps the configured number of runs", async () => {
  await using host = testService({ history_rows: 2 });
  for (let nth = 0; nth < 4; nth++) await runActions(host.service, [["AC_rest_api_status"]]);
  const rows = await (await host.service.history()).list({ limit: 10 });
  expect(rows.map(({ id }) => id)).toEqual([4, 3]);
  await host.service.stop();
  // One that is made without a number, as by a subcommand, does not change it.
  await using later = testService({ configDir: host.configDir });
  for (let nth = 0; nth < 3; nth++) await runActions(later.service, [["AC_rest_api_status"]]);
  const kept = await (await later.service.history()).list({ limit: 10 });
  expect(kept.map(({ id }) => id)).toEqual([7, 6]);
});

test.each(["status", "source_type"])("the history refuses a %s that there is not", (name) => {
  expect(() => parseInput(HISTORY_QUERY, { [name]: "bad" })).toThrow(
    new RegExp(`^${name}: expected .* but found "bad"$`),
  );
});

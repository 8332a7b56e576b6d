/** Jobs as operators and scripts see them. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { removeJob, runJob } from "../../../src/host/scheduler/operations";
import { post, runActions, testServer, testService, until } from "../../support";
import { job } from "./support";

const writeScript = (folder: string, actions: unknown) => {
  const path = join(folder, "script.json");
  writeFileSync(path, JSON.stringify(actions));
  return path;
};

test("GET /jobs has the fields that consoles poll, and counts in the metrics", async () => {
  await using host = await testServer();
  const script_path = writeScript(host.configDir, []);
  await host.call("/jobs/add", post({ job_id: "a", script_path, interval_seconds: 60 }));
  await host.call("/jobs/add_cron", post({ job_id: "b", script_path, cron_expression: "@daily" }));
  expect(await (await host.call("/jobs")).json()).toMatchObject({
    jobs: [
      {
        job_id: "a",
        script_path,
        interval_seconds: 60,
        is_cron: false,
        repeat: true,
        runs: 0,
        enabled: true,
      },
      { job_id: "b", script_path, interval_seconds: 0, is_cron: true, repeat: true, runs: 0, enabled: true },
    ],
    problems: [],
  });
  expect(await (await host.call("/metrics")).text()).toContain("\nservice_scheduler_jobs 2\n");
});

test("a path that is too long with its folder is refused as bad input", async () => {
  await using host = await testServer();
  const response = await host.call(
    "/jobs/add",
    post({ script_path: "x".repeat(4_090), interval_seconds: 60 }),
  );
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: expect.stringContaining("script_path: expected at most 4096 characters but found ") },
  ]);
});

test("the time limit is timeout_s to callers, and timeout_seconds in the file", async () => {
  await using host = await testServer();
  const times = { job_id: "a", interval_seconds: 60, timeout_s: 90 };
  const added = await host.call("/jobs/add", post({ script_path: "/x.json", ...times }));
  expect(await added.json()).toMatchObject({ timeout_s: 90 });
  const kept = JSON.parse(readFileSync(join(host.configDir, "jobs.json"), "utf8"));
  expect(kept.jobs).toMatchObject([{ job_id: "a", timeout_seconds: 90 }]);
  expect(kept.jobs[0]).not.toHaveProperty("timeout_s");
});

test("scripts manage jobs with the commands they know", async () => {
  await using host = testService();
  const script_path = writeScript(host.configDir, []);
  const report = await runActions(host.service, [
    ["AC_scheduler_add_job", { script_path, interval_seconds: 60, job_id: "a" }],
    ["AC_scheduler_add_cron_job", [script_path, "0 9 * * *"]],
    ["AC_scheduler_pause_job", ["a"]],
    ["AC_scheduler_resume_job", ["a"]],
    ["AC_scheduler_remove_job", ["a"]],
    ["AC_scheduler_list_jobs"],
  ]);
  expect(report.error_text).toBeNull();
  expect(report.outcomes[2]?.result).toMatchObject({ enabled: false });
  expect(report.outcomes[5]?.result).toMatchObject({
    jobs: [{ job_id: expect.stringMatching(/^[0-9a-f]{8}$/), cron_expression: "0 9 * * *" }],
  });
});

test("adding a job whose script cannot be run yet says so", async () => {
  await using host = await testServer();
  const added = await host.call("/jobs/add", post({ script_path: "/no/such.json", interval_seconds: 60 }));
  expect(await added.json()).toMatchObject({ enabled: true, problem: "path: no such file: /no/such.json" });
});

describe("running a job by hand", () => {
  test("waits for the end of the run where the process ends with the answer, and only there", async () => {
    await using host = testService();
    const scheduler = await host.service.scheduler();
    const run = async (seconds: number, lasts: boolean) => {
      const job_id = `sleeps-${seconds}`;
      const script_path = writeScript(host.configDir, [["AC_sleep", [seconds]]]);
      await scheduler.add(job({ job_id, script_path, interval_seconds: 60 }));
      return callOperation(host.service, runJob, { job_id }, localCaller(host.service, "cli", { lasts }));
    };
    expect(await run(60, true)).toMatchObject({ status: "running" });
    expect(await run(0, false)).toMatchObject({ status: "ok" });
    await (await host.service.runs()).stop(0);
  });

  test("answers with the run's id, or with how it ended", async () => {
    await using host = await testServer();
    const script_path = writeScript(host.configDir, [["AC_sleep", [0]]]);
    await host.call("/jobs/add", post({ job_id: "a", script_path, interval_seconds: 60 }));
    const ended = await (await host.call("/jobs/run", post({ job_id: "a", wait: true }))).json();
    expect(ended).toMatchObject({ job_id: "a", status: "ok", error_text: null });
    const { run_id } = ended as { run_id: string };
    expect(await (await host.call(`/runs/${run_id}`)).json()).toMatchObject({
      source_type: "scheduler",
      source_id: "a",
      script_path,
    });
    const begun = await (await host.call("/jobs/run", post({ job_id: "a" }))).json();
    expect(begun).toMatchObject({ job_id: "a", status: "running" });
  });

  test("says at once that it could not begin", async () => {
    await using host = await testServer();
    await host.call("/jobs/add", post({ job_id: "a", script_path: "/gone.json", interval_seconds: 60 }));
    const begun = await (await host.call("/jobs/run", post({ job_id: "a" }))).json();
    expect(begun).toMatchObject({
      job_id: "a",
      status: "error",
      error_text: "path: no such file: /gone.json",
    });
  });

  test("is not waited for within a script", async () => {
    await using host = testService();
    const report = await runActions(host.service, [["AC_scheduler_run_job", { job_id: "a", wait: true }]]);
    expect(report.error_text).toContain("wait: expected false within a script");
  });
});

test("a job whose script has gone is a failed run in the history", async () => {
  await using host = testService();
  const scheduler = await host.service.scheduler();
  await runActions(host.service, [
    ["AC_scheduler_add_job", { script_path: "/gone.json", interval_seconds: 60, job_id: "a" }],
  ]);
  const { runId, ended } = await scheduler.runNow("a");
  expect(await ended).toEqual({
    run_id: runId,
    status: "error",
    error_text: "path: no such file: /gone.json",
  });
  expect(await (await host.service.history()).list({ limit: 1 })).toMatchObject([
    {
      run_id: runId,
      source_type: "scheduler",
      source_id: "a",
      status: "error",
      error_text: "path: no such file: /gone.json",
    },
  ]);
});

test("a job that finds too many runs going on is a failed run in the history", async () => {
  await using host = testService();
  const runs = await host.service.runs();
  const source = { source_type: "manual", source_id: "", token: null, script_path: "" };
  const others = Array.from({ length: 256 }, (_, nth) =>
    runs.begin({ run_id: `other-${nth}`, commands: [], ...source, timeout_s: 60 }),
  );
  const script_path = writeScript(host.configDir, [["AC_sleep", [0]]]);
  const scheduler = await host.service.scheduler();
  await scheduler.add(job({ script_path, interval_seconds: 60 }));
  await (await scheduler.runNow("job")).ended;
  expect(await (await host.service.history()).list({ limit: 1 })).toMatchObject([
    {
      source_id: "job",
      script_path,
      status: "error",
      error_text: "there are 256 active runs already, which is the limit",
    },
  ]);
  for (const other of others) other.end("ok", null);
});

test("a job runs for real, once a second, and leaves rows in history and audit log", async () => {
  await using host = testService();
  const script_path = writeScript(host.configDir, [["AC_sleep", [0]]]);
  await runActions(host.service, [
    ["AC_scheduler_add_cron_job", { script_path, cron_expression: "* * * * * *", job_id: "tick" }],
    ["AC_scheduler_add_job", { script_path, interval_seconds: 1, job_id: "tock" }],
  ]);
  const scheduler = await host.service.scheduler();
  await scheduler.start();
  const history = await host.service.history();
  const ids = async () =>
    new Set((await history.list({ limit: 100, status: "ok" })).map((run) => run.source_id));
  await until("both jobs to have run", async () => (await ids()).isSupersetOf(new Set(["tick", "tock"])));
  scheduler.stop();
  const rows = await (await host.service.audit())?.list({ limit: 50, event_type: "scheduler" });
  expect(rows?.[0]?.detail).toMatch(
    /^job=t[io]ck run=[0-9a-f-]{36} commands=AC_sleep args=sha256:[0-9a-f]{64}$/,
  );
});

test("the audit row of a change names the job", async () => {
  await using host = testService();
  const { service } = host;
  const caller = localCaller(service, "api");
  const scheduler = await service.scheduler();
  await scheduler.add(job({ job_id: "nightly", interval_seconds: 60 }));
  await callOperation(service, removeJob, { job_id: "nightly" }, caller);
  const [row] = (await (await service.audit())?.list({ limit: 1 })) ?? [];
  expect(row?.detail).toBe('jobs.remove job_id="nightly"');
});

test("one operation takes an interval or a cron expression, and refuses what belongs to the other", async () => {
  await using host = await testServer();
  const add = async (times: object) => {
    const answer = await host.call("/jobs/add", post({ script_path: "/x.json", ...times }));
    return (await answer.json()) as {
      error?: string;
      fields?: string[];
      is_cron?: boolean;
      time_zone?: string;
    };
  };
  expect(await add({ cron_expression: "@daily", time_zone: "Asia/Tokyo" })).toMatchObject({
    is_cron: true,
    time_zone: "Asia/Tokyo",
  });
  const both = "interval_seconds, cron_expression: expected one of them";
  expect(await add({})).toEqual({ error: both, fields: ["interval_seconds", "cron_expression"] });
  expect((await add({ interval_seconds: 60, cron_expression: "@daily" })).error).toBe(both);
  expect((await add({ interval_seconds: 60, time_zone: "Asia/Tokyo" })).error).toContain("time_zone: ");
});

describe("a process that runs the jobs", () => {
  const overdue = { job_id: "due", next_run_at: "2026-01-01T00:00:00.000Z", if_missed: "once", runs: 0 };
  const file = (folder: string) => join(folder, "jobs.json");
  const jobs = [{ ...overdue, script_path: "/gone.json", interval_seconds: 3_600 }];

  test("starts what is due when it begins", async () => {
    await using host = testService();
    writeFileSync(file(host.configDir), JSON.stringify({ jobs }));
    await host.service.runJobs();
    expect(await (await host.service.scheduler()).jobs()).toMatchObject([{ runs: 1 }]);
  });

  test("uses a job that another process added as soon as it is refreshed", async () => {
    await using host = testService();
    await host.service.runJobs();
    writeFileSync(file(host.configDir), JSON.stringify({ jobs }));
    await host.service.refresh();
    expect(await (await host.service.scheduler()).jobs()).toMatchObject([{ runs: 1 }]);
  });

  test("starts none after a stop", async () => {
    await using host = testService();
    const stop = await host.service.runJobs();
    stop();
    writeFileSync(file(host.configDir), JSON.stringify({ jobs }));
    await host.service.refresh();
    expect(await (await host.service.scheduler()).jobs()).toMatchObject([{ runs: 0 }]);
  });
});

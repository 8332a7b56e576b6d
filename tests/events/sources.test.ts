/** The events of runs, jobs, the audit log and diagnoses. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { localCaller } from "../../src/core/caller";
import type { Publish } from "../../src/core/events";
import type { Bus } from "../../src/events/bus";
import { check, failed, fine } from "../../src/host/diagnostics/check";
import { createDiagnostics } from "../../src/host/diagnostics/diagnostics";
import { Runs } from "../../src/host/runs/runs";
import { silentLog } from "../../src/lib/log";
import { post, testServer, until } from "../support";

/** The events of a bus, oldest first. */
function eventsOf(bus: Bus) {
  const seqs = Array.from({ length: bus.newest - bus.oldest + 1 }, (_, nth) => bus.oldest + nth);
  return seqs.flatMap((seq) => {
    const event = bus.at(seq);
    return event ? [{ type: event.type.name, data: JSON.parse(event.text) }] : [];
  });
}

/** A `publish` that keeps what it is given. */
function kept() {
  const events: Array<{ type: string; data: unknown }> = [];
  const publish: Publish = ({ name }, data) => void events.push({ type: name, data });
  return { events, publish };
}

describe("a run", () => {
  test("publishes when it begins, each action, and how it ended", async () => {
    await using host = await testServer();
    const actions = [
      ["AC_sleep", [0]],
      ["AC_sleep", [0.15]],
    ];
    await host.call("/execute", post({ actions }));
    const events = eventsOf(host.service.events()).filter(({ type }) => type.startsWith("run."));
    const run_id = events[0]?.data.run_id;
    expect(events).toMatchObject([
      {
        type: "run.started",
        data: { run_id, status: "running", source_type: "rest", commands: ["AC_sleep"] },
      },
      { type: "run.step", data: { run_id, done: 1, outcome: { command: "AC_sleep", ok: true } } },
      { type: "run.step", data: { run_id, done: 2 } },
      { type: "run.ended", data: { run_id, status: "ok", finished_at: expect.any(String) } },
    ]);
  });

  test("publishes many quick actions together, and the last of them before it goes on", async () => {
    const { events, publish } = kept();
    const runs = new Runs(() => {}, publish);
    const begun = { source_type: "manual", source_id: "", token: null, script_path: "", commands: [] };
    const run = runs.begin({ ...begun, run_id: "1", timeout_s: 60 });
    for (let nth = 1; nth <= 100; nth++)
      run.keep({ command: "AC_sleep", ok: true, result: "secret", duration_ms: 1 });
    await until("the last is published", () => events.length === 3);
    expect(events.map(({ type }) => type)).toEqual(["run.started", "run.step", "run.step"]);
    expect(events.at(-1)?.data).toMatchObject({ done: 100, outcome: { command: "AC_sleep" } });
    expect(JSON.stringify(events)).not.toContain("secret");
    run.end("ok", null);
    expect(events.map(({ type }) => type).slice(3)).toEqual(["run.ended"]);
  });
});

test("adding, pausing, resuming, running and removing a job are published, whoever does it", async () => {
  await using host = await testServer();
  const script = join(host.configDir, "script.json");
  await Bun.write(script, '[["AC_sleep", [0]]]');
  const stop = await host.service.runJobs();
  const change = async (path: string, body: object) => {
    const answer = await host.call(path, post(body));
    expect([path, answer.status]).toEqual([path, 200]);
  };
  const types = () =>
    eventsOf(host.service.events()).flatMap(({ type }) => (type.startsWith("job.") ? type : []));
  await change("/jobs/add", { job_id: "tide", script_path: script, interval_seconds: 3_600 });
  await change("/jobs/pause", { job_id: "tide" });
  await change("/jobs/resume", { job_id: "tide" });
  await change("/jobs/run", { job_id: "tide" });
  await until("the run is over", async () => types().filter((type) => type === "job.changed").length >= 3);
  // Another process.
  const file = Bun.file(join(host.configDir, "jobs.json"));
  const jobs = await file.json();
  await Bun.write(file, JSON.stringify({ jobs: [...jobs.jobs, { ...jobs.jobs[0], job_id: "ebb" }] }));
  await host.service.refresh();
  await change("/jobs/remove", { job_id: "tide" });
  stop();
  expect(types().filter((type) => type !== "job.changed")).toEqual([
    "job.added",
    "job.paused",
    "job.resumed",
    "job.added",
    "job.removed",
  ]);
  const shown = eventsOf(host.service.events());
  expect(shown.findLast(({ type }) => type === "job.added")?.data).toMatchObject({
    job_id: "ebb",
    run_id: null,
  });
  const runs = shown.filter(({ type, data }) => type === "job.changed" && data.run_id !== null);
  expect(runs.length).toBeGreaterThan(0);
});

test("the audit log publishes its rows, many of them together, and that it was cleared", async () => {
  await using host = await testServer({ service: { allow_audit_clear: true } });
  const audit = await host.service.audit();
  const detail = "x".repeat(900);
  await audit?.log("first", { detail });
  await Promise.all(Array.from({ length: 50 }, (_, nth) => audit?.log(`tide ${nth}`, { detail })));
  const appended = () => eventsOf(host.service.events()).filter(({ type }) => type === "audit.appended");
  await until("all are published", () => appended().length === 2);
  expect(appended()).toMatchObject([
    { data: { rows: 1, appended: 1, newest: [{ event_type: "first", detail }] } },
    { data: { rows: 51, appended: 50, truncated: true } },
  ]);
  expect(appended()[1]?.data.newest[0]).toMatchObject({ id: 51, event_type: "tide 49" });
  await audit?.clear("a test");
  expect(
    eventsOf(host.service.events()).findLast(({ type }) => type === "audit.removed")?.data,
  ).toMatchObject({
    removed: 51,
  });
});

test("a diagnosis publishes a check that finds something else than before", async () => {
  const { events, publish } = kept();
  let isFine = true;
  const run = () => (isFine ? fine("all is well") : failed("it is flooded", ["close the door"]));
  const tideCheck = check({ name: "tide", summary: "The tide", advice: [], run });
  const diagnostics = createDiagnostics({ log: silentLog }, [tideCheck], publish);
  const caller = localCaller({ audit: async () => null }, "api");
  const states = [true, true, false, false, true];
  for (const state of states) {
    isFine = state;
    await diagnostics.run(["tide"], caller);
  }
  expect(events).toEqual([
    {
      type: "diagnosis.changed",
      data: { name: "tide", ok: false, severity: "error", detail: "it is flooded" },
    },
    { type: "diagnosis.changed", data: { name: "tide", ok: true, severity: "info", detail: "all is well" } },
  ]);
});

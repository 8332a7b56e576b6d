/** The jobs file: what svc makes of one that it did not write, or that is broken. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { onNextPause } from "../../support";
import { job, testScheduler } from "./support";

const setAside = (file: string) => readdirSync(dirname(file)).filter((name) => name.includes(".broken-"));

test("a broken file is set aside as it is, reported, and jobs can be added again", async () => {
  using host = testScheduler();
  for (const broken of ["{ not json", "[]", '{"jobs": 5}', ""]) {
    writeFileSync(host.file, broken);
    await host.scheduler.add(job({ job_id: "new", interval_seconds: 60 }));
    expect((await host.scheduler.jobs()).map(({ job_id }) => job_id)).toEqual(["new"]);
    const kept = setAside(host.file).map((name) => readFileSync(`${dirname(host.file)}/${name}`, "utf8"));
    expect(kept).toContain(broken);
  }
  expect(host.said).toHaveLength(4);
  expect(host.scheduler.problems()).toHaveLength(4);
  expect(host.scheduler.problems()[0]).toStartWith(
    "jobs.json was broken and is set aside as jobs.json.broken-",
  );
});

test("a file may begin with a byte order mark, as editors write it; one that is not UTF-8 is a broken one", async () => {
  using host = testScheduler();
  const text = JSON.stringify({ jobs: [{ job_id: "a", script_path: "/ü.json", interval_seconds: 60 }] });
  writeFileSync(host.file, `\ufeff${text}`);
  expect(await host.scheduler.jobs()).toMatchObject([{ script_path: "/ü.json" }]);
  writeFileSync(host.file, text, "latin1");
  expect(await host.scheduler.jobs()).toEqual([]);
  expect(setAside(host.file)).toHaveLength(1);
});

test("a file that an editor is just writing is not set aside", async () => {
  using host = testScheduler();
  const whole = JSON.stringify({ jobs: [{ job_id: "a", script_path: "/x.json", interval_seconds: 60 }] });
  writeFileSync(host.file, whole.slice(0, 20));
  using _pause = onNextPause(() => writeFileSync(host.file, whole));
  expect(await host.scheduler.jobs()).toMatchObject([{ job_id: "a" }]);
  expect(setAside(host.file)).toEqual([]);
});

test("a broken file is set aside also when it is only read", async () => {
  using host = testScheduler();
  writeFileSync(host.file, "oops");
  expect(await host.scheduler.jobs()).toEqual([]);
  expect(setAside(host.file)).toHaveLength(1);
});

test("any text in the file: nothing crashes, and the content is kept", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
      using host = testScheduler();
      writeFileSync(host.file, text);
      await host.scheduler.add(job({ job_id: "new", interval_seconds: 60 }));
      expect((await host.scheduler.jobs()).map(({ job_id }) => job_id)).toContain("new");
    }),
    { numRuns: 15 },
  );
});

test("an entry that is no job is reported, left out, and stays in the file", async () => {
  using host = testScheduler();
  const good = { job_id: "good", script_path: "/x.json", interval_seconds: 60, note: "of mine" };
  const bad = [
    { job_id: "no script", script_path: "/x.json", interval_seconds: 60 },
    { job_id: "both", script_path: "/x.json", interval_seconds: 60, cron_expression: "* * * * *" },
    { job_id: "neither", script_path: "/x.json" },
    { job_id: "good", script_path: "/second.json", interval_seconds: 5 },
    7,
  ];
  writeFileSync(host.file, JSON.stringify({ jobs: [bad[0], good, ...bad.slice(1)], comment: "keep me" }));
  await host.scheduler.pause("good");
  expect(await host.scheduler.jobs()).toMatchObject([{ job_id: "good", enabled: false }]);
  expect(host.scheduler.problems()).toEqual([
    expect.stringMatching(/^jobs\[0\]: job_id: /),
    expect.stringMatching(/^jobs\[2\]: .*expected either interval_seconds or cron_expression/),
    expect.stringMatching(/^jobs\[3\]: .*expected either/),
    "jobs[4]: an entry before it has this job_id",
    expect.stringMatching(/^jobs\[5\]: the entry/),
  ]);
  // Once, not at every change.
  await host.scheduler.resume("good");
  await host.scheduler.jobs();
  expect(host.said).toHaveLength(1);
  const written = JSON.parse(readFileSync(host.file, "utf8"));
  expect(written).toMatchObject({
    comment: "keep me",
    jobs: [bad[0], { job_id: "good", note: "of mine" }, ...bad.slice(1)],
  });
});

test("a job written by hand runs, its times counted from when it was noticed", async () => {
  using host = testScheduler();
  writeFileSync(
    host.file,
    JSON.stringify({ jobs: [{ job_id: "mine", script_path: "/x.json", interval_seconds: 60 }] }),
  );
  await host.scheduler.start();
  await host.time.until("2026-06-01T00:01:00Z");
  expect(host.times()).toEqual(["2026-06-01T00:01:00.000Z"]);
});

test("a time that cannot be read is no job, and nothing is waited for", async () => {
  using host = testScheduler();
  // It looks like one, and is none to JavaScript.
  const next_run_at = "2026-06-01T00:01:00+02";
  const jobs = [{ job_id: "mine", script_path: "/x.json", interval_seconds: 60, next_run_at }];
  writeFileSync(host.file, JSON.stringify({ jobs }));
  expect(await host.scheduler.jobs()).toEqual([]);
  expect(host.scheduler.problems()).toEqual(["jobs[0]: next_run_at: expected a time in ISO 8601"]);
});

test("a file in which nothing has to change is left as it was written", async () => {
  using host = testScheduler();
  await host.scheduler.add(job({ interval_seconds: 60 }));
  await host.scheduler.add(job({ job_id: "cron", cron_expression: "@daily", time_zone: "UTC" }));
  const mine = JSON.stringify(JSON.parse(readFileSync(host.file, "utf8")));
  writeFileSync(host.file, mine);
  await host.scheduler.start();
  expect(readFileSync(host.file, "utf8")).toBe(mine);
});

test("a cron expression by hand that is none pauses its job, and no other", async () => {
  using host = testScheduler();
  const jobs = [
    { job_id: "bad", script_path: "/x.json", cron_expression: "99 * * * *" },
    { job_id: "zone", script_path: "/x.json", cron_expression: "* * * * *", time_zone: "Moon/Base" },
    { job_id: "good", script_path: "/x.json", interval_seconds: 60 },
  ];
  writeFileSync(host.file, JSON.stringify({ jobs }));
  await host.scheduler.start();
  await host.time.until("2026-06-01T00:01:00Z");
  expect(host.runs.map(({ job }) => job)).toEqual(["good"]);
  expect(host.said.toSorted()).toEqual([
    expect.stringContaining("job bad is paused: cron_expression: expected"),
    expect.stringContaining("job zone is paused: time_zone: expected"),
  ]);
});

test("a file that cannot be read is complained of once, and again when it had been mended", async () => {
  using host = testScheduler();
  mkdirSync(host.file);
  await host.scheduler.start();
  await host.time.until("2026-06-20T00:00:00Z");
  expect(host.said).toHaveLength(1);
  rmdirSync(host.file);
  await host.time.until("2026-06-30T00:00:00Z");
  mkdirSync(host.file);
  await host.time.until("2026-07-20T00:00:00Z");
  expect(host.said).toHaveLength(2);
});

test("a file that cannot be read is an error, and stays where it is", async () => {
  using host = testScheduler();
  // A folder: nobody reads it as a file, root included.
  mkdirSync(host.file);
  expect(host.scheduler.jobs()).rejects.toMatchObject({ code: "unavailable" });
  expect(await host.scheduler.count()).toBe(0);
  expect(setAside(host.file)).toEqual([]);
});

/** What a host knows of jobs, on disk. */
import { expect, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openSeenJobs } from "../../../src/host/jobs/seen";
import { temporaryFolder } from "../../support";

const job = (id: string, expires = Date.now() + 60_000, token: string | null = "desk") => ({
  ...{ id, plan: "plan-0001", digest: "d".repeat(64), token, expires },
});
const ENDING = { run_id: "run", ok: true, status: "ok", error_text: null, by_desk: false };

test("a job that has begun is known at once to whoever opens the file after a kill: as interrupted", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "seen_jobs.db");
  const killed = openSeenJobs(path);
  killed.begin(job("one"), "running");
  // Not closed: as after kill -9.
  const next = openSeenJobs(path);
  expect(next.find("one")).toMatchObject({ id: "one", state: "interrupted", ending: null });
  expect(() => next.begin(job("one"), "running")).toThrow("UNIQUE");
  next.close();
  killed.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("the file has an id of its own, and one that is lost has another successor", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "seen_jobs.db");
  const idOf = () => {
    const seen = openSeenJobs(path);
    seen.close();
    return seen.records;
  };
  const first = idOf();
  expect(idOf()).toBe(first);
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  expect(idOf()).not.toBe(first);
});

test("how a job ended is known after a restart", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "seen_jobs.db");
  const first = openSeenJobs(path);
  first.begin(job("one"), "running");
  first.end("one", ENDING);
  first.begin(job("two"), "cancelled");
  first.close();
  const next = openSeenJobs(path);
  expect(next.find("one")).toMatchObject({ state: "done", ending: ENDING });
  expect(next.find("two")).toMatchObject({ state: "cancelled", ending: null });
  expect(next.find("three")).toBeUndefined();
  next.close();
});

test("a job is forgotten long after it has expired and ended, and its like counts as expired from then on", () => {
  using folder = temporaryFolder();
  let now = 0;
  const seen = openSeenJobs(join(folder.path, "seen_jobs.db"), { now: () => now, keptMs: 100 });
  seen.begin(job("ended", 1_000), "running");
  now = 5_000;
  seen.end("ended", ENDING);
  seen.begin(job("runs", 1_500), "running");
  now = 5_100;
  seen.begin(job("new-1", 9_000), "running");
  expect([seen.find("ended")?.state, seen.find("runs")?.state]).toEqual(["done", "running"]);
  now = 5_101;
  seen.begin(job("new-2", 9_000), "running");
  // It goes on for as long as it runs.
  expect([seen.find("ended")?.state, seen.find("runs")?.state]).toEqual([undefined, "running"]);
  // Also when the clock is set back.
  now = 0;
  expect([999, 1_000, 1_001].map(seen.mayHaveForgotten)).toEqual([true, true, false]);
  expect(() => seen.begin(job("ended", 1_000), "running")).toThrow("expired");
  seen.close();
});

test("a full file gives up none for a new one, and one token leaves some room to others", () => {
  using folder = temporaryFolder();
  const seen = openSeenJobs(join(folder.path, "seen_jobs.db"), { now: () => 0, most: 8 });
  for (let nth = 0; nth < 7; nth++) seen.begin(job(`job-${nth}`), "running");
  expect(() => seen.begin(job("job-7"), "running")).toThrow("this host knows 7 jobs");
  seen.begin(job("other", 1, "other"), "running");
  expect(() => seen.begin(job("owner", 1, null), "running")).toThrow("this host knows 8 jobs");
  expect(seen.find("job-0")?.state).toBe("running");
  seen.close();
});

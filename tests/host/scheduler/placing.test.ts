/** Jobs that are put in the places of others, many at once. */
import { describe, expect, test } from "bun:test";
import type { Job } from "../../../src/host/scheduler/job";
import { job, testScheduler } from "./support";

type Host = ReturnType<typeof testScheduler>;

/** Puts jobs in place, and takes others away. */
const put = async ({ scheduler }: Host, jobs: readonly Job[], removed: readonly string[] = []) =>
  (await scheduler.prepare(jobs, removed))();

const ONCE = { interval_seconds: 60, repeat: false };

describe("a job that runs once, and has", () => {
  async function ranOnce() {
    const host = testScheduler();
    await host.scheduler.add(job(ONCE));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:02:00Z");
    return host;
  }

  test.each([
    ["another field", { if_missed: "once" }],
    ["other variables", { variables: { site: "Bonn" } }],
    ["another token", { token: "desk" }],
    ["other times", { interval_seconds: 120 }],
  ] as const)("gets no second run by %s", async (_what, more) => {
    using host = await ranOnce();
    await put(host, [job({ ...ONCE, ...more })]);
    await host.time.until("2026-06-01T01:00:00Z");
    expect(host.times()).toHaveLength(1);
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: false, next_run_at: null, runs: 1 }]);
  });

  test("gets none either where its token was revoked in between", async () => {
    using host = await ranOnce();
    await host.scheduler.disown("token", "desk");
    await put(host, [job({ ...ONCE, token: "other" })]);
    await host.time.until("2026-06-01T01:00:00Z");
    expect(host.times()).toHaveLength(1);
  });

  test("runs again as one that repeats", async () => {
    using host = await ranOnce();
    await put(host, [job({ interval_seconds: 60 })]);
    await host.time.until("2026-06-01T00:04:00Z");
    expect(host.times()).toHaveLength(3);
  });
});

describe("a job that runs once, and has its run to come", () => {
  test("keeps it, also where somebody has run it by hand", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ ...ONCE, interval_seconds: 3_600 }));
    await host.scheduler.start();
    await (await host.scheduler.runNow("job")).ended;
    await put(host, [job({ ...ONCE, interval_seconds: 3_600, if_missed: "once" })]);
    await host.time.until("2026-06-01T03:00:00Z");
    expect(host.times()).toEqual(["2026-06-01T00:00:00.000Z", "2026-06-01T01:00:00.000Z"]);
  });

  test("has it where it repeated before", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 60 }));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:02:30Z");
    await put(host, [job(ONCE)]);
    await put(host, [job({ ...ONCE, if_missed: "once" })]);
    await host.time.until("2026-06-01T00:10:00Z");
    expect(host.times()).toHaveLength(3);
  });
});

describe("many jobs", () => {
  const all = (count: number, prefix: string, token: string | null = null) =>
    Array.from({ length: count }, (_, n) =>
      job({ job_id: `${prefix}-${n}`, interval_seconds: 3_600, token }),
    );

  test("are put and taken away in one change", async () => {
    using host = testScheduler();
    await put(host, all(700, "old"));
    const ids = all(700, "old").map(({ job_id }) => job_id);
    await put(host, all(900, "new"), ids);
    expect(await host.scheduler.jobs()).toHaveLength(900);
  });

  test("are refused all together where there are too many", async () => {
    using host = testScheduler();
    await put(host, all(700, "old"));
    await expect(host.scheduler.prepare(all(301, "new"))).rejects.toThrow(
      "there are 1000 jobs already, which is the limit",
    );
    await expect(host.scheduler.prepare(all(200, "new", "ci"))).rejects.toThrow(
      "the token ci has 150 jobs already, and leaves the rest to others",
    );
    expect(await host.scheduler.jobs()).toHaveLength(700);
  });

  test("of another token in the places of those that are there need no room", async () => {
    using host = testScheduler();
    await put(host, all(1_000, "old"));
    await put(host, all(1_000, "old", "desk"));
    expect(new Set((await host.scheduler.jobs()).map(({ token }) => token))).toEqual(new Set(["desk"]));
  });

  test("are refused all together where one has no times", async () => {
    using host = testScheduler();
    const bad = job({ job_id: "bad", cron_expression: "61 * * * *" });
    await expect(host.scheduler.prepare([...all(2, "new"), bad])).rejects.toMatchObject({
      code: "bad_input",
    });
    expect(await host.scheduler.jobs()).toEqual([]);
  });
});

/** When jobs run. */
import { describe, expect, test } from "bun:test";
import { job, testScheduler } from "./support";

describe("an interval", () => {
  test("counts from when the job was added, and does not drift", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 90 }));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:05:00Z");
    expect(host.times()).toEqual([
      "2026-06-01T00:01:30.000Z",
      "2026-06-01T00:03:00.000Z",
      "2026-06-01T00:04:30.000Z",
    ]);
  });

  test("is as long in the nights when the clocks change as in any other", async () => {
    for (const night of ["2026-03-29", "2026-10-25"]) {
      using host = testScheduler({ start: `${night}T00:00:00Z` });
      await host.scheduler.add(job({ interval_seconds: 1_800 }));
      await host.scheduler.start();
      await host.time.until(`${night}T02:00:00Z`);
      expect(host.times()).toEqual(
        ["00:30", "01:00", "01:30", "02:00"].map((time) => `${night}T${time}:00.000Z`),
      );
    }
  });

  test("without repeat runs once, and the job is paused then", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 60, repeat: false }));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:10:00Z");
    expect(host.times()).toEqual(["2026-06-01T00:01:00.000Z"]);
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: false, next_run_at: null, runs: 1 }]);
  });

  test("with max_runs runs so often, and cannot be resumed then", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 60, max_runs: 2 }));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:10:00Z");
    expect(host.times()).toHaveLength(2);
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: false, runs: 2 }]);
    expect(host.scheduler.resume("job")).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("a cron job", () => {
  const nightly = (settings = {}) =>
    job({ cron_expression: "30 2 * * *", time_zone: "Europe/Berlin", ...settings });

  test("runs right after the hour that the clocks leave out in spring", async () => {
    using host = testScheduler({ start: "2026-03-27T12:00:00Z" });
    await host.scheduler.add(nightly());
    await host.scheduler.start();
    await host.time.until("2026-03-30T12:00:00Z");
    expect(host.times()).toEqual([
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
  });

  test("runs at midnight where the clocks leave out the hour before, as in Greenland", async () => {
    using host = testScheduler({ start: "2026-03-27T12:00:00Z" });
    await host.scheduler.add(nightly({ cron_expression: "30 23 * * *", time_zone: "America/Nuuk" }));
    const weekly = { cron_expression: "15 23 * * 6", time_zone: "America/Nuuk", job_id: "weekly" };
    await host.scheduler.add(nightly(weekly));
    await host.scheduler.add(nightly({ ...weekly, cron_expression: "*/20 23 * * 6", job_id: "often" }));
    await host.scheduler.start();
    await host.time.until("2026-03-30T12:00:00Z");
    expect(host.times("job")).toEqual([
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    expect([host.times("weekly"), host.times("often")]).toEqual([["2026-03-29T01:00:00.000Z"], []]);
  });

  test("runs once in the hour that the clocks repeat in autumn", async () => {
    using host = testScheduler({ start: "2026-10-24T12:00:00Z" });
    await host.scheduler.add(nightly());
    await host.scheduler.start();
    await host.time.until("2026-10-26T12:00:00Z");
    expect(host.times()).toEqual(["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]);
  });

  test("at several times a day runs once at each, also in the nights when the clocks change", async () => {
    const twice = job({ cron_expression: "30 2,14 * * *", time_zone: "Europe/Berlin" });
    const times = { "2026-03-29": ["01:00", "12:30"], "2026-10-25": ["00:30", "13:30"] };
    for (const [day, at] of Object.entries(times)) {
      using host = testScheduler({ start: `${day}T00:00:00Z` });
      await host.scheduler.add(twice);
      await host.scheduler.start();
      await host.time.until(`${day}T20:00:00Z`);
      expect(host.times()).toEqual(at.map((time) => `${day}T${time}:00.000Z`));
    }
  });

  test("every half hour goes on through both nights", async () => {
    const half = job({ cron_expression: "*/30 * * * *", time_zone: "Europe/Berlin" });
    for (const night of ["2026-03-29", "2026-10-25"]) {
      using host = testScheduler({ start: `${night}T00:00:00Z` });
      await host.scheduler.add(half);
      await host.scheduler.start();
      await host.time.until(`${night}T02:00:00Z`);
      expect(host.times()).toEqual(
        ["00:30", "01:00", "01:30", "02:00"].map((time) => `${night}T${time}:00.000Z`),
      );
    }
  });

  test("is read in its own time zone", async () => {
    using host = testScheduler({ start: "2026-06-01T00:00:00Z" });
    await host.scheduler.add(job({ job_id: "tokyo", cron_expression: "0 9 * * *", time_zone: "Asia/Tokyo" }));
    await host.scheduler.add(
      job({ job_id: "lima", cron_expression: "0 9 * * *", time_zone: "America/Lima" }),
    );
    await host.scheduler.start();
    await host.time.until("2026-06-02T00:00:00Z");
    expect(host.runs.map(({ job, at }) => [job, at])).toEqual([
      ["lima", "2026-06-01T14:00:00.000Z"],
      ["tokyo", "2026-06-02T00:00:00.000Z"],
    ]);
  });

  test("that is unusable is refused, by the field at fault", async () => {
    using host = testScheduler();
    const adding = (settings: object) => host.scheduler.add(nightly(settings));
    expect(adding({ cron_expression: "61 * * * *" })).rejects.toThrow(
      "cron_expression: expected a cron expression",
    );
    expect(adding({ cron_expression: "2026-01-01T00:00:00" })).rejects.toThrow(
      "cron_expression: expected five",
    );
    expect(adding({ cron_expression: "0 0 30 2 *" })).rejects.toThrow("there is no such time");
    expect(adding({ time_zone: "Nowhere/At_All" })).rejects.toThrow("time_zone: expected a name of the IANA");
  });
});

describe("runs that were missed while nobody looked", () => {
  const hourly = (settings = {}) => job({ interval_seconds: 3_600, ...settings });

  test("are left out with `skip`", async () => {
    using host = testScheduler();
    await host.scheduler.add(hourly());
    host.time.set("2026-06-01T05:30:00Z");
    await host.open().start();
    expect(host.times()).toEqual([]);
    await host.time.until("2026-06-01T06:00:00Z");
    expect(host.times()).toEqual(["2026-06-01T06:00:00.000Z"]);
    expect(host.said).toEqual([
      expect.stringContaining("job job missed its run of 2026-06-01T01:00:00.000Z"),
    ]);
  });

  test("are made up for by one run with `once`", async () => {
    using host = testScheduler();
    await host.scheduler.add(hourly({ if_missed: "once" }));
    host.time.set("2026-06-01T05:30:00Z");
    await host.open().start();
    expect(host.times()).toEqual(["2026-06-01T05:30:00.000Z"]);
    await host.time.until("2026-06-01T06:00:00Z");
    expect(host.times()).toHaveLength(2);
  });

  test("also when the host slept while svc ran", async () => {
    using host = testScheduler();
    await host.scheduler.add(hourly({ job_id: "skips" }));
    await host.scheduler.add(hourly({ job_id: "once", if_missed: "once" }));
    await host.scheduler.start();
    host.time.set("2026-06-01T03:20:00Z");
    await host.time.until("2026-06-01T03:20:01Z");
    expect(host.runs.map(({ job }) => job)).toEqual(["once"]);
  });

  test("are none when a clock is set back: jobs go on from the new time", async () => {
    using host = testScheduler({ start: "2026-06-01T12:00:00Z" });
    await host.scheduler.add(hourly());
    await host.scheduler.start();
    await host.time.until("2026-06-01T13:30:00Z");
    host.time.set("2026-06-01T08:00:00Z");
    await host.scheduler.add(hourly({ job_id: "other" }));
    await host.time.until("2026-06-01T09:00:00Z");
    expect(host.times("job")).toEqual(["2026-06-01T13:00:00.000Z", "2026-06-01T09:00:00.000Z"]);
  });

  test("are none when it was set back by years while svc was down", async () => {
    using host = testScheduler({ start: "2031-06-01T12:00:00Z" });
    await host.scheduler.add(hourly());
    await host.scheduler.add(job({ job_id: "cron", cron_expression: "30 8 * * *", time_zone: "UTC" }));
    host.time.set("2026-06-01T08:00:00Z");
    await host.open().start();
    await host.time.until("2026-06-01T09:30:00Z");
    expect(host.runs.map((run) => [run.job, run.at])).toEqual([
      ["cron", "2026-06-01T08:30:00.000Z"],
      ["job", "2026-06-01T09:00:00.000Z"],
    ]);
  });

  test("a clock that is set back a little does not begin an interval anew", async () => {
    using host = testScheduler();
    await host.scheduler.add(hourly());
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:50:00Z");
    await host.scheduler.add(hourly({ job_id: "other" }));
    host.time.set("2026-06-01T00:49:00Z");
    await host.scheduler.pause("other");
    await host.time.until("2026-06-01T01:00:00Z");
    expect(host.times("job")).toEqual(["2026-06-01T01:00:00.000Z"]);
  });
});

test("a run that is missed after the clock was set back is made up for by `once`", async () => {
  using host = testScheduler({ start: "2026-06-01T04:00:00Z" });
  await host.scheduler.add(job({ cron_expression: "0 3 * * *", time_zone: "UTC", if_missed: "once" }));
  await host.scheduler.start();
  host.time.set("2026-06-01T02:00:00Z");
  await host.scheduler.refresh();
  host.time.set("2026-06-01T04:00:00Z");
  await host.scheduler.refresh();
  expect(host.times()).toEqual(["2026-06-01T04:00:00.000Z"]);
  await host.time.until("2026-06-02T03:00:00Z");
  expect(host.times()).toEqual(["2026-06-01T04:00:00.000Z", "2026-06-02T03:00:00.000Z"]);
});

describe("a job that runs once, at a time that is yet to come once the clock is right", () => {
  const tomorrow = (settings = {}) => job({ interval_seconds: 86_400, repeat: false, ...settings });
  const AT = "2026-06-02T00:00:00.000Z";

  /** A host whose clock jumps over the time of the job, and which has noticed. */
  async function jumped(settings = {}) {
    const host = testScheduler();
    await host.scheduler.add(tomorrow(settings));
    await host.scheduler.start();
    host.time.set("2026-06-03T00:00:00Z");
    await host.scheduler.refresh();
    return host;
  }

  test("runs then, where the clock jumped over it and back", async () => {
    using host = await jumped();
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: false, next_run_at: null, runs: 0 }]);
    host.time.set("2026-06-01T02:00:00Z");
    await host.scheduler.refresh();
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: true, next_run_at: AT }]);
    await host.time.until("2026-06-05T00:00:00Z");
    expect(host.times()).toEqual([AT]);
    expect(await host.scheduler.jobs()).toMatchObject([{ enabled: false, next_run_at: null, runs: 1 }]);
  });

  test("also where svc was started again in between", async () => {
    using host = await jumped();
    host.scheduler.stop();
    host.time.set("2026-06-01T02:00:00Z");
    await host.open().start();
    await host.time.until("2026-06-05T00:00:00Z");
    expect(host.times()).toEqual([AT]);
  });

  test("by a cron expression, too", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ cron_expression: "30 12 * * *", time_zone: "UTC", repeat: false }));
    await host.scheduler.start();
    host.time.set("2026-07-01T00:00:00Z");
    await host.scheduler.refresh();
    host.time.set("2026-06-01T02:00:00Z");
    await host.scheduler.refresh();
    await host.time.until("2026-06-05T00:00:00Z");
    expect(host.times()).toEqual(["2026-06-01T12:30:00.000Z"]);
  });

  test("does not run again where it made up for it while the clock was ahead", async () => {
    using host = await jumped({ if_missed: "once" });
    expect(host.times()).toEqual(["2026-06-03T00:00:00.000Z"]);
    host.time.set("2026-06-01T02:00:00Z");
    await host.scheduler.refresh();
    await host.time.until("2026-06-05T00:00:00Z");
    expect(host.times()).toHaveLength(1);
  });

  test("does not run then where somebody has paused it or run it meanwhile", async () => {
    for (const change of ["pause", "runNow"] as const) {
      using host = await jumped();
      await host.scheduler[change]("job");
      host.time.set("2026-06-01T02:00:00Z");
      await host.scheduler.refresh();
      await host.time.until("2026-06-02T12:00:00Z");
      expect(host.times().filter((at) => at === AT)).toEqual([]);
    }
  });

  test("is missed where the clock is right too late, and stays so where that is set far back", async () => {
    using host = await jumped();
    host.scheduler.stop();
    host.time.set("2026-06-02T02:00:00Z");
    const next = host.open();
    await next.start();
    next.stop();
    host.time.set("2025-01-01T00:00:00Z");
    await host.open().start();
    await host.time.until("2025-01-05T00:00:00Z");
    expect(host.times()).toEqual([]);
  });

  test("runs then, and not before, where the clock was far behind when svc started", async () => {
    for (const if_missed of ["skip", "once"] as const) {
      using host = testScheduler();
      await host.scheduler.add(tomorrow({ if_missed }));
      host.time.set("1980-01-01T00:00:00Z");
      await host.scheduler.start();
      host.time.set("2026-06-01T06:00:00Z");
      await host.scheduler.refresh();
      await host.time.until("2026-06-05T00:00:00Z");
      expect(host.times()).toEqual([AT]);
    }
  });
});

test("a job that repeats makes up for no run that is yet to come, where the clock was far behind when svc started", async () => {
  using host = testScheduler();
  const daily = { cron_expression: "30 12 * * *", time_zone: "UTC", if_missed: "once" } as const;
  await host.scheduler.add(job(daily));
  host.time.set("1980-01-01T00:00:00Z");
  await host.scheduler.start();
  host.time.set("2026-06-01T06:00:00Z");
  await host.scheduler.refresh();
  await host.time.until("2026-06-02T13:00:00Z");
  expect(host.times()).toEqual(["2026-06-01T12:30:00.000Z", "2026-06-02T12:30:00.000Z"]);
});

describe("a job that still runs when it is time again", () => {
  const everyMinute = (settings = {}) => job({ interval_seconds: 60, ...settings });

  test("leaves that run out with `skip`", async () => {
    using host = testScheduler({ hold: true });
    await host.scheduler.add(everyMinute());
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:02:30Z");
    expect(host.times()).toHaveLength(1);
    expect(host.said).toEqual([expect.stringContaining("job job still runs")]);
    await host.runs[0]?.end();
    expect(host.times()).toHaveLength(1);
    await host.time.until("2026-06-01T00:03:00Z");
    expect(host.times()).toHaveLength(2);
  });

  test("runs once more right after with `queue`, however often it was time", async () => {
    using host = testScheduler({ hold: true });
    await host.scheduler.add(everyMinute({ if_running: "queue" }));
    await host.scheduler.start();
    await host.time.until("2026-06-01T00:04:30Z");
    await host.runs[0]?.end();
    expect(host.times()).toEqual(["2026-06-01T00:01:00.000Z", "2026-06-01T00:04:30.000Z"]);
    await host.runs[1]?.end();
    expect(host.times()).toHaveLength(2);
    expect(await host.scheduler.jobs()).toMatchObject([{ runs: 2, run_id: null }]);
  });

  test("does not run again when it was paused or removed meanwhile, also by another process", async () => {
    for (const undo of ["pause", "remove"] as const) {
      using host = testScheduler({ hold: true });
      await host.scheduler.add(everyMinute({ if_running: "queue" }));
      await host.scheduler.start();
      await host.time.until("2026-06-01T00:02:30Z");
      await host.open()[undo]("job");
      await host.runs[0]?.end();
      expect(host.times()).toHaveLength(1);
    }
  });

  test("cannot be run by hand", async () => {
    using host = testScheduler({ hold: true });
    await host.scheduler.add(everyMinute());
    const [first, second] = await Promise.allSettled([
      host.scheduler.runNow("job"),
      host.scheduler.runNow("job"),
    ]);
    expect([first?.status, second?.status]).toEqual(["fulfilled", "rejected"]);
    expect(await host.scheduler.jobs()).toMatchObject([{ runs: 1, run_id: "run-1" }]);
  });
});

describe("a paused job", () => {
  test("does not run until it is resumed, and its times count from then", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 60 }));
    await host.scheduler.start();
    await host.scheduler.pause("job");
    await host.time.until("2026-06-01T00:10:30Z");
    expect(host.times()).toEqual([]);
    await host.scheduler.resume("job");
    await host.time.until("2026-06-01T00:12:00Z");
    expect(host.times()).toEqual(["2026-06-01T00:11:30.000Z"]);
  });

  test("runs on demand, and stays paused", async () => {
    using host = testScheduler();
    await host.scheduler.add(job({ interval_seconds: 60, enabled: false }));
    await host.scheduler.runNow("job");
    expect(await host.scheduler.jobs()).toMatchObject([{ runs: 1, enabled: false }]);
  });
});

test("a job whose script cannot be read for ages holds up no other", async () => {
  using host = testScheduler({ stuck: "stuck" });
  await host.scheduler.add(job({ job_id: "stuck", interval_seconds: 60 }));
  await host.scheduler.add(job({ interval_seconds: 60 }));
  await host.scheduler.start();
  await host.time.until("2026-06-01T00:02:00Z");
  expect(host.times("job")).toHaveLength(2);
  expect(host.said).toEqual([expect.stringContaining("job stuck still runs")]);
});

describe("of several processes", () => {
  test("one runs the jobs; another takes over when it has ended", async () => {
    using host = testScheduler();
    const other = host.open();
    await host.scheduler.add(job({ interval_seconds: 60 }));
    await host.scheduler.start();
    await other.start();
    await host.time.until("2026-06-01T00:01:00Z");
    expect(host.times()).toHaveLength(1);
    host.scheduler.stop();
    await host.time.until("2026-06-03T00:00:30Z");
    await host.time.until("2026-06-03T00:02:30Z");
    expect(host.times().slice(1)).toEqual(["2026-06-03T00:01:00.000Z", "2026-06-03T00:02:00.000Z"]);
  });

  test("only the one that runs the jobs runs one by hand: it knows whether the job runs already", async () => {
    using host = testScheduler({ hold: true });
    const other = host.open();
    await host.scheduler.add(job({ interval_seconds: 60 }));
    await host.scheduler.start();
    await host.scheduler.runNow("job");
    expect(other.runNow("job")).rejects.toThrow("another process runs the jobs");
    host.scheduler.stop();
    expect((await other.runNow("job")).runId).toBe("run-2");
  });

  test("each may change the jobs, and no change is lost", async () => {
    using host = testScheduler();
    const others = [host.scheduler, host.open(), host.open()];
    const adding = Array.from({ length: 30 }, (_, nth) =>
      others[nth % 3]?.add(job({ job_id: `job-${nth}`, interval_seconds: 60 })),
    );
    await Promise.all(adding);
    expect(await host.scheduler.jobs()).toHaveLength(30);
  });
});

test("a taken id, and a job that is not there, are refused", async () => {
  using host = testScheduler();
  await host.scheduler.add(job({ interval_seconds: 60 }));
  expect(host.scheduler.add(job({ interval_seconds: 60 }))).rejects.toMatchObject({ code: "conflict" });
  for (const call of ["remove", "pause", "resume", "runNow"] as const) {
    expect(host.scheduler[call]("nobody")).rejects.toMatchObject({ code: "not_found" });
  }
});

test("a job that could not be started is said, and starts at its next time", async () => {
  using host = testScheduler({ unable: "job" });
  await host.scheduler.add(job({ interval_seconds: 60 }));
  await host.scheduler.start();
  await host.time.until("2026-06-01T00:02:30Z");
  expect(host.times()).toEqual(["2026-06-01T00:02:00.000Z"]);
  expect(host.said).toEqual(["job job could not be started: this host has no room"]);
});

/**
 * Faults of the host, done to the compiled server: it says what is wrong, goes on with what still works, recovers by
 * itself when the cause goes, and loses nothing that it acknowledged.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, testWith, until } from "../support";
import { installHost } from "./host";

testWith("unshare", "mount")(
  "disk full: changes are refused, what is known can be read, the log and /diagnose say why",
  async () => {
    using host = installHost();
    const mount = 'mount -t tmpfs -o size=2m,mode=0700 tmpfs "$0" && exec "$@"';
    await using server = await host.serve({
      before: ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, host.configDir],
    });
    // The mount is seen by the server alone.
    const seen = `/proc/${server.pid}/root${host.configDir}`;
    for (let nth = 0; nth < 5; nth++) expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    expect((await server.call("/history")).status).toBe(200);

    await Bun.$`dd if=/dev/zero of=${seen}/filler bs=4k`.nothrow().quiet();
    while ((await server.run()) === 200);
    expect([await server.run(), await server.addJob()]).toEqual([503, 503]);
    await server.log.says("database or disk is full; what changes or reveals something here is refused");
    expect(await server.check("audit_chain")).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^chain OK .* no row can be written: .*disk is full/),
    });
    expect(await server.check("disk_space")).toMatchObject({
      ok: false,
      detail: expect.stringContaining("0 MB at the configuration folder"),
    });
    for (const path of ["/health", "/jobs", "/history", "/audit/list", "/audit/verify", "/metrics"]) {
      expect([path, (await server.call(path)).status]).toEqual([path, 200]);
    }

    rmSync(join(seen, "filler"));
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    await server.log.says("the audit log can be written again");
    expect((await server.check("audit_chain")).ok).toBe(true);
    // What it kept must be looked at before the mount goes with it.
    await Bun.$`cp -r ${seen}/. ${host.configDir}`.quiet();
    await host.expectNothingLost();
  },
  180_000,
);

testWith("unshare")(
  "a folder that becomes read-only: what is already open goes on, the rest is refused until it can be written",
  async () => {
    using host = installHost();
    // Not root, not even in a namespace of its own: permissions do not bind root.
    const asSomebody = ["unshare", "--user", "--map-user=1000"];
    await using server = await host.serve({ before: asSomebody });
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    expect((await server.call("/history")).status).toBe(200);

    chmodSync(host.configDir, 0o500);
    try {
      expect(await server.run()).toBe(200);
      const added = await server.addJob();
      expect(added).toBe(503);
      await server.log.says("jobs.add: EACCES");
      const bundle = readFileSync(join(import.meta.dir, "../fixtures/bundle-foreign.json"), "utf8");
      const imported = await server.call("/config/import", { method: "POST", body: bundle });
      expect(imported.status).toBe(503);
      const answer = await imported.text();
      expect(answer).toContain("EACCES");
      expect(answer).not.toContain(host.path);
      for (const path of ["/health", "/jobs", "/history", "/audit/verify"]) {
        expect([path, (await server.call(path)).status]).toEqual([path, 200]);
      }
    } finally {
      chmodSync(host.configDir, 0o700);
    }
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    await host.expectNothingLost();
  },
  30_000,
);

testWith("unshare", "mount")(
  "a read-only folder: it does not start, says so in one line, and starts once it may write",
  async () => {
    using host = installHost();
    const readOnly = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"';
    const refused = await host.run(["serve", "--port", "0"], {
      before: ["unshare", "--map-root-user", "--mount", "sh", "-c", readOnly, host.configDir],
    });
    expect(refused).toMatchObject({ stdout: "", exitCode: 1 });
    expect(refused.stderr).toMatch(/^svc: .*config cannot be written \(EROFS\) \(svc help T7\)\n$/);
    await using server = await host.serve();
    expect(await server.run()).toBe(200);
  },
);

test("audit.db locked by another process: changes are refused after a while, reading goes on, then all is well", async () => {
  using host = installHost();
  await using server = await host.serve();
  expect(await server.run()).toBe(200);
  const other = new Database(host.database);
  other.run("BEGIN IMMEDIATE");
  try {
    // While it is not known yet that the lock stays, a change waits; none is lost and the event loop is not held up.
    const waiting = server.run();
    expect((await server.call("/health")).status).toBe(200);
    expect(await waiting).toBe(503);
    // From then on nobody waits for it in vain, also when reading goes well in between.
    for (let nth = 0; nth < 3; nth++) {
      expect((await server.call("/audit/list")).status).toBe(200);
      expect(await server.run()).toBe(503);
    }
    await server.log.says("locked by another process");
    expect(await server.check("audit_chain")).toMatchObject({
      ok: false,
      detail: expect.stringContaining("no row can be written: the audit log is locked by another process"),
    });
    expect((await server.call("/audit/list")).status).toBe(200);
  } finally {
    other.run("ROLLBACK");
    other.close();
  }
  expect(await server.run()).toBe(200);
  await server.log.says("the audit log can be written again");
  await host.expectNothingLost();
}, 180_000);

const [FAKETIME = "faketime"] = new Bun.Glob("/usr/lib/*/faketime/libfaketime.so.1").scanSync("/");

testWith(FAKETIME)(
  "a clock that jumps back: rows keep their order, limits and jobs go on, /diagnose says so",
  async () => {
    using host = installHost();
    const clock = join(host.path, "clock");
    writeFileSync(clock, "+0");
    await using server = await host.serve({
      env: {
        LD_PRELOAD: FAKETIME,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: "1",
        // As when somebody sets the time of a machine: it has run no shorter for that.
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    expect((await server.check("clock")).ok).toBe(true);

    writeFileSync(clock, "-3h");
    // Reading answers from before its newest row, which is left by this very request only afterwards.
    expect(await server.check("clock")).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/ is .* before the latest audit row/),
    });
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    const { server: about } = (await (await server.call("/overview")).json()) as {
      server: { uptime_seconds: number };
    };
    expect(about.uptime_seconds).toBeGreaterThanOrEqual(0);
    expect(await (await server.call("/audit/verify")).json()).toMatchObject({ ok: true });
    const metrics = await (await server.call("/metrics")).text();
    expect(Number(/^service_rest_uptime_seconds (\S+)/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(0);

    writeFileSync(clock, "+0");
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    expect((await server.check("clock")).ok).toBe(true);
    await host.expectNothingLost();
  },
  30_000,
);

testWith("prlimit")(
  "no file descriptor left: calls that need one are refused with the reason, the others answered; then all is well",
  async () => {
    using host = installHost();
    await using server = await host.serve();
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    // `fetch` keeps its connection open from one call to the next: what is open already goes on.
    await limitDescriptors(server.pid, lowestFree(server.pid));
    try {
      const refused = await untilStatus(() => server.call("/audit/verify"), 503);
      expect(await refused.json()).toEqual({
        error: "svc has reached its limit of open files and connections (EMFILE)",
        help: "T30",
      });
      await server.log.says("audit.verify: EMFILE");
      expect(await server.check("audit_chain")).toMatchObject({
        ok: false,
        detail: expect.stringContaining("reached its limit of open files and connections"),
      });
      expect(await server.run()).toBe(200);
      expect((await server.call("/health")).status).toBe(200);
    } finally {
      await limitDescriptors(server.pid, 1_024);
    }
    expect(await (await untilStatus(() => server.call("/audit/verify"), 200)).json()).toMatchObject({
      ok: true,
    });
    expect([await server.run(), await server.addJob()]).toEqual([200, 200]);
    await host.expectNothingLost();
  },
  180_000,
);

test("killed at random under a mixed load: it starts again at once and has all that it acknowledged", async () => {
  using host = installHost();
  for (let round = 0; round < 6; round++) {
    await using server = await host.serve();
    // Runs that a kill cut off are interrupted, not running.
    const { runs } = (await (await server.call("/history?status=running")).json()) as { runs: unknown[] };
    expect(runs).toEqual([]);
    expect((await server.check("audit_chain")).ok).toBe(true);
    const paths = ["/audit/list?limit=5", "/history?limit=5", "/metrics", "/overview", "/jobs"];
    const clients = [
      () => server.run(),
      () => server.addJob(),
      async (nth: number) => (await server.call(paths[nth % paths.length] ?? "")).arrayBuffer(),
      () => server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0.05 }]] })),
    ].map(async (ask) => {
      for (let nth = 0; ; nth++) {
        try {
          await ask(nth);
        } catch {
          return;
        }
      }
    });
    const enough = host.acknowledged() + 10 + Math.random() * 40;
    await until("enough acknowledged changes", () => host.acknowledged() >= enough);
    process.kill(server.pid, "SIGKILL");
    await Promise.all([...clients, server.exited]);
    expect(server.log.text()).toBe("");
  }
  await host.expectNothingLost();
}, 90_000);

/** The number that the next descriptor of process `pid` would get. */
function lowestFree(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  for (let number = 0; ; number++) if (!open.has(number)) return number;
}

const limitDescriptors = (pid: number, limit: number) =>
  Bun.$`prlimit --pid ${pid} --nofile=${limit}:`.quiet();

/** The first answer of `status`. */
const untilStatus = (ask: () => Promise<Response>, status: number): Promise<Response> =>
  until(`an answer of ${status}`, async () => {
    const response = await ask();
    if (response.status === status) return response;
    await response.arrayBuffer();
    return null;
  });

/** The audit log as the compiled binary keeps it: from the command line, under load, killed, and on a full disk. */
import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyDatabase } from "../../src/host/audit/verify";
import { openAuditKey } from "../../src/host/audit/witness/key";
import { scanTree } from "../../src/host/audit/witness/scan";
import { configFiles } from "../../src/lib/paths";
import { rowsOf, withDatabase } from "../host/audit/support";
import { installBinary, post, TOKEN, testWith, until } from "../support";

/** The binary alone in an empty folder, with a configuration of its own. */
function installed() {
  const machine = installBinary();
  return {
    ...machine,
    binary: join(machine.path, "svc"),
    database: join(machine.configDir, "audit.db"),
    run: (...args: string[]) => machine.run(args),
  };
}

/** Starts a server with what `before` puts in front of its command line; resolves once it answers. */
async function serve(machine: ReturnType<typeof installed>, before: readonly string[] = []) {
  const child = Bun.spawn(
    [
      ...before,
      machine.binary,
      "serve",
      "--port",
      "0",
      "--rate-limit",
      "0",
      "--json",
      "--config-dir",
      machine.configDir,
    ],
    { cwd: machine.path, env: { ...process.env, SVC_TOKEN: TOKEN }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const { value } = await child.stdout.getReader().read();
  const { url, pid }: { url: string; pid: number } = JSON.parse(new TextDecoder().decode(value));
  const call = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${TOKEN}` } });
  return { child, pid, call };
}

test("the log is kept from the command line: log, list, verify, export, prune, clear", async () => {
  using machine = installed();
  const { run, path } = machine;
  expect(await run("audit", "verify")).toMatchObject({ stdout: "Chain OK (0 rows)\n", exitCode: 0 });
  for (const detail of ["one", "two\u001b[31m", "three"]) {
    const logged = await run(
      "audit",
      "log",
      "maintenance",
      "--host-id",
      "lab-01",
      "--viewer-id",
      "ann",
      "--detail",
      detail,
    );
    expect(logged).toMatchObject({
      stdout: expect.stringMatching(/^Row \d written\n$/),
      stderr: "",
      exitCode: 0,
    });
  }
  const listed = await run("audit", "list", "--event-type", "maintenance", "--limit", "2");
  const [headings, ...rows] = listed.stdout.trim().split("\n");
  expect(headings).toMatch(/^ID {2}TIME +TYPE +ABOUT +VIEWER +DETAIL$/);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/^3 {3}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}maintenance {2}lab-01 {2}ann +three$/);
  expect(listed.stdout).toContain("two\\x1b[31m");

  expect((await run("audit", "verify")).stdout).toBe("Chain OK (3 rows)\n");
  const verdict = JSON.parse((await run("audit", "verify", "--json")).stdout);
  expect(verdict).toMatchObject({ ok: true, broken_at_id: null, total_rows: 3, reason: null });
  expect(await run("audit", "verify", "--noted", verdict.head)).toMatchObject({ exitCode: 0 });
  expect(await run("audit", "verify", "--noted", `2:${"0".repeat(64)}`)).toMatchObject({ exitCode: 1 });

  const file = join(path, "export.jsonl");
  expect(await run("audit", "export", file)).toMatchObject({
    stdout: `${file}  4 rows\n`,
    stderr: "",
    exitCode: 0,
  });
  // Each export is a row of its own.
  expect((await run("audit", "export")).stdout).toStartWith(readFileSync(file, "utf8"));
  expect((await run("audit", "verify", "--file", file)).stdout).toBe("Chain OK (4 rows)\n");
  writeFileSync(file, readFileSync(file, "utf8").replace('"one"', '"won"'));
  expect(await run("audit", "verify", "--file", file)).toMatchObject({
    stdout: expect.stringMatching(/^Chain broken at row id 1 of 4: it was edited/),
    exitCode: 1,
  });

  const pruned = await run("audit", "prune", "--keep", "1");
  expect(pruned.stdout).toMatch(/^4 rows moved to .*audit-archive\/audit-1-4\.jsonl\.gz\n$/);
  const [archive = ""] = readdirSync(join(machine.configDir, "audit-archive"));
  const archived = await run("audit", "verify", "--file", join(machine.configDir, "audit-archive", archive));
  expect(archived.stdout).toBe("Chain OK (4 rows)\n");

  expect(await run("audit", "clear")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--yes"),
  });
  expect(JSON.parse((await run("audit", "clear", "--yes", "--json")).stdout)).toEqual({ deleted: 2 });
  const [cleared] = rowsOf(machine.database);
  expect(cleared?.detail).toMatch(
    new RegExp(
      `^cleared 2 rows \\(ids 5 to 6\\) by cli \\(uid ${process.getuid?.()}\\); the hash of the last was `,
    ),
  );
  expect((await run("audit", "verify")).stdout).toBe("Chain OK (1 rows)\n");

  withDatabase(machine.database, (db) => db.run("DELETE FROM events"));
  expect(await run("audit", "verify")).toMatchObject({
    stdout: "Chain broken at row id 7 of 0: the newest rows are gone: row 7 is gone\n",
    exitCode: 1,
  });
  expect(statSync(machine.database).mode & 0o777).toBe(0o600);
}, 180_000);

test("beside a server, svc audit status names the row that was altered, and exits with 1", async () => {
  using machine = installed();
  for (const detail of ["one", "two", "three"]) await machine.run("audit", "log", "test", "--detail", detail);
  const { child } = await serve(machine);
  withDatabase(machine.database, (db) => db.run("UPDATE events SET detail = 'x' WHERE id = 2"));
  const status = () => machine.run("audit", "status");
  await until("what was altered", async () => (await status()).exitCode === 1);
  expect((await status()).stdout).toContain("row 2");
  child.kill();
  await child.exited;
  expect(JSON.parse((await machine.run("audit", "status", "--json")).stdout)).toMatchObject({
    may_clear: true,
    patrolled: null,
  });
}, 60_000);

test("an export that nobody reads to its end just ends", async () => {
  using machine = installed();
  await machine.run("audit", "log", "large", "--detail", "x".repeat(100_000));
  for (let nth = 0; nth < 3; nth++)
    await machine.run("audit", "log", "large", "--detail", "x".repeat(100_000));
  const { binary, configDir } = machine;
  const piped = await Bun.$`${binary} audit export --config-dir ${configDir} | head -c 10`.quiet();
  expect([piped.stdout.toString(), piped.stderr.toString()]).toEqual(['{"id":1,"t', ""]);
}, 180_000);

test("an export verifies where svc may make no folder, and none is made", async () => {
  using machine = installed();
  const { binary, path, run } = machine;
  await run("audit", "log", "test");
  const file = join(path, "export.jsonl");
  await run("audit", "export", file);
  const nowhere = join(file, "home");
  const verified = await Bun.$`${binary} audit verify --file ${file} --config-dir ${nowhere}`
    .nothrow()
    .quiet();
  expect([verified.stdout.toString(), verified.stderr.toString()]).toEqual(["Chain OK (2 rows)\n", ""]);
}, 180_000);

test("bad calls are exit 2 and say what was expected", async () => {
  using machine = installed();
  for (const args of [
    ["list", "--limit", "0"],
    ["list", "--since", "last week"],
    ["verify", "--noted", "12"],
    ["verify", "--file", "none.jsonl"],
    ["prune"],
    ["prune", "--keep", "-1"],
    ["prune", "--keep", "1", "--before", "2026-01-01"],
    ["log", "audit_cleared"],
    ["nothing"],
    [],
  ]) {
    const { exitCode, stderr, stdout } = await machine.run("audit", ...args);
    expect([args, exitCode, stdout]).toEqual([args, 2, ""]);
    expect(stderr).toStartWith("svc: ");
  }
}, 180_000);

test("four processes append 5,000 rows each: 20,000 rows, one chain", async () => {
  using machine = installed();
  mkdirSync(machine.configDir);
  const log = JSON.stringify(join(import.meta.dir, "../../src/host/audit/log"));
  const program = `
    const { openAuditLog } = await import(${log});
    const log = await openAuditLog({ path: ${JSON.stringify(machine.database)}, log: { info() {}, warn() {}, error: console.error }, lockWaitMs: 60_000 });
    for (let sent = 0; sent < 5000; sent += 25) {
      await Promise.all(Array.from({ length: 25 }, (_, nth) =>
        log.append({ event_type: "test", host_id: String(process.pid), viewer_id: null, detail: String(sent + nth) })));
    }
    await log.close();`;
  const children = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, "-e", program], { stdio: ["ignore", "ignore", "pipe"] }),
  );
  for (const child of children) expect([await child.stderr.text(), await child.exited]).toEqual(["", 0]);
  expect((await machine.run("audit", "verify")).stdout).toBe("Chain OK (20000 rows)\n");
  const counts = withDatabase(machine.database, (db) =>
    db.query("SELECT host_id, count(DISTINCT detail) AS rows FROM events GROUP BY host_id").all(),
  );
  expect(counts).toEqual(
    children
      .map(({ pid }) => ({ host_id: String(pid), rows: 5_000 }))
      .sort((a, b) => (a.host_id < b.host_id ? -1 : 1)),
  );
}, 120_000);

test("killed under load 20 times: what was answered is on record; chain, tree and file are whole", async () => {
  using machine = installed();
  const answered = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const { child, pid, call } = await serve(machine);
    let goOn = true;
    let asked = 0;
    const client = async () => {
      while (goOn) {
        const path = `/commands/round-${round}-request-${asked++}`;
        try {
          const response = await call(path);
          await response.arrayBuffer();
          answered.add(`GET ${path} -> failed:${response.status}`);
        } catch {
          return;
        }
      }
    };
    const clients = Array.from({ length: 16 }, client);
    const enough = answered.size + 20 + Math.random() * 300;
    await until("enough answers", () => answered.size >= enough);
    process.kill(pid, "SIGKILL");
    await Promise.all(clients);
    goOn = false;
    await child.exited;
  }
  const onRecord = new Set(rowsOf(machine.database).map(({ detail }) => detail));
  expect([...answered].filter((row) => !onRecord.has(row))).toEqual([]);
  expect(answered.size).toBeGreaterThan(400);
  expect((await machine.run("audit", "verify")).stdout).toMatch(/^Chain OK \(\d+ rows\)\n$/);
  expect(verifyDatabase(machine.database)).toMatchObject({ ok: true });
  const { vkey } = openAuditKey(configFiles(machine.configDir).auditKey);
  expect(scanTree(machine.database, vkey)).toEqual({ fault: null, witnessed: null });
  withDatabase(machine.database, (db: Database) => {
    expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  });
}, 120_000);

testWith("unshare", "mount")(
  "on a full disk what reads is served, what changes something is refused; then it works again",
  async () => {
    using machine = installed();
    mkdirSync(machine.configDir);
    const script = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"';
    const { child, pid, call } = await serve(machine, [
      "unshare",
      "--map-root-user",
      "--mount",
      "sh",
      "-c",
      script,
      machine.configDir,
    ]);
    const change = post({ actions: [["AC_rest_api_status"]] });
    const filler = `/proc/${pid}/root${machine.configDir}/filler`;
    try {
      expect((await call("/execute", change)).status).toBe(200);
      // What is left of the disk, then of the pages that the log had reserved.
      await Bun.$`dd if=/dev/zero of=${filler} bs=4k`.nothrow().quiet();
      let refused = 200;
      for (let nth = 0; nth < 300 && refused === 200; nth++)
        refused = (await call("/execute", change)).status;
      expect(refused).toBe(503);
      expect((await call("/commands")).status).toBe(200);
      expect(await (await call("/metrics")).text()).toMatch(/^service_audit_failures_total [1-9]/m);
      await Bun.$`rm ${filler}`;
      expect((await call("/execute", change)).status).toBe(200);
      expect(await (await call("/audit/verify")).json()).toMatchObject({ ok: true });
    } finally {
      child.kill();
      await child.exited;
    }
  },
  180_000,
);

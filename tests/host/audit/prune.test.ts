import { describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { writeExport } from "../../../src/host/audit/export";
import { AuditFile } from "../../../src/host/audit/file";
import { readHighWater } from "../../../src/host/audit/high-water";
import { openAuditLog } from "../../../src/host/audit/log";
import { pruneRows } from "../../../src/host/audit/prune";
import { verifyDatabase } from "../../../src/host/audit/verify";
import { verifyExport } from "../../../src/host/audit/verify-export";
import { silentLog } from "../../../src/lib/log";
import { post, runToEnd, SVC, temporaryFolder, testServer, testWith } from "../../support";
import { brokenLink, event, rowsOf, testLog, withDatabase } from "./support";

async function filledLog(rows: number) {
  const made = await testLog();
  await Promise.all(
    Array.from({ length: rows }, (_, nth) => made.log.append(event({ detail: `${nth + 1}` }))),
  );
  const folder = join(dirname(made.path), "audit-archive");
  return { ...made, archive: { folder }, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

describe("clearing", () => {
  test("leaves one row: who cleared how many, the hash of the last; the chain goes on from it", async () => {
    await using made = await filledLog(25);
    const last = rowsOf(made.path).at(-1);
    expect(await made.log.clear("cli (user ann)")).toBe(25);
    const [first] = rowsOf(made.path);
    expect(first).toMatchObject({
      id: 26,
      event_type: "audit_cleared",
      prev_hash: last?.row_hash,
      detail: `cleared 25 rows (ids 1 to 25) by cli (user ann); the hash of the last was ${last?.row_hash}; the chain was whole`,
    });
    expect(made.log.rowCount()).toBe(1);
    await made.log.append(event());
    expect(made.log.rowCount()).toBe(2);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 2 });
  });

  test("gives the disk its space back, but for the tree, which stays", async () => {
    await using made = await filledLog(5_000);
    const before = statSync(made.path).size;
    await made.log.clear("test");
    expect(statSync(made.path).size).toBeLessThan(Math.max(before / 4, 100_000) + 50 * 5_000);
  });

  test("an empty log is cleared of nothing", async () => {
    await using made = await testLog();
    expect(await made.log.clear("test")).toBe(0);
    expect(await made.log.clear("test")).toBe(1);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 1 });
  });

  test("does not hide a later break, and its own row cannot be removed unnoticed", async () => {
    await using made = await filledLog(5);
    await made.log.clear("test");
    await made.log.append(event());
    withDatabase(made.path, (db) => db.run("DELETE FROM events WHERE id = 6"));
    expect(verifyDatabase(made.path)).toMatchObject({ ok: false, broken_at_id: 7 });
  });

  test("a broken log says where it was broken, and so does pruning one", async () => {
    await using made = await filledLog(20);
    withDatabase(made.path, (db) => db.run("UPDATE events SET detail = 'x' WHERE id = 3"));
    await made.log.prune({ what: { keep: 10 }, archive: made.archive, by: "test" });
    const words = "the chain was broken at row id 3: it was edited";
    expect(rowsOf(made.path).at(-1)?.detail).toContain(words);
    withDatabase(made.path, (db) => db.run("DELETE FROM events WHERE id = 15"));
    await made.log.clear("test");
    expect(rowsOf(made.path)[0]?.detail).toContain("the chain was broken at row id 16: row 15 is gone");
  });

  test("while others append loses nothing and breaks nothing", async () => {
    await using made = await filledLog(100);
    const other = await openAuditLog({ path: made.path, log: silentLog });
    const appended: Promise<number>[] = [];
    for (let nth = 0; nth < 200; nth++) appended.push(other.append(event({ detail: `other ${nth}` })));
    const cleared = made.log.clear("test");
    for (let nth = 0; nth < 200; nth++) appended.push(made.log.append(event({ detail: `own ${nth}` })));
    const deleted = await cleared;
    await Promise.all(appended);
    await other.close();
    expect(rowsOf(made.path)).toHaveLength(500 - deleted + 1);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
  });
});

describe("pruning", () => {
  test("moves the oldest rows to a private archive that verifies, and says so in a row", async () => {
    await using made = await filledLog(50);
    const before = rowsOf(made.path);
    const pruned = await made.log.prune({ what: { keep: 20 }, archive: made.archive, by: "test" });
    expect(pruned).toEqual({ deleted: 30, archive: join(made.archive.folder, "audit-1-30.jsonl.gz") });
    const file = pruned.archive ?? "";
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(made.archive.folder).mode & 0o777).toBe(0o700);
    const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(before.slice(0, 30));
    expect(await verifyExport(file)).toMatchObject({ ok: true, total_rows: 30 });

    const rows = rowsOf(made.path);
    expect(rows.map(({ id }) => id)).toEqual([...before.slice(30).map(({ id }) => id), 51]);
    expect(rows.at(-1)).toMatchObject({
      event_type: "audit_pruned",
      detail: `pruned 30 rows (ids 1 to 30) by test; the hash of the last was ${before[29]?.row_hash}; archive ${file}; the chain was whole`,
    });
    expect(brokenLink(rows, before[29]?.row_hash ?? "")).toBeNull();
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 21 });
  });

  test.skipIf(process.getuid?.() !== 0)(
    "by root, of another user's log, is that user's archive",
    async () => {
      await using made = await filledLog(3);
      chownSync(dirname(made.path), 4_242, 4_242);
      const { archive } = await made.log.prune({ what: { keep: 1 }, archive: made.archive, by: "test" });
      const { uid, mode } = statSync(archive ?? "");
      expect([uid, mode & 0o777]).toEqual([4_242, 0o600]);
    },
  );

  test("keeps what is from the given time on", async () => {
    await using made = await filledLog(0);
    withDatabase(made.path, (db) => {
      for (const ts of ["2026-01-01", "2026-01-02", "2026-01-01", "2026-01-03"]) {
        db.query("INSERT INTO events (ts, event_type) VALUES (?, 'x')").run(`${ts}T00:00:00.000000+00:00`);
      }
    });
    const file = join(dirname(made.path), "old.jsonl");
    const pruned = await made.log.prune({
      what: { before: "2026-01-02T00:00:00" },
      archive: { file },
      by: "test",
    });
    expect(pruned).toEqual({ deleted: 1, archive: file });
    // A clock that went back does not make a hole.
    expect(rowsOf(made.path).map(({ id }) => id)).toEqual([2, 3, 4, 5]);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(1);
  });

  test("of nothing writes nothing", async () => {
    await using made = await filledLog(3);
    const pruned = await made.log.prune({ what: { keep: 3 }, archive: made.archive, by: "test" });
    expect(pruned).toEqual({ deleted: 0, archive: null });
    expect(existsSync(made.archive.folder)).toBe(false);
    expect(rowsOf(made.path)).toHaveLength(3);
  });

  test("removes nothing when the archive is there already or cannot be written", async () => {
    await using made = await filledLog(10);
    const prune = (file: string) =>
      made.log.prune({ what: { keep: 5 }, archive: { file }, by: "test" }).catch((error) => error.code);
    const taken = join(dirname(made.path), "taken.jsonl");
    writeFileSync(taken, "somebody's");
    expect(await prune(taken)).toBe("conflict");
    expect(await prune(join(dirname(made.path), "no such folder", "a.jsonl"))).toBe("unavailable");
    mkdirSync(join(dirname(made.path), "folder.jsonl"));
    expect(await prune(join(dirname(made.path), "folder.jsonl"))).toBe("conflict");
    expect(readFileSync(taken, "utf8")).toBe("somebody's");
    expect(rowsOf(made.path)).toHaveLength(10);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
  });

  test("after svc was killed between the archive and the removal finds another name", async () => {
    await using made = await filledLog(10);
    mkdirSync(made.archive.folder);
    writeFileSync(join(made.archive.folder, "audit-1-5.jsonl.gz"), "left over");
    writeFileSync(join(made.archive.folder, "audit-1-4.jsonl.gz.tmp-0123456789ab"), "half of it");
    const { archive } = await made.log.prune({ what: { keep: 5 }, archive: made.archive, by: "test" });
    expect(archive).toBe(join(made.archive.folder, "audit-1-5.2.jsonl.gz"));
    expect(readdirSync(made.archive.folder).sort()).toEqual(["audit-1-5.2.jsonl.gz", "audit-1-5.jsonl.gz"]);
    expect(await verifyExport(archive ?? "")).toMatchObject({ ok: true, total_rows: 5 });
  });

  test("is called off, and not on record, when the rows are cleared while they are archived", async () => {
    await using made = await filledLog(10);
    const file = new AuditFile(made.path);
    const write: AuditFile["write"] = file.write.bind(file);
    file.write = async (work) => {
      file.write = write;
      await made.log.clear("somebody else");
      return write(work);
    };
    const pruned = pruneRows(file, { what: { keep: 5 }, archive: made.archive, by: "test" });
    expect((await pruned.catch((error) => error)).code).toBe("conflict");
    file.close();
    expect(rowsOf(made.path).map(({ event_type }) => event_type)).toEqual(["audit_cleared"]);
  });

  test("removes what another process has archived, and nothing where the log has other rows by then", async () => {
    await using made = await filledLog(10);
    const file = join(dirname(made.path), "elsewhere.jsonl");
    const has = await made.log.archive({ keep: 6 }, file);
    expect(rowsOf(made.path)).toHaveLength(10);
    if (!has) throw new Error("expected rows");
    const prune = (archived: typeof has) =>
      made.log.prune({ what: { keep: 6 }, archive: { written: file, has: archived }, by: "test" });
    for (const other of [{ rows: 3 }, { first_id: 2 }, { last_id: 5 }, { last_hash: "0".repeat(64) }])
      await expect(prune({ ...has, ...other })).rejects.toMatchObject({ code: "conflict" });
    expect(rowsOf(made.path)).toHaveLength(10);
    expect(await prune(has)).toEqual({ deleted: 4, archive: file });
    expect(rowsOf(made.path).at(-1)?.detail).toContain(`archive ${file}`);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 7 });
    await expect(prune(has)).rejects.toMatchObject({ code: "conflict" });
    expect(await made.log.archive({ keep: 100 }, `${file}2`)).toBeNull();
  });

  test("lets others write between its steps", async () => {
    await using made = await filledLog(10_000);
    const file = new AuditFile(made.path);
    let over = false;
    const pruned = pruneRows(file, { what: { keep: 0 }, archive: made.archive, by: "test" }).finally(() => {
      over = true;
    });
    const beginnings = new Set<number | undefined>();
    while (!over) {
      await made.log.append(event());
      beginnings.add(await file.read((db) => readHighWater(db).first_id));
    }
    expect(await pruned).toMatchObject({ deleted: 10_000 });
    file.close();
    expect(beginnings.size).toBeGreaterThan(3);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
  });

  test("everything, and again, and after a clear", async () => {
    await using made = await filledLog(10);
    const prune = (keep: number) => made.log.prune({ what: { keep }, archive: made.archive, by: "test" });
    await prune(0);
    await prune(0);
    await made.log.append(event());
    await made.log.clear("test");
    await prune(0);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 1 });
    for (const name of readdirSync(made.archive.folder)) {
      expect(await verifyExport(join(made.archive.folder, name))).toMatchObject({ ok: true });
    }
  });

  test("two at the same time: each row ends up in one archive", async () => {
    await using made = await filledLog(3_000);
    const prune = (keep: number) => made.log.prune({ what: { keep }, archive: made.archive, by: "test" });
    const both = await Promise.all([prune(2_000), prune(1_000)]);
    expect(both.reduce((sum, { deleted }) => sum + deleted, 0)).toBeGreaterThanOrEqual(2_000);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
    const archived = readdirSync(made.archive.folder).flatMap((name) =>
      gunzipSync(readFileSync(join(made.archive.folder, name)))
        .toString()
        .trim()
        .split("\n"),
    );
    expect(new Set(archived).size).toBe(archived.length);
  });
});

test("a limit moves the oldest rows away by itself, and the log stays whole", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  const moved = Promise.withResolvers<string>();
  const log = await openAuditLog({ path, log: { ...silentLog, info: moved.resolve, error: moved.reject } });
  log.limitRows(100);
  for (let nth = 0; nth < 101; nth++) await log.append(event());
  expect(await moved.promise).toMatch(/^moved \d+ rows of the audit log to .*audit-archive/);
  await log.append(event());
  expect(log.rowCount()).toBeLessThanOrEqual(92);
  expect(log.rowCount()).toBe(rowsOf(path).length);
  await log.close();
  const [archive = ""] = readdirSync(join(folder.path, "audit-archive"));
  expect(await verifyExport(join(folder.path, "audit-archive", archive))).toMatchObject({ ok: true });
  expect(verifyDatabase(path)).toMatchObject({ ok: true });
});

describe("an export", () => {
  const exportOf = async (log: Awaited<ReturnType<typeof testLog>>["log"]) => {
    let text = "";
    for await (const { lines } of log.exported()) text += lines;
    return text;
  };
  const verdictOn = (folder: string, text: string) => {
    const path = join(folder, `export-${Math.random()}.jsonl`);
    writeFileSync(path, text);
    return verifyExport(path);
  };

  test("has every row with its id and both hashes, whatever it says, and verifies", async () => {
    await using made = await testLog();
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (detail) => {
        await made.log.append(event({ detail: `${detail}\u2028\r\n` }));
      }),
    );
    const text = await exportOf(made.log);
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(rowsOf(made.path));
    expect(await verdictOn(dirname(made.path), text)).toMatchObject({ ok: true, total_rows: 100 });
  });

  test("comes a few megabytes at a time, however long its rows are", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 12; nth++) await made.log.append(event({ detail: "\u0001".repeat(1_000_000) }));
    const sizes: number[] = [];
    for await (const { lines } of made.log.exported()) sizes.push(lines.length);
    expect(sizes).toHaveLength(12);
    expect(Math.max(...sizes)).toBeLessThan(7_000_000);
  });

  test("has nothing in it that a terminal obeys", async () => {
    await using made = await testLog();
    await made.log.append(event({ detail: "\u009b31m\u202e\u007f" }));
    expect(await exportOf(made.log)).toContain('"\\u009b31m\\u202e\\u007f"');
  });

  test("of every fixture verifies", async () => {
    for (const name of ["audit-foreign.db", "audit-pruned.db", "audit-legacy.db"]) {
      await using made = await testLog(name);
      expect(await verdictOn(dirname(made.path), await exportOf(made.log))).toMatchObject({ ok: true });
    }
  });

  test("that was tampered with is broken at the right row", async () => {
    await using made = await filledLog(10);
    const lines = (await exportOf(made.log)).trim().split("\n");
    const verdict = async (edited: string[]) => {
      const { ok, broken_at_id, total_rows } = await verdictOn(dirname(made.path), edited.join("\n"));
      return [ok, broken_at_id, total_rows];
    };
    expect(await verdict(lines)).toEqual([true, null, 10]);
    expect(await verdict(lines.with(4, (lines[4] ?? "").replace('"detail":"5"', '"detail":"6"')))).toEqual([
      false,
      5,
      10,
    ]);
    expect(await verdict(lines.toSpliced(4, 1))).toEqual([false, 6, 9]);
    expect(await verdict(lines.with(4, (lines[4] ?? "").replace('"id":5', '"id":50')))).toEqual([
      false,
      50,
      10,
    ]);
    expect(await verdict(lines.with(4, lines[5] ?? "").with(5, lines[4] ?? ""))).toEqual([false, 6, 10]);
    expect(await verdict(lines.with(4, "{}"))).toEqual([false, 5, 10]);
    expect(await verdict(lines.with(4, "not JSON"))).toEqual([false, 5, 10]);
    expect(await verdict([])).toEqual([true, null, 0]);
    const twice = await verdictOn(dirname(made.path), [...lines, lines[2]].join("\n"));
    expect(twice).toMatchObject({ broken_at_id: 3, reason: "it stands where row 11 must be" });
  });

  testWith("unshare", "mount")("on a full disk fails in one line, and leaves nothing behind", async () => {
    await using made = await filledLog(600);
    const full = join(dirname(made.path), "full");
    mkdirSync(full);
    const mount = 'mount -t tmpfs -o size=16k tmpfs "$0" && { "$@"; code=$?; ls -A "$0"; exit $code; }';
    const run = async (...args: string[]) => {
      const command = [...SVC, "audit", ...args, "--config-dir", dirname(made.path)];
      const apart = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, full];
      const { stdout, stderr, exitCode } = await runToEnd([...apart, ...command]);
      return { stdout, stderr, code: exitCode };
    };
    for (const name of ["a.jsonl", "a.jsonl.gz"]) {
      const path = join(full, name);
      const failed = {
        stdout: "",
        stderr: `svc: ${path} cannot be written (ENOSPC) (svc help T7)\n`,
        code: 1,
      };
      expect(await run("export", path)).toEqual(failed);
      expect(await run("prune", "--keep", "1", "--archive", path)).toEqual(failed);
    }
    expect((await made.log.verify()).ok).toBe(true);
  });

  test("takes the place of no folder and of no link, such as /dev/stdout", async () => {
    await using made = await filledLog(1);
    const link = join(dirname(made.path), "stdout");
    symlinkSync(made.path, link);
    for (const path of [link, dirname(made.path)]) {
      expect((await writeExport(path, made.log.exported()).catch((error) => error)).code).toBe("bad_input");
    }
    expect(readlinkSync(link)).toBe(made.path);
  });

  test("that cannot be read is bad input", async () => {
    await using made = await testLog();
    const file = `${made.path}.gz`;
    writeFileSync(file, "not gzip");
    const noText = `${made.path}.jsonl`;
    writeFileSync(noText, Buffer.from([0xff, 0x0a]));
    for (const path of [file, noText, `${made.path}.none`, dirname(made.path)]) {
      expect((await verifyExport(path).catch((error) => error)).code).toBe("bad_input");
    }
  });
});

describe("AC_audit_log_clear", () => {
  const clear = post({ actions: [["AC_audit_log_clear"]] });

  test("over HTTP is refused unless the server was started so as to allow it", async () => {
    await using host = await testServer();
    const refused = await host.call("/execute", clear);
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { error: "AC_audit_log_clear needs svc to be started with --allow-audit-clear" },
    ]);
    expect(rowsOf(join(host.configDir, "audit.db")).length).toBeGreaterThan(0);
  });

  test("says how many rows went where it is allowed", async () => {
    await using host = await testServer({ service: { allow_audit_clear: true } });
    await host.call("/commands");
    const report = (await (await host.call("/execute", clear)).json()) as { ok: boolean; result: object };
    expect(Object.values(report.result)).toEqual([{ deleted: 2 }]);
    const rows = rowsOf(join(host.configDir, "audit.db"));
    expect(rows.map(({ event_type }) => event_type)).toEqual(["audit_cleared", "run", "rest_api"]);
    expect(rows[0]?.detail).toContain("by rest (127.0.0.1)");
  });
});

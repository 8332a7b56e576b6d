import { Database } from "bun:sqlite";
import { describe, expect, setSystemTime, spyOn, test } from "bun:test";
import { copyFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { openAuditLog } from "../../../src/host/audit/log";
import { CHECK_MS } from "../../../src/host/audit/open-file";
import type { Log } from "../../../src/lib/log";
import { silentLog } from "../../../src/lib/log";
import { movableClock, onNextPause, temporaryFolder } from "../../support";
import { brokenLink, event, rowsOf, testLog, withDatabase } from "./support";

describe("appending", () => {
  test("makes a private file in the format of existing tools", async () => {
    await using made = await testLog();
    expect(await made.log.append(event())).toBe(1);
    expect(statSync(made.path).mode & 0o777).toBe(0o600);
    const [row] = rowsOf(made.path);
    expect(row).toMatchObject({ id: 1, ...event(), prev_hash: "0".repeat(64) });
    expect(row?.ts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
  });

  test("takes a type and its details, and verifies, under the names of existing programs", async () => {
    await using made = await testLog();
    expect(await made.log.log("nightly_backup", { host_id: "lab-01", detail: "done" })).toBe(1);
    expect(await made.log.log("nightly_backup")).toBe(2);
    const none = { viewer_id: null, event_type: "nightly_backup" };
    expect(rowsOf(made.path)).toMatchObject([
      { ...none, host_id: "lab-01", detail: "done" },
      { ...none, host_id: null, detail: null },
    ]);
    const whole = { ok: true, broken_at_id: null, total_rows: 2 };
    expect(await made.log.verify_chain()).toMatchObject(whole);
    expect(await made.log.verifyChain()).toMatchObject(whole);
  });

  test("resolves when the row is on disk: another connection reads it at once", async () => {
    await using made = await testLog();
    const id = await made.log.append(event());
    expect(rowsOf(made.path).map((row) => row.id)).toEqual([id]);
  });

  test("rows that wait at the same time share a commit and keep their order", async () => {
    await using made = await testLog();
    const ids = await Promise.all(
      Array.from({ length: 2_500 }, (_, nth) => made.log.append(event({ detail: `${nth}` }))),
    );
    expect(ids).toEqual(ids.map((_, nth) => nth + 1));
    const rows = rowsOf(made.path);
    expect(rows.map(({ detail }) => detail)).toEqual(rows.map((_, nth) => `${nth}`));
    expect(brokenLink(rows)).toBeNull();
  });

  test("each row has the time of its append, also when the clock goes back", async () => {
    await using made = await testLog();
    try {
      for (const second of ["02", "01", "01", "03"]) {
        setSystemTime(new Date(`2026-04-27T10:30:${second}.123Z`));
        await made.log.append(event());
      }
    } finally {
      setSystemTime();
    }
    expect(rowsOf(made.path).map(({ ts }) => ts)).toEqual(
      ["02", "01", "01", "03"].map((second) => `2026-04-27T10:30:${second}.123000+00:00`),
    );
  });

  test("any text is stored as it was hashed; what UTF-8 cannot carry is U+FFFD before", async () => {
    await using made = await testLog();
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u0000x", "\ud800", "a\udc00b", '"\\/\b\f\n\r\t\u001f\u007f\u2028', "🦊", "e\u0301"),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.option(text), fc.option(text), async (event_type, host_id, detail) => {
        await made.log.append({ event_type, host_id, viewer_id: null, detail });
        const last = rowsOf(made.path).at(-1);
        expect(last?.event_type).toBe(event_type.toWellFormed());
        expect(last?.detail).toBe(detail === null ? null : detail.toWellFormed());
      }),
      { numRuns: 100 },
    );
    expect(brokenLink(rowsOf(made.path))).toBeNull();
  });

  test("a megabyte of text is a row like any other", async () => {
    await using made = await testLog();
    await made.log.append(event({ detail: "é\u0000\ud83e".repeat(350_000) }));
    await made.log.append(event());
    expect(brokenLink(rowsOf(made.path))).toBeNull();
  });

  test("the number of rows is known without a query, whoever else writes", async () => {
    await using made = await testLog();
    const other = await openAuditLog({ path: made.path, log: silentLog });
    for (let nth = 0; nth < 3; nth++) await other.append(event());
    await other.close();
    expect(made.log.rowCount()).toBe(0);
    await made.log.append(event());
    expect(made.log.rowCount()).toBe(4);
  });

  test.each(["audit-foreign.db", "audit-pruned.db", "audit-legacy.db"])(
    "the number of rows is known when the log is opened, also where ids were missing from the start: %s",
    async (fixture) => {
      using folder = temporaryFolder();
      const path = join(folder.path, "audit.db");
      copyFileSync(join(import.meta.dir, "..", "..", "fixtures", fixture), path);
      withDatabase(path, (db) =>
        db.run("DELETE FROM events WHERE id IN (5, 30, 31) OR id = (SELECT max(id) FROM events)"),
      );
      const opened = async () => {
        const log = await openAuditLog({ path, log: silentLog });
        expect(log.rowCount()).toBe(rowsOf(path).length);
        return log;
      };
      const first = await opened();
      await first.append(event());
      await first.close();
      const second = await opened();
      await second.prune({ what: { keep: 8 }, archive: { folder: folder.path }, by: "test" });
      await second.close();
      const third = await opened();
      expect(third.rowCount()).toBe(9);
      await third.clear("test");
      await third.close();
      await (await opened()).close();
    },
  );

  test("through a symbolic link goes to what it points to", async () => {
    await using made = await testLog("audit-foreign.db");
    const link = join(dirname(made.path), "link.db");
    symlinkSync(made.path, link);
    const log = await openAuditLog({ path: link, log: silentLog });
    expect([await log.append(event()), await made.log.append(event())]).toEqual([41, 42]);
    await log.close();
  });

  test("follows the row that another writer of the format appended meanwhile", async () => {
    await using made = await testLog("audit-foreign.db");
    await made.log.append(event());
    withDatabase(made.path, (db) => {
      const last = rowsOf(made.path).at(-1);
      const ts = "2026-04-27T10:30:00.123456+00:00";
      const said = JSON.stringify([last?.row_hash, ts, "auth", null, null, null]);
      const hash = new Bun.CryptoHasher("sha256").update(said).digest("hex");
      db.query("INSERT INTO events (ts, event_type, prev_hash, row_hash) VALUES (?, 'auth', ?, ?)").run(
        ts,
        last?.row_hash ?? null,
        hash,
      );
    });
    expect(await made.log.append(event())).toBe(43);
    expect(brokenLink(rowsOf(made.path))).toBeNull();
  });
});

describe("a row that cannot be written is an unavailable failure", () => {
  test("while another process holds the lock; afterwards rows are written again", async () => {
    await using made = await testLog();
    const holder = new Database(made.path);
    holder.run("BEGIN IMMEDIATE");
    const refused = await Promise.allSettled([made.log.append(event()), made.log.append(event())]);
    expect(refused.map((one) => one.status === "rejected" && one.reason.code)).toEqual([
      "unavailable",
      "unavailable",
    ]);
    // From now on nobody waits for it in vain, also when reading goes well in between.
    using _now = spyOn(performance, "now").mockReturnValue(performance.now());
    using pauses = spyOn(Bun, "sleep");
    for (let times = 0; times < 3; times++) {
      await made.log.list({ limit: 1 });
      await expect(made.log.append(event())).rejects.toThrow("locked by another process");
    }
    expect(pauses).not.toHaveBeenCalled();
    holder.run("ROLLBACK");
    holder.close();
    expect(await made.log.append(event())).toBe(1);
  });

  test("but not for a lock that is met for a moment, long after one that was in the way for too long", async () => {
    await using made = await testLog();
    const holder = new Database(made.path);
    holder.run("BEGIN IMMEDIATE");
    expect((await made.log.append(event()).catch((error) => error)).code).toBe("unavailable");
    holder.run("ROLLBACK");
    using clock = movableClock();
    clock.advance(1_000);
    holder.run("BEGIN IMMEDIATE");
    using _pause = onNextPause(() => holder.run("ROLLBACK"));
    expect(await made.log.append(event())).toBe(1);
    holder.close();
  });

  test("once the file at its path is another one, and nothing is written to either", async () => {
    await using made = await testLog("audit-foreign.db");
    renameSync(made.path, `${made.path}.away`);
    writeFileSync(made.path, "");
    const sizes = () =>
      [made.path, `${made.path}.away`, `${made.path}-wal`].map((path) => statSync(path).size);
    const before = sizes();
    const failure = await made.log.append(event()).catch((error) => error);
    expect([failure.code, failure.message]).toEqual(["unavailable", expect.stringContaining("replaced")]);
    expect(sizes()).toEqual(before);
  });

  test("once its write-ahead log was deleted, which would lose the row", async () => {
    await using made = await testLog();
    await made.log.append(event());
    rmSync(`${made.path}-wal`);
    using clock = movableClock();
    clock.advance(2 * CHECK_MS);
    expect((await made.log.append(event()).catch((error) => error)).code).toBe("unavailable");
  });

  test("when the file is no database, or has another table of that name", async () => {
    using folder = temporaryFolder();
    const noDatabase = `${folder.path}/text.db`;
    writeFileSync(noDatabase, "no database at all, but long enough to be looked at".repeat(20));
    const otherTable = `${folder.path}/other.db`;
    withDatabase(otherTable, (db) => db.run("CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT)"));
    for (const path of [noDatabase, otherTable]) {
      const log = await openAuditLog({ path, log: silentLog });
      expect((await log.append(event()).catch((error) => error)).code).toBe("unavailable");
      await log.close();
    }
  });

  test("which the process's log hears of once, not for each row, and again when it is over", async () => {
    using folder = temporaryFolder();
    const path = `${folder.path}/audit.db`;
    const said: string[] = [];
    const keep = (text: string) => void said.push(text);
    const processLog: Log = { info: keep, warn: keep, error: keep };
    const log = await openAuditLog({ path, log: processLog, lockWaitMs: 20 });
    const holder = new Database(path);
    holder.run("BEGIN IMMEDIATE");
    for (let nth = 0; nth < 3; nth++) await log.append(event()).catch(() => {});
    holder.run("ROLLBACK");
    holder.close();
    await log.append(event());
    await log.close();
    expect(said).toHaveLength(2);
    expect(said[0]).toContain("locked");
    expect(said[1]).toContain("again");
  });
});

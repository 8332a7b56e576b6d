import type { Database } from "bun:sqlite";
import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { AuditFile } from "../../../src/host/audit/file";
import { appendRows, headOf, readHighWater } from "../../../src/host/audit/high-water";
import { type AuditLog, openAuditLog } from "../../../src/host/audit/log";
import { rowHash } from "../../../src/host/audit/row";
import { LARGE_LOG } from "../../../src/host/audit/scans";
import { structureFault, verifyDatabase } from "../../../src/host/audit/verify";
import { silentLog } from "../../../src/lib/log";
import { nextTurn, temporaryFolder, testServer, until } from "../../support";
import { event, forgetSvc, mutilateIndex, noteOf, rowsOf, testLog, withDatabase } from "./support";

/** Rows of the log that is tampered with. */
const ROWS = 30;
const LAST = ROWS;
const PLACES = [1, 15, LAST];

const source = temporaryFolder();
const whole = join(source.path, "audit.db");

beforeAll(async () => {
  const log = await openAuditLog({ path: whole, log: silentLog });
  for (let nth = 1; nth <= ROWS; nth++) await log.append(event({ detail: `row ${nth} — "ü" \u0007` }));
  await log.close();
});

/** A log of so many rows. */
async function filledLog(path: string, rows: number) {
  const file = new AuditFile(path);
  const batch = Array.from({ length: rows }, () => ({ ts: "2026", event: event() }));
  await file.write((db) => appendRows(db, headOf(readHighWater(db)), batch));
  file.close();
  return openAuditLog({ path, log: silentLog });
}

/** What verification says of the log once `tamper` has had the file. */
function afterwards(tamper: (db: Database) => void) {
  using folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  copyFileSync(whole, path);
  withDatabase(path, tamper);
  const { ok, broken_at_id, total_rows, reason } = verifyDatabase(path);
  return { ok, broken_at_id, total_rows, reason };
}

const brokenAt = (id: number | null, words: string) =>
  expect.objectContaining({ ok: false, broken_at_id: id, reason: expect.stringContaining(words) });

test("a log that nobody touched is whole", () => {
  expect(afterwards(() => {})).toEqual({ ok: true, broken_at_id: null, total_rows: ROWS, reason: null });
});

describe("an edited field is found at its row", () => {
  const fields = {
    ts: "2020-01-01T00:00:00.000000+00:00",
    event_type: "other",
    host_id: "10.9.8.7",
    viewer_id: "someone",
    detail: "nothing happened",
  };
  for (const [field, value] of Object.entries(fields)) {
    for (const id of PLACES) {
      test(`${field} of row ${id}`, () => {
        const edit = (db: Database) => db.query(`UPDATE events SET ${field} = ? WHERE id = ?`).run(value, id);
        expect(afterwards(edit)).toEqual(brokenAt(id, "edited"));
      });
      test(`${field} of row ${id}, replaced by bytes`, () => {
        const edit = (db: Database) =>
          db.query(`UPDATE events SET ${field} = CAST(${field} || 'x' AS BLOB) WHERE id = ?`).run(id);
        // `viewer_id` is null here, and null || 'x' stays so.
        if (field !== "viewer_id") expect(afterwards(edit)).toEqual(brokenAt(id, "edited"));
      });
    }
  }

  test("U+FFFD, replaced by bytes that read as it does", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await made.log.append(event({ detail: "a\ud800b" }));
    expect(verifyDatabase(made.path).ok).toBe(true);
    withDatabase(made.path, (db) =>
      db.run("UPDATE events SET detail = CAST(x'61ff62' AS TEXT) WHERE id = 2"),
    );
    expect(verifyDatabase(made.path)).toEqual(brokenAt(2, "edited"));
  });

  test("null that becomes the empty text, and text that becomes null", () => {
    expect(afterwards((db) => db.run("UPDATE events SET viewer_id = '' WHERE id = 15"))).toEqual(
      brokenAt(15, "edited"),
    );
    expect(afterwards((db) => db.run("UPDATE events SET detail = NULL WHERE id = 15"))).toEqual(
      brokenAt(15, "edited"),
    );
  });
});

describe("an edited id is found", () => {
  const moved = (from: number, to: number) =>
    afterwards((db) => db.query("UPDATE events SET id = ? WHERE id = ?").run(to, from));

  test("of the first row: where the log begins", () => {
    expect(moved(1, 0)).toEqual(brokenAt(0, "before row 1"));
    expect(moved(1, 1_000)).toEqual(brokenAt(2, "oldest rows"));
  });
  test("of a middle row: at the row after the hole it left", () => {
    expect(moved(15, 1_000)).toEqual(brokenAt(16, "row 15 is gone"));
    expect(moved(15, -5)).toEqual(brokenAt(-5, "before row 1"));
  });
  test("of the last row: at that row", () => {
    expect(moved(LAST, LAST + 1)).toEqual(brokenAt(LAST + 1, `row ${LAST} is gone`));
    expect(moved(LAST, 1_000)).toEqual(brokenAt(1_000, "are gone"));
  });
});

describe("an edited hash is found at its row", () => {
  for (const column of ["prev_hash", "row_hash"]) {
    for (const id of PLACES) {
      test(`${column} of row ${id}`, () => {
        const edit = (db: Database) =>
          db.query(`UPDATE events SET ${column} = ? WHERE id = ?`).run("f".repeat(64), id);
        expect(afterwards(edit)).toEqual(brokenAt(id, "it "));
      });
      test(`${column} of row ${id} in upper case`, () => {
        const edit = (db: Database) =>
          db.query(`UPDATE events SET ${column} = upper(${column}) WHERE id = ?`).run(id);
        // 64 zeros have no upper case.
        if (column === "row_hash" || id > 1) expect(afterwards(edit)).toEqual(brokenAt(id, "it "));
      });
      test(`${column} of row ${id} removed`, () => {
        const edit = (db: Database) => db.query(`UPDATE events SET ${column} = NULL WHERE id = ?`).run(id);
        expect(afterwards(edit)).toEqual(brokenAt(id, "hash was removed"));
      });
    }
  }
});

describe("missing rows are found", () => {
  const without = (condition: string) => afterwards((db) => db.run(`DELETE FROM events WHERE ${condition}`));

  test("the oldest: at the first that is left", () => {
    expect(without("id = 1")).toEqual(brokenAt(2, "the oldest rows are gone"));
    expect(without("id <= 15")).toEqual(brokenAt(16, "the oldest rows are gone"));
    expect(without(`id < ${LAST}`)).toEqual(brokenAt(LAST, "the oldest rows are gone"));
  });
  test("in the middle: at the row after the hole", () => {
    expect(without("id = 2")).toEqual(brokenAt(3, "row 2 is gone"));
    expect(without("id BETWEEN 15 AND 17")).toEqual(brokenAt(18, "rows 15 to 17 are gone"));
    expect(without(`id = ${LAST - 1}`)).toEqual(brokenAt(LAST, `row ${LAST - 1} is gone`));
  });
  test("in the middle, the ids closed up: at the row that does not follow", () => {
    const closed = afterwards((db) => {
      db.run("DELETE FROM events WHERE id = 15");
      for (let id = 16; id <= LAST; id++) db.query("UPDATE events SET id = ? WHERE id = ?").run(id - 1, id);
    });
    expect(closed).toEqual(brokenAt(15, "does not follow row 14"));
  });
  test("the newest: at the first id that is missing", () => {
    expect(without(`id = ${LAST}`)).toEqual(brokenAt(LAST, `row ${LAST} is gone`));
    expect(without("id >= 15")).toEqual(brokenAt(15, `rows 15 to ${LAST} are gone`));
    expect(without("id > 1")).toEqual(brokenAt(2, `rows 2 to ${LAST} are gone`));
  });
  test("the newest, with SQLite's own count of ids set back", () => {
    const verdict = afterwards((db) => {
      db.run("DELETE FROM events WHERE id >= 15");
      db.run("UPDATE sqlite_sequence SET seq = 14");
    });
    expect(verdict).toEqual(brokenAt(15, "the newest rows are gone"));
  });
  test("all of them: at the first", () => {
    expect(without("1")).toEqual(brokenAt(1, `rows 1 to ${LAST} are gone`));
  });
  test("all of them with their table: at the first", () => {
    expect(afterwards((db) => db.run("DROP TABLE events"))).toEqual(brokenAt(1, "their table was removed"));
  });
  test("the newest of another writer, known only from SQLite's counter of ids", async () => {
    await using made = await testLog();
    await made.log.append(event());
    withDatabase(made.path, (db) => {
      const [row] = rowsOf(made.path);
      const hash = rowHash(row?.row_hash ?? null, "2026-01-01T00:00:00+00:00", event());
      db.query(
        "INSERT INTO events (ts, event_type, host_id, detail, prev_hash, row_hash) VALUES (?, ?, ?, ?, ?, ?)",
      ).run(
        "2026-01-01T00:00:00+00:00",
        "rest_api",
        "127.0.0.1",
        event().detail,
        row?.row_hash ?? null,
        hash,
      );
      expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 2 });
      db.run("DELETE FROM events WHERE id = 2");
    });
    expect(verifyDatabase(made.path)).toEqual(brokenAt(2, "the newest rows are gone"));
  });
});

describe("rows in the wrong place are found", () => {
  const columns = "ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash";
  /** Swaps what the rows say, hashes and all, or only their ids, which comes to the same. */
  const swap = (a: number, b: number) => (db: Database) => {
    db.query("UPDATE events SET id = -1 WHERE id = ?").run(a);
    db.query("UPDATE events SET id = ? WHERE id = ?").run(a, b);
    db.query("UPDATE events SET id = ? WHERE id = -1").run(b);
  };
  const copy = (from: number, to: number) => (db: Database) =>
    db
      .query(`INSERT INTO events (id, ${columns}) SELECT ?, ${columns} FROM events WHERE id = ?`)
      .run(to, from);
  const shift = (db: Database, from: number) => {
    for (let id = LAST; id >= from; id--) db.query("UPDATE events SET id = ? WHERE id = ?").run(id + 1, id);
  };

  for (const [a, b] of [
    [1, 2],
    [1, LAST],
    [15, 16],
    [14, 20],
    [LAST - 1, LAST],
  ] as const) {
    test(`rows ${a} and ${b} swapped: at row ${a}`, () => {
      expect(afterwards(swap(a, b))).toEqual(brokenAt(a, "follow"));
    });
  }
  test("a copy at the end: at the copy", () => {
    for (const id of PLACES)
      expect(afterwards(copy(id, LAST + 1))).toEqual(brokenAt(LAST + 1, "does not follow"));
  });
  test("a copy in between, the ids moved up: at the copy", () => {
    for (const id of [1, 15]) {
      const verdict = afterwards((db) => {
        shift(db, id + 1);
        copy(id, id + 1)(db);
      });
      expect(verdict).toEqual(brokenAt(id + 1, "does not follow"));
    }
  });
  test("a row put in between without hashes: at that row", () => {
    for (const id of PLACES) {
      const verdict = afterwards((db) => {
        shift(db, id);
        db.query("INSERT INTO events (id, ts, event_type) VALUES (?, '2026', 'x')").run(id);
      });
      expect(verdict).toEqual(brokenAt(id, "hash was removed"));
    }
  });
  test("a row put in between with a chain of its own: at the row after it", () => {
    const verdict = afterwards((db) => {
      shift(db, 15);
      const before = db.query<{ row_hash: string }, []>("SELECT row_hash FROM events WHERE id = 14").get();
      const hash = rowHash(before?.row_hash ?? "", "2026", event());
      db.query(
        "INSERT INTO events (id, ts, event_type, host_id, detail, prev_hash, row_hash) VALUES (15, '2026', ?, ?, ?, ?, ?)",
      ).run(event().event_type, event().host_id, event().detail, before?.row_hash ?? "", hash);
    });
    expect(verdict).toEqual(brokenAt(16, "does not follow row 15"));
  });
  test("the last row rewritten with a good hash: at that row", () => {
    const verdict = afterwards((db) => {
      const row = db
        .query<{ ts: string; prev_hash: string }, []>(`SELECT * FROM events WHERE id = ${LAST}`)
        .get();
      const hash = rowHash(row?.prev_hash ?? "", row?.ts ?? "", event({ detail: "harmless" }));
      db.query(`UPDATE events SET detail = 'harmless', row_hash = ? WHERE id = ${LAST}`).run(hash);
    });
    expect(verdict).toEqual(brokenAt(LAST, "not the row that svc wrote"));
  });
});

describe("the high-water mark", () => {
  test("that were removed are missed", () => {
    expect(afterwards((db) => db.run("DROP TABLE svc_bearings"))).toEqual(
      brokenAt(null, "lost its high-water mark"),
    );
    expect(afterwards((db) => db.run("DELETE FROM svc_bearings"))).toEqual(
      brokenAt(null, "lost its high-water mark"),
    );
  });

  test("a row appended after the newest were deleted does not hide that", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 5; nth++) await made.log.append(event());
    withDatabase(made.path, (db) => db.run("DELETE FROM events WHERE id >= 4"));
    expect(await made.log.append(event())).toBe(6);
    expect(verifyDatabase(made.path)).toEqual(brokenAt(6, "rows 4 to 5 are gone"));
  });

  test("holes that were there on first opening are no break, later ones are", async () => {
    await using made = await testLog();
    await made.log.close();
    const db = new AuditFile(made.path);
    await db.write((open) => {
      appendRows(open, headOf(readHighWater(open)), [
        { ts: "2026", event: event() },
        { ts: "2026", event: event() },
      ]);
      // As another tool may leave it: a hole in the ids, the chain whole; never opened by svc.
      open.run("UPDATE events SET id = 9 WHERE id = 2");
      forgetSvc(open);
    });
    db.close();
    const log = await openAuditLog({ path: made.path, log: silentLog });
    await log.append(event());
    expect(await log.verify()).toMatchObject({ ok: true, total_rows: 3 });
    await log.close();
    withDatabase(made.path, (open) => open.run("UPDATE events SET id = 8 WHERE id = 9"));
    expect(verifyDatabase(made.path).ok).toBe(false);
  });
});

describe("foreign logs", () => {
  for (const [name, rows] of [
    ["audit-foreign.db", 40],
    ["audit-pruned.db", 34],
    // One says that the others were adopted.
    ["audit-legacy.db", 21],
  ] as const) {
    test(`${name} verifies, and goes on verifying`, async () => {
      await using made = await testLog(name);
      expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: rows });
      await made.log.append(event());
      expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: rows + 1 });
    });
  }

  test("a hash that was gone before svc came is a break all the same", async () => {
    await using made = await testLog("audit-foreign.db");
    await made.log.close();
    const path = `${made.path}.edited`;
    copyFileSync(join(import.meta.dir, "../../fixtures/audit-foreign.db"), path);
    withDatabase(path, (db) => db.run("UPDATE events SET row_hash = NULL WHERE id = 7"));
    const log = await openAuditLog({ path, log: silentLog });
    expect(verifyDatabase(path)).toEqual(brokenAt(7, "hash was removed"));
    await log.close();
  });
});

test("a damaged file is a break, not a crash", async () => {
  await using made = await testLog();
  for (let nth = 0; nth < 500; nth++) void made.log.append(event({ detail: "x".repeat(200) }));
  await made.log.append(event());
  await made.log.close();
  const bytes = readFileSync(made.path);
  bytes.fill(0xff, 40 * 4_096, 44 * 4_096);
  writeFileSync(made.path, bytes);
  const { ok, reason } = verifyDatabase(made.path);
  expect(ok).toBe(false);
  expect(reason).toMatch(/damaged|edited|gone|follow/);
});

describe("a row noted elsewhere", () => {
  test("binds what is before it: a log rewritten throughout is found out", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 4; nth++) await made.log.append(event());
    const { head } = await made.log.verify();
    await made.log.append(event());
    expect(await made.log.verify({ noted: head ?? "" })).toMatchObject({ ok: true });
    await made.log.close();
    // The patient attacker: every hash made anew, the high-water mark too.
    withDatabase(made.path, (db) => {
      let hash = "0".repeat(64);
      for (const row of rowsOf(made.path)) {
        const edited = { ...row, detail: "nothing happened" };
        const prev = hash;
        hash = rowHash(prev, row.ts, edited);
        db.query("UPDATE events SET detail = ?, prev_hash = ?, row_hash = ? WHERE id = ?").run(
          edited.detail,
          prev,
          hash,
          row.id,
        );
      }
      db.query("UPDATE svc_bearings SET highest_hash = ?").run(hash);
    });
    expect(verifyDatabase(made.path)).toEqual(brokenAt(5, "noted in audit_head"));
    rmSync(noteOf(made.path));
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
    expect(verifyDatabase(made.path, { noted: head ?? "" })).toEqual(brokenAt(4, "noted elsewhere"));
  });

  test("is missed when it is gone, whatever the high-water mark was made to say", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 4; nth++) await made.log.append(event());
    const { head } = await made.log.verify();
    await made.log.append(event());
    await made.log.close();
    rmSync(noteOf(made.path));
    /** The log with row 5 chained anew to `prev`, and with the false record `lie` of the rows before it. */
    const forged = (prev: string, lie: string) => {
      const path = `${made.path}.${lie.length}`;
      copyFileSync(made.path, path);
      withDatabase(path, (db) => {
        const row = db.query<{ ts: string }, []>("SELECT ts FROM events WHERE id = 5").get();
        const hash = rowHash(prev, row?.ts ?? "", event());
        db.query("UPDATE events SET prev_hash = ?, row_hash = ? WHERE id = 5").run(prev, hash);
        db.query("UPDATE svc_bearings SET highest_hash = ?").run(hash);
        db.run(lie);
      });
      return path;
    };
    const [third = "", fourth = ""] = rowsOf(made.path).flatMap(({ id, row_hash }) =>
      id === 3 || id === 4 ? (row_hash ?? "") : [],
    );
    const hidden = forged(third, "DELETE FROM events WHERE id = 4; INSERT INTO svc_gaps VALUES (3, 5)");
    expect(verifyDatabase(hidden)).toMatchObject({ ok: true });
    expect(verifyDatabase(hidden, { noted: head ?? "" })).toEqual(brokenAt(4, "noted elsewhere is gone"));
    const cut = forged(
      fourth,
      `DELETE FROM events WHERE id < 5; UPDATE svc_bearings SET first_id = 5, first_prev_hash = '${fourth}'`,
    );
    expect(verifyDatabase(cut)).toMatchObject({ ok: true });
    expect(verifyDatabase(cut, { noted: head ?? "" })).toEqual(brokenAt(4, "cleared or pruned"));
  });

  test("that the log has not come to yet shows an old copy", () => {
    expect(verifyDatabase(whole, { noted: `${LAST + 1}:${"0".repeat(64)}` })).toEqual(
      brokenAt(LAST + 1, "never had the row"),
    );
  });
});

test("requests during a verification share the next one, which sees all rows written before them", async () => {
  await using made = await testLog();
  await made.log.append(event());
  const first = made.log.verify();
  // Begun by then, so that it need not see the next row.
  await nextTurn();
  await made.log.append(event());
  using scans = spyOn(Bun, "spawn");
  const [row] = rowsOf(made.path);
  const unknown = `9:${"0".repeat(64)}`;
  const [second, third, fourth] = await Promise.all([
    made.log.verify(),
    made.log.verify({ noted: `${row?.id}:${row?.row_hash}` }),
    made.log.verify({ noted: unknown }),
  ]);
  await first;
  expect([second, third].map(({ ok, total_rows }) => [ok, total_rows])).toEqual([
    [true, 2],
    [true, 2],
  ]);
  expect(fourth).toEqual(brokenAt(9, "never had the row"));
  expect(scans).toHaveBeenCalledTimes(1);
  await made.log.verify();
  expect(scans).toHaveBeenCalledTimes(2);
});

test("a verification ends with those who wait for it, and for nobody else", async () => {
  await using made = await testLog();
  await made.log.append(event());
  using scans = spyOn(Bun, "spawn");
  const [gone, stays] = [new AbortController(), new AbortController()];
  const abandoned = Array.from({ length: 3 }, () => made.log.verify({ signal: gone.signal }));
  const last = made.log.verify({ signal: stays.signal });
  await until("the scan", () => scans.mock.calls.length === 1);
  gone.abort();
  expect((await Promise.allSettled(abandoned)).map(({ status }) => status)).toEqual(
    Array(3).fill("rejected"),
  );
  expect(await last).toMatchObject({ ok: true });
  const cut = made.log.verify({ signal: stays.signal });
  const child = await until("the scan", () => scans.mock.results[1]?.value as Bun.Subprocess | undefined);
  stays.abort();
  await expect(cut).rejects.toThrow();
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});

describe("a large log is verified by two processes", () => {
  const made = temporaryFolder();
  const path = join(made.path, "audit.db");
  // Large also for who counts an index that lacks one.
  const total_rows = LARGE_LOG + 1;
  let log: AuditLog;
  beforeAll(async () => {
    log = await filledLog(path, total_rows);
  });
  const verified = async () => {
    using scans = spyOn(Bun, "spawn");
    const verdict = await log.verify();
    const children = scans.mock.results.map(({ value }) => value as Bun.Subprocess);
    await Promise.all(children.map(({ exited }) => exited));
    return { verdict, children: children.length };
  };
  const children = availableParallelism() > 1 ? 2 : 1;

  test("and is whole where both find nothing", async () => {
    expect(await verified()).toMatchObject({ verdict: { ok: true, total_rows }, children });
  });

  test("a row at fault is named, and the other process is not waited for", async () => {
    withDatabase(path, (db) => db.run("UPDATE events SET viewer_id = 'me' WHERE id = 7"));
    expect(await verified()).toMatchObject({ verdict: brokenAt(7, "edited"), children });
    withDatabase(path, (db) => db.run("UPDATE events SET viewer_id = NULL WHERE id = 7"));
  });

  test("a table that should not be there, and a file that is gone, are faults for who looks at the structure too", () => {
    expect(structureFault(path)).toBeNull();
    withDatabase(path, (db) => db.run("CREATE TABLE more (a)"));
    expect(structureFault(path)).toBe("the table more is no part of an audit log");
    withDatabase(path, (db) => db.run("DROP TABLE more"));
    expect(structureFault(path)).toBeNull();
    expect(() => structureFault(join(made.path, "gone.db"))).toThrow("cannot be opened");
  });

  test("damage of the structure is found", async () => {
    await log.close();
    mutilateIndex(path, "idx_events_host", "host_id", "id = 9");
    const reason = "the file is damaged: wrong # of entries in index idx_events_host";
    const verdict = { ok: false, broken_at_id: null, total_rows, reason, head: null };
    const again = await openAuditLog({ path, log: silentLog });
    expect(await again.verify()).toEqual(verdict);
    await again.close();
    expect(verifyDatabase(path)).toEqual(verdict);
  });
});

test("a file that is not an audit log is refused as such", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  withDatabase(path, (db) => db.run("CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT)"));
  const log = await openAuditLog({ path, log: silentLog });
  expect((await log.verify().catch((error) => error)).message).toStartWith("the file is not an audit log");
  await log.close();
});

test("a log that was removed while it is open is no log without rows, also where its note went too", async () => {
  await using made = await testLog();
  await made.log.append(event());
  for (const path of [made.path, noteOf(made.path)]) rmSync(path, { force: true });
  // A look at the paths may be a millisecond old, and then the file can still be read.
  await expect(made.log.verify()).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("replaced or removed while in use"),
  });
});

describe("GET /audit/verify", () => {
  test("answers with the verdict, from a process of its own", async () => {
    await using host = await testServer();
    for (let nth = 0; nth < 3; nth++) await host.call("/commands");
    const verdict = (await (await host.call("/audit/verify")).json()) as Record<string, unknown>;
    expect(verdict).toMatchObject({ ok: true, broken_at_id: null, total_rows: 3, reason: null });
    expect(verdict.head).toMatch(/^3:[0-9a-f]{64}$/);
    expect((await host.call(`/audit/verify?noted=${verdict.head}`)).status).toBe(200);
    expect((await host.call("/audit/verify?noted=3")).status).toBe(400);
  });

  test("a broken chain is an answer too", async () => {
    await using host = await testServer();
    for (let nth = 0; nth < 3; nth++) await host.call("/commands");
    withDatabase(join(host.configDir, "audit.db"), (db) =>
      db.run("UPDATE events SET detail = '' WHERE id = 2"),
    );
    const response = await host.call("/audit/verify");
    expect([response.status, await response.json()]).toEqual([200, brokenAt(2, "edited")]);
  });
});

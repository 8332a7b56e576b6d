/**
 * Removing rows: all of them (clear), or the oldest after they were written to an archive (prune).
 *
 * The promise: a row that says who removed how many rows, and the hash of the last of them, is on disk with the first
 * that goes; rows that are pruned are in an archive on disk before; what remains still verifies.
 */
import type { Database } from "bun:sqlite";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder } from "../lib/files";
import { withLock } from "../lib/lock";
import { configFiles } from "../lib/paths";
import { appendRows } from "./append";
import { exportLines, writeExport } from "./export";
import type { AuditFile } from "./file";
import { headOf, moveFirst, moveHead, readBearings } from "./high-water";
import { rowTime, storable } from "./row";
import { type Verdict, verifyDatabase } from "./verify";

/** The types of the rows that say what was removed. */
const CLEARED = "audit_cleared";
const PRUNED = "audit_pruned";

/** Rows deleted in one transaction while others wait for the lock. */
const STEP = 2_000;

/** Between two of them, so that who waits has a turn: longer than between two attempts to take the lock (`file.ts`). */
const BREATH_MS = 10;

/** Which rows to remove: all but the newest `keep`, or the oldest up to the first that is not from before `before`. */
export type PruneWhat = { readonly keep: number } | { readonly before: string };

export interface PruneOptions {
  /** {@link PruneWhat.before} as `timeBound` gives it. */
  readonly what: PruneWhat;
  /** Where the archive goes; an existing file is not replaced. */
  readonly archive: { readonly folder: string } | { readonly file: string };
  /** Who prunes, for the record. */
  readonly by: string;
}

export interface Pruned {
  readonly deleted: number;
  /** Null when there was nothing to remove. */
  readonly archive: string | null;
}

interface Range {
  readonly firstId: number;
  readonly lastId: number;
  readonly lastHash: string | null;
  readonly rows: number;
}

/**
 * Removes every row. Returns how many there were. Within a transaction.
 *
 * @param verdict what verification said of them; null when it failed. A break must not go with the rows that show it.
 */
export function clearRows(db: Database, by: string, verdict: Verdict | null): number {
  const head = headOf(readBearings(db));
  const found = db
    .query<{ rows: number; firstId: number | null }, []>(
      "SELECT count(*) AS rows, min(id) AS firstId FROM events",
    )
    .get();
  const rows = found?.rows ?? 0;
  // Without a condition SQLite drops the pages rather than row after row (https://sqlite.org/lang_delete.html).
  db.run("DELETE FROM events");
  // The last row may have been another writer's, which only the table knew of.
  moveHead(db, head);
  const ids = rows === 0 ? "" : ` (ids ${found?.firstId} to ${head.id})`;
  appendRecord(
    db,
    CLEARED,
    `cleared ${rows} rows${ids} by ${by}; the hash of the last was ${head.hash}; ${stateWords(verdict)}`,
  );
  moveFirst(db, { id: head.id + 1, prevHash: head.hash }, rows);
  return rows;
}

/**
 * Writes the oldest rows to an archive, then removes them.
 *
 * @throws a `conflict` failure when the archive is there already, or rows go meanwhile; `unavailable` when it or the
 *   log cannot be written. Whatever is gone then is on record and in the archive.
 */
export async function pruneRows(file: AuditFile, { what, archive, by }: PruneOptions): Promise<Pruned> {
  return withLock(configFiles(dirname(file.path)).pruneLock, async () => {
    const range = await file.read((db) => rangeOf(db, what));
    if (!range) return { deleted: 0, archive: null };
    const path = "file" in archive ? archive.file : nameIn(archive.folder, range);
    if (existsSync(path)) throw conflict(`the archive ${path} is there already`);
    await writeExport(path, linesOf(file, range), "folder" in archive);
    const state = stateWords(verifyDatabase(file.path));
    await file.write((db) => {
      if (!db.query("SELECT 1 FROM events WHERE id = ?").get(range.firstId)) throw gone();
      appendRecord(db, PRUNED, `${prunedDetail(range, by, path)}; ${state}`);
    });
    let deleted = 0;
    for (let step = -1; step !== 0; deleted += step) {
      step = await file.write((db) => deleteOldest(db, range.lastId));
      await Bun.sleep(BREATH_MS);
    }
    return { deleted, archive: path };
  });
}

function stateWords(verdict: Verdict | null): string {
  if (verdict === null) return "the chain could not be verified before";
  return verdict.ok
    ? "the chain was whole"
    : `the chain was broken at row id ${verdict.broken_at_id}: ${verdict.reason}`;
}

function prunedDetail({ rows, firstId, lastId, lastHash }: Range, by: string, path: string): string {
  const ids = `ids ${firstId} to ${lastId}`;
  return `pruned ${rows} rows (${ids}) by ${by}; the hash of the last was ${lastHash}; archive ${path}`;
}

function rangeOf(db: Database, what: PruneWhat): Range | null {
  const { lastId } =
    ("keep" in what
      ? db
          .query<{ lastId: number }, [number]>(
            "SELECT id AS lastId FROM events ORDER BY id DESC LIMIT 1 OFFSET ?",
          )
          .get(what.keep)
      : db
          .query<{ lastId: number | null }, [string]>(
            `SELECT max(id) AS lastId FROM events
             WHERE id < coalesce((SELECT min(id) FROM events WHERE ts >= ?), 9223372036854775807)`,
          )
          .get(what.before)) ?? {};
  if (typeof lastId !== "number") return null;
  return db
    .query<Range, [number]>(
      `SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS rows, row_hash AS lastHash FROM events WHERE id <= ?`,
    )
    .get(lastId);
}

/** Removes a step of the rows up to `lastId`, and moves the log's beginning to what is left. Returns how many went. */
function deleteOldest(db: Database, lastId: number): number {
  const doomed = db
    .query<{ id: number; row_hash: string | null }, [number]>(
      `SELECT id, row_hash FROM events WHERE id <= ? ORDER BY id LIMIT ${STEP}`,
    )
    .all(lastId);
  const last = doomed.at(-1);
  if (!last) return 0;
  db.query("DELETE FROM events WHERE id <= ?").run(last.id);
  const next = db.query<{ id: number }, []>("SELECT id FROM events ORDER BY id LIMIT 1").get();
  moveFirst(db, { id: next?.id ?? last.id + 1, prevHash: last.row_hash }, doomed.length);
  return doomed.length;
}

function appendRecord(db: Database, event_type: string, detail: string): void {
  const event = storable({ event_type, host_id: null, viewer_id: null, detail });
  appendRows(db, readBearings(db), [{ ts: rowTime(new Date()), event }]);
}

/** What a prune was writing that was killed: nobody else writes one, who has the lock. */
const LEFT_OVER = /^audit-\d+-\d+.*\.tmp-[0-9a-f]+$/;

/** A free name in `folder`: an archive whose rows were not removed, because svc was killed, is there already. */
function nameIn(folder: string, { firstId, lastId }: Range): string {
  try {
    ensurePrivateFolder(folder);
    for (const name of readdirSync(folder)) if (LEFT_OVER.test(name)) rmSync(join(folder, name));
  } catch (error) {
    throw unavailable(`${folder} cannot be used (${systemCode(error) ?? messageOf(error)})`);
  }
  const name = (nth: number) =>
    join(folder, `audit-${firstId}-${lastId}${nth > 1 ? `.${nth}` : ""}.jsonl.gz`);
  let nth = 1;
  while (existsSync(name(nth))) nth += 1;
  return name(nth);
}

async function* linesOf(file: AuditFile, { firstId, lastId, rows }: Range): AsyncGenerator<string> {
  let written = 0;
  for (let after = firstId - 1; after < lastId; ) {
    const step = await file.read((db) => exportLines(db, after, lastId));
    if (!step) break;
    yield step.lines;
    written += step.rows;
    after = step.lastId;
  }
  if (written !== rows) throw gone();
}

const gone = () => conflict("the log was cleared or pruned by somebody else meanwhile");

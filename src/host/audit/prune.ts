/**
 * Removing rows: all of them (clear), or the oldest ones after they were written to an archive (prune).
 *
 * The promise: before the first row is gone, a new row on disk says who removed how many rows and the hash of the last
 * one; rows that are pruned are in an archive on disk first; the rows that remain still verify.
 */
import type { Database } from "bun:sqlite";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { conflict, messageOf, systemCode, unavailable } from "../../lib/errors";
import { ensurePrivateFolder } from "../../lib/files";
import type { Verdict } from "./chain";
import { type ExportStep, exportSteps, writeExport } from "./export";
import type { AuditFile } from "./file";
import { appendRows, headOf, moveFirst, moveHead, readHighWater } from "./high-water";
import type { ArchivedRows, PruneResult } from "./retention";
import { rowTime, storable } from "./row";
import { verifyDatabase } from "./verify";
import { joinAll } from "./witness/join";
import { joinStep } from "./witness/tree";

/** The types of the rows that record a removal. */
const CLEARED = "audit_cleared";
const PRUNED = "audit_pruned";

/** Rows deleted in one transaction: others wait for the lock as long. */
const STEP = 2_000;

/** The pause between two, in which others get the lock: longer than theirs between two attempts (`file.ts`). */
const BREATH_MS = 10;

/** Which rows to remove: all but the newest `keep`, or the oldest ones from before `before` (see `timeBound`). */
export type OldRows = { readonly keep: number } | { readonly before: string };

export interface PruneOptions {
  readonly what: OldRows;
  /** Where the archive is written: an existing file is not replaced; or the file that another process has written (`archiveRows`). */
  readonly archive:
    | { readonly folder: string }
    | { readonly file: string }
    | { readonly written: string; readonly has: ArchivedRows };
  /** Who prunes, for the record. */
  readonly by: string;
}

/**
 * Removes every row, in a transaction. @returns how many there were.
 *
 * @param verdict of the rows before; null when they could not be verified. The record keeps it, as the rows that show a
 *   break are gone.
 */
export function clearRows(db: Database, by: string, verdict: Verdict | null): number {
  const head = headOf(readHighWater(db));
  // What another program appended just now.
  joinStep(db, head.id);
  const found = db
    .query<{ rows: number; firstId: number | null }, []>(
      "SELECT count(*) AS rows, min(id) AS firstId FROM events",
    )
    .get();
  const rows = found?.rows ?? 0;
  // Without a condition SQLite drops whole pages (https://sqlite.org/lang_delete.html).
  db.run("DELETE FROM events");
  // The last row may have been another writer's, and only the table had it.
  moveHead(db, head);
  const ids = rows === 0 ? "" : ` (ids ${found?.firstId} to ${head.id})`;
  appendRow(
    db,
    CLEARED,
    `cleared ${rows} rows${ids} by ${by}; the hash of the last was ${head.hash}; ${stateWords(verdict)}`,
  );
  moveFirst(db, { id: head.id + 1, prevHash: head.hash }, rows);
  return rows;
}

/**
 * Writes the oldest rows to an archive, and removes none.
 *
 * @returns what is in the archive; null where there is nothing to remove: then it is not made.
 * @throws a `conflict` failure when the archive exists already; `unavailable` when it or the log cannot be written.
 */
export async function archiveRows(
  file: Pick<AuditFile, "read">,
  what: OldRows,
  archive: { readonly folder: string } | { readonly file: string },
): Promise<{ readonly path: string; readonly has: ArchivedRows } | null> {
  const has = await file.read((db) => rangeOf(db, what));
  if (!has) return null;
  const path = "file" in archive ? archive.file : nameIn(archive.folder, has);
  if (existsSync(path)) throw conflict(`the archive ${path} exists already`);
  await writeExport(path, stepsOf(file, has), { owned: "folder" in archive });
  return { path, has };
}

/**
 * Writes the oldest rows to an archive where that is not done, then removes them. Callers must not prune one log twice at a time.
 *
 * @throws as {@link archiveRows}; a `conflict` failure when rows of the archive were removed meanwhile. Rows that are gone then are on
 *   record and in the archive.
 */
export async function pruneRows(file: AuditFile, { what, archive, by }: PruneOptions): Promise<PruneResult> {
  // No row may go that is no leaf.
  await joinAll(file);
  const written =
    "has" in archive ? { path: archive.written, has: archive.has } : await archiveRows(file, what, archive);
  if (!written) return { deleted: 0, archive: null };
  const { path, has } = written;
  const state = stateWords(verifyDatabase(file.path));
  await file.write((db) => {
    requireThere(db, has);
    const removed = `pruned ${has.rows} rows (ids ${has.first_id} to ${has.last_id}) by ${by}`;
    appendRow(db, PRUNED, `${removed}; the hash of the last was ${has.last_hash}; archive ${path}; ${state}`);
  });
  let deleted = 0;
  for (let step = -1; step !== 0; deleted += step) {
    step = await file.write((db) => deleteOldest(db, has.last_id));
    await Bun.sleep(BREATH_MS);
  }
  file.remember(await file.read((db) => headOf(readHighWater(db))));
  return { deleted, archive: path };
}

/** @throws a `conflict` failure unless the oldest rows of the log are those of the archive. */
function requireThere(db: Database, { first_id, last_id, last_hash, rows }: ArchivedRows): void {
  const there = db.query<ArchivedRows, [number]>(`SELECT ${RANGE} FROM events WHERE id <= ?`).get(last_id);
  const isSame =
    there?.first_id === first_id &&
    there.last_id === last_id &&
    there.last_hash === last_hash &&
    there.rows === rows;
  if (!isSame) throw gone();
}

function stateWords(verdict: Verdict | null): string {
  if (verdict === null) return "the chain could not be verified";
  if (verdict.ok) return "the chain was whole";
  const where = verdict.broken_at_id === null ? "" : ` at row id ${verdict.broken_at_id}`;
  return `the chain was broken${where}: ${verdict.reason}`;
}

/** {@link ArchivedRows} of the oldest rows; the hash is that of the row with the greatest id (https://sqlite.org/lang_select.html#bareagg). */
const RANGE =
  "(SELECT min(id) FROM events) AS first_id, max(id) AS last_id, row_hash AS last_hash, count(*) AS rows";

function rangeOf(db: Database, what: OldRows): ArchivedRows | null {
  const [condition, bound] =
    "keep" in what
      ? ["id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)", what.keep]
      : [`id < coalesce((SELECT min(id) FROM events WHERE ts >= ?), ${2n ** 63n - 1n})`, what.before];
  const range = db
    .query<ArchivedRows, [string | number]>(`SELECT ${RANGE} FROM events WHERE ${condition}`)
    .get(bound);
  return range && range.rows > 0 ? range : null;
}

/** Removes {@link STEP} of the rows up to `lastId` and moves the beginning of the log. @returns how many it removed. */
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

function appendRow(db: Database, event_type: string, detail: string): void {
  const event = storable({ event_type, host_id: null, viewer_id: null, detail });
  appendRows(db, headOf(readHighWater(db)), [{ ts: rowTime(new Date()), event }]);
}

/** A file that a killed prune left: no other prune writes in the folder. */
const LEFT_OVER = /^audit-\d+-\d+.*\.tmp-[0-9a-f-]+$/;

/** A name in `folder` that no file has: a prune that was killed left an archive of rows that are still in the log. */
function nameIn(folder: string, { first_id, last_id }: ArchivedRows): string {
  try {
    ensurePrivateFolder(folder);
    for (const name of readdirSync(folder)) if (LEFT_OVER.test(name)) rmSync(join(folder, name));
  } catch (error) {
    throw unavailable(`${folder} cannot be used (${systemCode(error) ?? messageOf(error)})`);
  }
  const name = (nth: number) =>
    join(folder, `audit-${first_id}-${last_id}${nth > 1 ? `.${nth}` : ""}.jsonl.gz`);
  let nth = 1;
  while (existsSync(name(nth))) nth += 1;
  return name(nth);
}

async function* stepsOf(
  file: Pick<AuditFile, "read">,
  { first_id, last_id, rows }: ArchivedRows,
): AsyncGenerator<ExportStep> {
  let written = 0;
  for await (const step of exportSteps((work) => file.read(work), first_id - 1, last_id)) {
    written += step.rows;
    yield step;
  }
  if (written !== rows) throw gone();
}

const gone = () => conflict("the log was cleared or pruned by another process meanwhile");

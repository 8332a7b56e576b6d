/**
 * Removing rows: all of them (clear), or the oldest ones after they were written to an archive (prune).
 *
 * The promise: before the first row is gone, a new row on disk says who removed how many rows and the hash of the last
 * one; rows that are pruned are in an archive on disk first; the rows that remain still verify.
 */
import type { Database } from "bun:sqlite";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { conflict, messageOf, systemCode, unavailable } from "../../lib/errors";
import { ensurePrivateFolder } from "../../lib/files";
import { withLock } from "../../lib/lock";
import { configFiles } from "../../lib/paths";
import type { Verdict } from "./chain";
import { type ExportStep, exportSteps, writeExport } from "./export";
import type { AuditFile } from "./file";
import { appendRows, headOf, moveFirst, moveHead, readHighWater } from "./high-water";
import type { PruneResult } from "./retention";
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

export interface PruneOptions {
  /** Which rows to remove: all but the newest `keep`, or the oldest ones from before `before` (see `timeBound`). */
  readonly what: { readonly keep: number } | { readonly before: string };
  /** Where the archive is written; an existing file is not replaced. */
  readonly archive: { readonly folder: string } | { readonly file: string };
  /** Who prunes, for the record. */
  readonly by: string;
}

interface Range {
  readonly firstId: number;
  readonly lastId: number;
  readonly lastHash: string | null;
  readonly rows: number;
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
 * Writes the oldest rows to an archive, then removes them.
 *
 * @throws a `conflict` failure when the archive exists already, or another process removes rows meanwhile; `unavailable`
 *   when the archive or the log cannot be written. Rows that are gone then are on record and in the archive.
 */
export async function pruneRows(file: AuditFile, { what, archive, by }: PruneOptions): Promise<PruneResult> {
  return withLock(configFiles(dirname(file.path)).pruneLock, async () => {
    // No row may go that is no leaf.
    await joinAll(file);
    const range = await file.read((db) => rangeOf(db, what));
    if (!range) return { deleted: 0, archive: null };
    const path = "file" in archive ? archive.file : nameIn(archive.folder, range);
    if (existsSync(path)) throw conflict(`the archive ${path} exists already`);
    await writeExport(path, stepsOf(file, range), { owned: "folder" in archive });
    const state = stateWords(verifyDatabase(file.path));
    await file.write((db) => {
      if (!db.query("SELECT 1 FROM events WHERE id = ?").get(range.firstId)) throw gone();
      const { rows, firstId, lastId, lastHash } = range;
      const removed = `pruned ${rows} rows (ids ${firstId} to ${lastId}) by ${by}`;
      appendRow(db, PRUNED, `${removed}; the hash of the last was ${lastHash}; archive ${path}; ${state}`);
    });
    let deleted = 0;
    for (let step = -1; step !== 0; deleted += step) {
      step = await file.write((db) => deleteOldest(db, range.lastId));
      await Bun.sleep(BREATH_MS);
    }
    file.remember(await file.read((db) => headOf(readHighWater(db))));
    return { deleted, archive: path };
  });
}

function stateWords(verdict: Verdict | null): string {
  if (verdict === null) return "the chain could not be verified";
  if (verdict.ok) return "the chain was whole";
  const where = verdict.broken_at_id === null ? "" : ` at row id ${verdict.broken_at_id}`;
  return `the chain was broken${where}: ${verdict.reason}`;
}

function rangeOf(db: Database, what: PruneOptions["what"]): Range | null {
  const [condition, bound] =
    "keep" in what
      ? ["id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)", what.keep]
      : [`id < coalesce((SELECT min(id) FROM events WHERE ts >= ?), ${2n ** 63n - 1n})`, what.before];
  const range = db
    .query<Range, [string | number]>(
      `SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS rows, row_hash AS lastHash
       FROM events WHERE ${condition}`,
    )
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

/** A file that a killed prune left. The lock makes sure that no other prune is writing it. */
const LEFT_OVER = /^audit-\d+-\d+.*\.tmp-[0-9a-f-]+$/;

/** A name in `folder` that no file has: a prune that was killed left an archive of rows that are still in the log. */
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

async function* stepsOf(file: AuditFile, { firstId, lastId, rows }: Range): AsyncGenerator<ExportStep> {
  let written = 0;
  for await (const step of exportSteps((work) => file.read(work), firstId - 1, lastId)) {
    written += step.rows;
    yield step;
  }
  if (written !== rows) throw gone();
}

const gone = () => conflict("the log was cleared or pruned by another process meanwhile");

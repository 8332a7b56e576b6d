/**
 * Verifying a log: one pass over its rows in constant memory.
 *
 * The promise: a log that is reported as whole has every row from its known beginning up to the highest id ever given,
 * each as it was written. docs/audit.md says what a person who may write the file can still do.
 */
import { type Database, SQLiteError } from "bun:sqlite";
import { messageOf, unavailable } from "../../lib/errors";
import { broken, Chain, notedRow, rowNames, type Verdict, whole } from "./chain";
import { asFailure, readLog } from "./file";
import { type Head, type HighWater, highWaterState, LOST_HIGH_WATER, readHighWater } from "./high-water";
import { readNote } from "./note";
import type { AuditRow } from "./row";
import { schemaFault } from "./schema";

export interface VerifyOptions {
  /** The `head` of an earlier verification, `ID:HASH`: the log must still have this row. */
  readonly noted?: string | undefined;
  /** Called now and then, with numbers of rows (of an export: bytes). */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** How a scan is made. */
interface ScanOptions {
  readonly progress?: VerifyOptions["progress"];
  /** Whether another process looks at the structure of the file: {@link structureFault}. */
  readonly rowsOnly?: boolean;
}

/** Rows between two calls of `progress`. */
const PROGRESS_STEP = 25_000;

/** What a scan of the rows found. */
export interface RowScan {
  /** For those who noted no head. */
  readonly verdict: Verdict;
  /** The verdict for each head, `ID:HASH`, that the log does not have, or not any longer. */
  readonly missing: ReadonlyMap<string, Verdict>;
}

/** The verdict for those who noted the head `noted`, which the scan was asked about. */
export const verdictFor = (noted: string | undefined, { verdict, missing }: RowScan): Verdict =>
  missing.get(noted ?? "") ?? verdict;

/** {@link scanDatabase} for one who asks. */
export function verifyDatabase(path: string, { noted, progress }: VerifyOptions = {}): Verdict {
  return verdictFor(noted, scanDatabase(path, noted === undefined ? [] : [noted], { progress }));
}

/**
 * Verifies the log in the database at `path`, as it is at one moment. Blocks this thread: see `worker.ts`.
 *
 * @param heads those of earlier verifications: the log must still have their rows.
 * @throws an `unavailable` failure when it cannot be read, or svc never opened it.
 */
export function scanDatabase(
  path: string,
  heads: readonly string[] = [],
  options: ScanOptions = {},
): RowScan {
  // Before the log, which may go on meanwhile.
  const note = readNote(path);
  using db = readLog(path);
  const noted = new Map(heads.map((head) => [head, notedRow(head)]));
  const ids = new Set([...noted.values()].map(({ id }) => id));
  /** The hashes of the rows with these ids, as far as the chain is good. */
  const found = new Map<number, string | null>();
  const passed = ({ id, row_hash }: AuditRow) => {
    if (ids.has(id)) found.set(id, row_hash);
  };
  try {
    const verdict = verifyRows(db, note, passed, options);
    const missing = new Map<string, Verdict>();
    for (const [head, { id, hash, what }] of noted) {
      const isOther = found.has(id) && found.get(id) !== hash;
      if (isOther) missing.set(head, broken(verdict.total_rows, id, `it is not the row ${what}`));
      else if (verdict.ok && !found.has(id)) {
        missing.set(head, broken(verdict.total_rows, id, missingNoted(id, readHighWater(db))));
      }
    }
    return { verdict, missing };
  } catch (error) {
    throw asFailure(error);
  }
}

/** @param passed is called with each row in which nothing is wrong. */
function verifyRows(
  db: Database,
  note: Head | undefined,
  passed: (row: AuditRow) => void,
  { progress, rowsOnly = false }: ScanOptions,
): Verdict {
  const state = highWaterState(db, note);
  if (state === "none") throw unavailable("the audit log cannot be verified: svc has not opened it yet");
  const hasTable = db.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'events'").get();
  const fault = schemaFault(db);
  // Counting something else than the table may never end.
  let total = hasTable && fault === null ? countRows(db) : 0;
  if (state === "lost") return broken(total, null, LOST_HIGH_WATER);
  if (!hasTable) {
    const first = db.query<{ first_id: number }, []>("SELECT first_id FROM svc_bearings").get();
    return broken(0, first?.first_id ?? null, "all rows are gone: their table was removed");
  }
  if (fault !== null) return broken(total, null, fault);

  const highWater = readHighWater(db);
  const start = { id: highWater.first_id, prevHash: highWater.first_prev_hash };
  const written = { id: highWater.highest_id, hash: highWater.highest_hash, what: "that svc wrote there" };
  const remembered = note ? [{ ...note, what: "that svc noted in audit_head" }] : [];
  const chain = new Chain(start, [written, ...remembered], followers(db));
  let taken = 0;
  try {
    const rows = db.query<AuditRow, []>(
      "SELECT id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash FROM events ORDER BY id",
    );
    for (const row of rows.iterate()) {
      const wrong = chain.next(row) ?? textFault(db, row);
      if (wrong !== null) return broken(total, row.id, wrong);
      passed(row);
      taken += 1;
      if (taken % PROGRESS_STEP === 0) progress?.(taken, total);
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    return broken(total, chain.expectedId(), `the file is damaged: ${messageOf(error)}`);
  }
  // The count may have come from an index, which can be edited too.
  total = taken;
  const gone = newestGone(chain, highWater, note);
  if (gone) return broken(total, gone.id, gone.reason);
  const found = whole(total, chain.last);
  return rowsOnly ? found : withDamage(found, damageOf(db));
}

/** The verdict on rows in which nothing is wrong, in a file with this damage; null for none. */
export const withDamage = (verdict: Verdict, damage: string | null): Verdict =>
  damage === null ? verdict : broken(verdict.total_rows, null, `the file is damaged: ${damage}`);

/**
 * What is wrong with the structure of the log at `path`, as it is at one moment; null when nothing is. Who reads the rows sees it
 * at another moment, and so need not find what is found here. Blocks this thread.
 *
 * @throws an `unavailable` failure when it cannot be read, or is not there.
 */
export function structureFault(path: string): string | null {
  using db = readLog(path, true);
  try {
    // SQLite would compute what somebody put into its definitions, which may never end.
    return schemaFault(db) ?? damageOf(db);
  } catch (error) {
    throw asFailure(error);
  }
}

/**
 * What SQLite finds wrong with the file, in its words; null when nothing is. An index that lacks rows would hide them from a
 * list, while the walk over the table finds them.
 */
function damageOf(db: Database): string | null {
  try {
    const check = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)");
    const found = check.get()?.integrity_check ?? "it cannot be checked";
    return found === "ok" ? null : found.replace("*** in database main ***\n", "");
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw error;
  }
}

/** Bytes that are not UTF-8 read as U+FFFD, and would hash like it: says whether the row really has U+FFFD. */
export function textFault(
  db: Database,
  { id, ts, event_type, host_id, viewer_id, detail }: AuditRow,
): string | null {
  const texts = [ts, event_type, host_id, viewer_id, detail];
  if (!texts.some((text) => text?.includes("\ufffd"))) return null;
  const asRead = db
    .query<unknown, Array<string | number | null>>(
      `SELECT 1 FROM events WHERE id = ? AND ts IS ? AND event_type IS ? AND host_id IS ? AND viewer_id IS ?
       AND detail IS ?`,
    )
    .get(id, ...texts);
  return asRead ? null : "it was edited: it has bytes that are not text";
}

function countRows(db: Database): number {
  try {
    return db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get()?.rows ?? 0;
  } catch (error) {
    if (isDamage(error)) return 0;
    throw error;
  }
}

/** The first of the newest rows that are gone, and what to say of them; null where none is. @param chain at its end. */
export function newestGone(chain: Chain, highWater: HighWater, note?: Head) {
  const id = chain.expectedId() ?? 1;
  const highest = Math.max(highestId(highWater), note?.id ?? 0);
  return id <= highest ? { id, reason: `the newest rows are gone: ${rowNames(id, highest)}` } : null;
}

/** The highest id that was ever given to a row. */
const highestId = ({ highest_id, issued_id }: HighWater) => Math.max(highest_id, issued_id ?? 0);

/** Why the log does not have the row that was noted. */
function missingNoted(id: number, highWater: HighWater): string {
  if (id > highestId(highWater))
    return "the log never had the row that was noted elsewhere: it is another log, or an old copy";
  if (id < highWater.first_id)
    return "the row that was noted elsewhere was cleared or pruned: look for it in the archives";
  return "the row that was noted elsewhere is gone";
}

/** The id after another one, where there was a gap when svc first opened the log. */
export function followers(db: Database): (id: number) => number | undefined {
  const gap = db.query<{ next_id: number }, [number]>("SELECT next_id FROM svc_gaps WHERE after_id = ?");
  return (id) => gap.get(id)?.next_id;
}

/** Whether the structure of the file itself is damaged. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(error.code ?? "");
}

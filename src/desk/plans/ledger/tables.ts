/**
 * The tables of the ledger: `plan` has a row for each plan, and `target` one for each of its hosts.
 */
import type { Database, Statement } from "bun:sqlite";
import type { Spec } from "../plan";
import type { Plan } from "./rows";

/** The row of a plan. */
export interface Row extends Omit<Plan, "spec"> {
  readonly spec: string;
}

/** The plan of a row. */
export const planOf = (row: Row): Plan => ({
  ...row,
  spec: JSON.parse(row.spec) as Spec,
});

/** The columns of a {@link Row}: all but the content, which may be large. */
export const COLUMNS = `seq, id, digest, content_digest, spec, hosts, state, reason, maker, token, created, applied, expires,
  ended, wave, wave_at, forgiven, revision, adopted`;

/** A list of states, in SQL. */
export const listed = (states: readonly string[]) => states.map((state) => `'${state}'`).join(", ");

/** @returns what inserts a row, and returns its number. All of its rows have the same columns. */
export function inserter(db: Database, table: "plan" | "target") {
  let statement: Statement | undefined;
  return (row: Record<string, string | number | null>): number => {
    const names = Object.keys(row);
    statement ??= db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `$${name}`)})`);
    return Number(statement.run(row).lastInsertRowid);
  };
}

/** Makes the tables in a file without them, and brings those of an earlier version up to date. */
export function prepare(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS plan (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, content TEXT NOT NULL,
    content_digest TEXT NOT NULL, spec TEXT NOT NULL, hosts INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
    maker TEXT, token TEXT, created INTEGER NOT NULL, applied INTEGER, expires INTEGER,
    ended INTEGER, wave INTEGER NOT NULL DEFAULT 0, wave_at INTEGER, forgiven INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0, adopted INTEGER NOT NULL DEFAULT 0)`);
  db.run(`CREATE TABLE IF NOT EXISTS target (
    plan INTEGER NOT NULL, n INTEGER NOT NULL, label TEXT NOT NULL, identity TEXT NOT NULL, wave INTEGER NOT NULL,
    state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, way TEXT, sent_at INTEGER, done_at INTEGER, error TEXT,
    run_id TEXT, records TEXT, PRIMARY KEY (plan, n)) WITHOUT ROWID`);
  const has = (table: "plan" | "target", column: string) =>
    db.query("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2").get(table, column) !== null;
  if (!has("plan", "scopes") && has("plan", "adopted") && has("target", "records")) return;
  // Earlier versions had a column that nothing read, and lacked others. Another process may be at it.
  db.transaction(() => {
    if (has("plan", "scopes")) db.run("ALTER TABLE plan DROP COLUMN scopes");
    if (!has("plan", "adopted")) db.run("ALTER TABLE plan ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0");
    if (has("target", "records")) return;
    db.run("ALTER TABLE target ADD COLUMN records TEXT");
    // Earlier builds knew from the text of the error that a call was cut off. This is the last time that a text says so.
    const isCutOff = CUT_OFF.map((text) => `error LIKE '%${text}'`).join(" OR ");
    db.run(
      `UPDATE target SET state = 'unknown' WHERE state = 'failed' AND sent_at IS NOT NULL AND (${isCutOff})`,
    );
  }).immediate();
}

/** How the errors end of jobs that were cut off in the middle, in the ledgers of earlier versions. */
const CUT_OFF = [
  "svc ended on this host in the middle of it, and nobody knows how far it came",
  "the process that runs it is stopping",
];

/**
 * The tables of the ledger: `plan` has a row for each plan, and `target` one for each of its hosts; `planned` has the former labels of hosts,
 * and `unfinished` the numbers of plans that are not there, of which hosts may be.
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

/** Makes the tables in a file without them. */
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
  // What hosts that have another label now were called when their plan was made: its digest has that.
  db.run(`CREATE TABLE IF NOT EXISTS planned (
    plan INTEGER NOT NULL, n INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (plan, n)) WITHOUT ROWID`);
  db.run(
    "CREATE TABLE IF NOT EXISTS unfinished (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, removed INTEGER NOT NULL DEFAULT 0)",
  );
}

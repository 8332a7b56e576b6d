/** What tests of the audit log share: a log in a folder of its own, and the chain checked without svc's code. */
import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AuditLog, openAuditLog } from "../../../src/host/audit/log";
import type { AuditEvent, AuditRow } from "../../../src/host/audit/row";
import { OWN_TABLES, TREE_TABLES } from "../../../src/host/audit/schema";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { temporaryFolder } from "../../support";

/** An event like most; `more` says what is different. */
export const event = (more: Partial<AuditEvent> = {}): AuditEvent => ({
  event_type: "rest_api",
  host_id: "127.0.0.1",
  viewer_id: null,
  detail: "GET /sessions -> ok:200",
  ...more,
});

/** A log on a file of its own, closed when the scope ends; from a fixture when one is named. */
export async function testLog(
  fixture?: string,
): Promise<AsyncDisposable & { readonly log: AuditLog; readonly path: string }> {
  const folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  if (fixture) copyFileSync(join(import.meta.dir, "..", "..", "fixtures", fixture), path);
  const log = await openAuditLog({ path, log: silentLog, lockWaitMs: 300 });
  // Makes the file.
  if (!fixture) await log.problem();
  return {
    log,
    path,
    async [Symbol.asyncDispose]() {
      await log.close();
      folder[Symbol.dispose]();
    },
  };
}

/** The path of what svc remembers of the log at `path` outside of it. */
export const noteOf = (path: string) => configFiles(dirname(path)).auditHead;

/** Runs `work` on the file as another program would. */
export function withDatabase<T>(path: string, work: (db: Database) => T): T {
  const db = new Database(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/**
 * Makes one index of a log that no process has open leave out the rows that `hides` names, while its definition says nothing
 * of that: as `PRAGMA writable_schema` does, which Bun's SQLite refuses.
 */
export function mutilateIndex(path: string, name: string, column: string, hides: string): void {
  const clause = ` WHERE NOT (${hides})`;
  withDatabase(path, (db) =>
    db.run(`DROP INDEX ${name}; CREATE INDEX ${name} ON events(${column})${clause}`),
  );
  const bytes = readFileSync(path);
  const at = bytes.indexOf(clause);
  if (at < 0) throw new Error("the definition is not in the file");
  bytes.fill(" ", at, at + clause.length);
  writeFileSync(path, bytes);
}

/** Removes every table that is svc's own, and the mark: the log is as another tool would leave it. */
export function forgetSvc(db: Database): void {
  for (const table of [...OWN_TABLES, ...TREE_TABLES]) db.run(`DROP TABLE ${/TABLE (\w+)/.exec(table)?.[1]}`);
  db.run("PRAGMA application_id = 0");
}

/** All rows of the file, oldest first. */
export function rowsOf(path: string): AuditRow[] {
  return withDatabase(path, (db) => db.query<AuditRow, []>("SELECT * FROM events ORDER BY id").all());
}

/** The id of the first row whose hash or link is wrong, by the wire format's words alone; null when none is. */
export function brokenLink(rows: readonly AuditRow[], first = "0".repeat(64)): number | null {
  let previous: string | null = first;
  for (const { id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash } of rows) {
    const said = JSON.stringify([prev_hash, ts, event_type, host_id, viewer_id, detail]);
    const hash = createHash("sha256").update(said, "utf8").digest("hex");
    if (prev_hash !== previous || row_hash !== hash) return id;
    previous = row_hash;
  }
  return null;
}

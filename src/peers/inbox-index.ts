/**
 * The index of the inboxes: which sender wrote which file, and which files are under way. All inboxes of a host share it.
 */
import type { Database } from "bun:sqlite";
import { lstatSync, type Stats } from "node:fs";
import { openDatabase } from "../lib/sqlite";
import { foldName } from "./file-name";

function prepare(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS files (sender TEXT, name TEXT, inode INTEGER, size INTEGER, mtime_ms REAL,
    PRIMARY KEY (sender, name, inode)) WITHOUT ROWID`);
  db.run(
    "CREATE TABLE IF NOT EXISTS names (sender TEXT, folded TEXT, name TEXT, PRIMARY KEY (sender, folded)) WITHOUT ROWID",
  );
  db.run("CREATE TABLE IF NOT EXISTS incoming (path TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID");
}

/** @throws the system or SQLite error when it cannot be opened. */
export function openInboxIndex(path: string, sender: string) {
  // When a power cut undoes a row, its file belongs to nobody and is never overwritten.
  const db = openDatabase(path, { synchronous: "NORMAL", busyMs: 10_000, prepare });

  const insert = db.query("INSERT OR REPLACE INTO files VALUES ($sender, $name, $inode, $size, $mtimeMs)");
  const claim = db.query("INSERT OR REPLACE INTO names VALUES ($sender, $folded, $name)");
  const claimed = db.query<{ name: string }, { sender: string; folded: string }>(
    "SELECT name FROM names WHERE sender = $sender AND folded = $folded",
  );
  const find = db.query(
    "SELECT 1 FROM files WHERE sender = $sender AND name = $name AND inode = $inode AND size = $size AND mtime_ms = $mtimeMs",
  );
  const others = db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode <> $inode");
  const reserve = db.query(
    `INSERT INTO incoming SELECT $path, $size WHERE $quota = 0 OR
      (SELECT total(size) FROM files) + (SELECT total(size) FROM incoming) + $size <= $quota`,
  );

  return {
    /** The name that this sender used for `name`, whatever its case. */
    claimant: (name: string) => claimed.get({ sender, folded: foldName(name) })?.name,
    /** Whether this sender wrote the file, and nobody changed it since. */
    has: (name: string, { ino, size, mtimeMs }: Stats) =>
      find.get({ sender, name, inode: ino, size, mtimeMs }) !== null,
    /** Notes a file under way. @returns whether the quota has room for it. */
    reserve: (path: string, size: number, quota: number) => reserve.run({ path, size, quota }).changes > 0,
    incoming: () => db.query<{ path: string; size: number }, []>("SELECT path, size FROM incoming").all(),
    release: (path: string) => void db.run("DELETE FROM incoming WHERE path = ?", [path]),
    /** Adds a version of a file, and its name and folders. The version before stays until {@link settle}. */
    add: db.transaction((name: string, { ino, size, mtimeMs }: Stats, prefixes: readonly string[]) => {
      insert.run({ sender, name, inode: ino, size, mtimeMs });
      for (const prefix of prefixes) claim.run({ sender, folded: foldName(prefix), name: prefix });
    }),
    /** Removes the other versions: this one is in place. */
    settle: (name: string, { ino }: Stats) => void others.run({ sender, name, inode: ino }),
    /** Removes files that are no longer where they were written: they do not count against the quota. */
    forgetGone(pathOf: (sender: string, name: string) => string) {
      type Row = { sender: string; name: string; inode: number };
      const rows = db.query<Row, []>("SELECT sender, name, inode FROM files").all();
      const forget = db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode = $inode");
      for (const row of rows) if (look(pathOf(row.sender, row.name))?.ino !== row.inode) forget.run(row);
    },
    [Symbol.dispose]: () => db.close(),
  };
}

/** What is at `path`, without following links. */
export const look = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

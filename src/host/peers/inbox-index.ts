/**
 * The index of the inboxes: which sender wrote which file, and which files are under way. All inboxes of a host share it.
 */
import type { Database } from "bun:sqlite";
import type { Stats } from "node:fs";
import { unavailable } from "../../lib/errors";
import { look } from "../../lib/look";
import { openDatabase } from "../../lib/sqlite";
import { foldName } from "./file-name";

/** How long a search for files that are gone may take before the next one has to wait, milliseconds. */
const SHORT_SEARCH_MS = 20;

/** After a long search, searches take no more than this share of the time. */
const SEARCH_SHARE = 0.1;

/** The longest that the next search waits, milliseconds: the time on disk is of a clock that may have been set back since. */
const MAX_REST_MS = 600_000;

function prepare(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS files (sender TEXT, name TEXT, inode INTEGER, size INTEGER, mtime_ms REAL,
    PRIMARY KEY (sender, name, inode)) WITHOUT ROWID`);
  db.run(
    "CREATE TABLE IF NOT EXISTS names (sender TEXT, folded TEXT, name TEXT, PRIMARY KEY (sender, folded)) WITHOUT ROWID",
  );
  // Which versions came with a named token: a sender chooses its own name, but not its token. Any other version that is known
  // is the owner's, also where a build without this table wrote it.
  db.run(`CREATE TABLE IF NOT EXISTS tokens (sender TEXT, name TEXT, inode INTEGER, token TEXT,
    PRIMARY KEY (sender, name, inode)) WITHOUT ROWID`);
  for (const change of ["DELETE", "UPDATE"])
    db.run(`CREATE TRIGGER IF NOT EXISTS token_of_${change} AFTER ${change} ON files BEGIN
      DELETE FROM tokens WHERE sender = OLD.sender AND name = OLD.name AND inode = OLD.inode; END`);
  db.run("CREATE TABLE IF NOT EXISTS incoming (path TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID");
  if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'used'").get() === null) countUse(db);
}

/**
 * Keeps in the one row of `used` what the other tables add up to, so that a file costs the same in a full inbox. `entries`
 * are files and folders, those under way included; `search_at` is when to look for files that are gone at the earliest.
 */
function countUse(db: Database): void {
  const counted = (table: string, bytes: string, entries: 0 | 1) => `
    CREATE TRIGGER used_by_new_${table} AFTER INSERT ON ${table} BEGIN
      UPDATE used SET bytes = bytes + ${bytes.replace("?", "NEW")}, entries = entries + ${entries}; END;
    CREATE TRIGGER used_by_old_${table} AFTER DELETE ON ${table} BEGIN
      UPDATE used SET bytes = bytes - ${bytes.replace("?", "OLD")}, entries = entries - ${entries}; END;`;
  const make = db.transaction(() => {
    // Another process may have been first.
    if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'used'").get() !== null) return;
    db.run(`CREATE TABLE used (bytes INTEGER, entries INTEGER, search_at REAL);
      INSERT INTO used VALUES (0, 0, 0);
      CREATE TRIGGER used_by_changed_files AFTER UPDATE OF size ON files BEGIN
        UPDATE used SET bytes = bytes + NEW.size - OLD.size; END;
      ${counted("files", "?.size", 0)} ${counted("names", "0", 1)} ${counted("incoming", "?.size", 1)}
      ${COUNT_ANEW}`);
  });
  make.immediate();
}

const COUNT_ANEW = `UPDATE used SET
  bytes = (SELECT total(size) FROM files) + (SELECT total(size) FROM incoming),
  entries = (SELECT count(*) FROM names) + (SELECT count(*) FROM incoming)`;

/** A file to come, and the limits of the inbox; 0 for none. */
interface Reservation {
  readonly size: number;
  /** Its name and those of its folders; what it would be stored as, too. */
  readonly paths: readonly string[];
  readonly quota: number;
  readonly maxFiles: number;
}

/** The failure of a file that a full inbox refuses. */
export const tooManyFiles = (maxFiles: number) =>
  unavailable(`the inbox would hold more than ${maxFiles} files and folders`);

interface FileRow {
  readonly sender: string;
  readonly name: string;
  readonly inode: number;
}

interface NameRow {
  readonly sender: string;
  /** As `foldName` has it. */
  readonly folded: string;
  readonly name: string;
}

/** The index, for one sender. */
export interface InboxIndex extends Disposable {
  /** The name that this sender used for `name`, whatever its case. */
  claimant(name: string): string | undefined;
  /** Whether this sender wrote the file with this token, and nobody changed it since. The owner's token may have any. */
  has(name: string, version: Stats): boolean;
  /** Notes a file under way. @returns the limit that has no room for it; null when it was noted. */
  reserve(path: string, reservation: Reservation): "bytes" | "files" | null;
  /** Runs `work` while no other process changes the index; what it did there is undone when it throws. */
  alone<T>(work: () => T): T;
  /** The files under way. */
  incoming(): Array<{ path: string; size: number }>;
  /** Forgets a file under way. */
  release(path: string): void;
  /** Notes a file that is under way already, whatever the limits. */
  hold(path: string, size: number): void;
  /** Forgets files under way that are gone: the process that wrote them was killed. */
  forgetEnded(): void;
  /**
   * Adds a version of a file, and its name and folders. The version before stays until {@link settle}.
   *
   * @throws `unavailable` when there would be more files and folders than `maxFiles`: many may have been under way at once.
   */
  add(name: string, version: Stats, prefixes: readonly string[], maxFiles: number): void;
  /** Removes the other versions: this one is in place. It is added again, as a search may have found it gone meanwhile. */
  settle(name: string, version: Stats, prefixes: readonly string[]): void;
  /**
   * Removes files and folders that are no longer where they were written: they do not count. Does nothing soon after a
   * search that took long: a sender whose files are refused must not keep this host searching.
   */
  forgetGone(pathOf: (sender: string, name: string) => string): void;
}

/**
 * @param token the name of the token that the sender came with; null for the owner's.
 * @param since when it got that name, milliseconds since 1970. A file that is older, by the time of its last change, came with
 *   another token of the name.
 * @throws the system or SQLite error when it cannot be opened.
 */
export function openInboxIndex(
  path: string,
  sender: string,
  token: string | null = null,
  since = 0,
): InboxIndex {
  // When a power cut undoes a row, its file belongs to nobody and is never overwritten.
  const db = openDatabase(path, { synchronous: "NORMAL", busyMs: 10_000, prepare });
  const queries = prepareQueries(db);
  const forgetGone = createSearch(db);

  /** How many files and folders there are without those under way. */
  const stored = () => queries.countStored.get()?.stored ?? 0;
  const note = (name: string, { ino, size, mtimeMs }: Stats, prefixes: readonly string[]) => {
    queries.insert.run({ sender, name, inode: ino, size, mtimeMs });
    if (token !== null) queries.sign.run({ sender, name, inode: ino, token });
    // The folder of the sender counts too; a conflicting version has a name that is not in `prefixes`.
    for (const path of ["", ...prefixes, name])
      queries.claim.run({ sender, folded: foldName(path), name: path });
  };
  const incoming = () =>
    db.query<{ path: string; size: number }, []>("SELECT path, size FROM incoming").all();
  const release = (path: string) => void db.run("DELETE FROM incoming WHERE path = ?", [path]);
  const claimant = (name: string) => queries.claimed.get({ sender, folded: foldName(name) })?.name;

  return {
    claimant,
    has: (name, { ino, size, mtimeMs }) =>
      queries.find.get({ sender, name, inode: ino, size, mtimeMs, token, since }) !== null,
    reserve(path, { size, paths, quota, maxFiles }) {
      const more = [...new Set(["", ...paths])].filter((name) => claimant(name) === undefined).length;
      if (queries.reserve.run({ path, size, quota, maxFiles, more }).changes > 0) return null;
      return quota > 0 && (queries.used.get()?.bytes ?? 0) + size > quota ? "bytes" : "files";
    },
    alone: <T>(work: () => T): T => db.transaction(work).immediate(),
    incoming,
    release,
    hold(path, size) {
      release(path);
      db.run("INSERT INTO incoming VALUES (?, ?)", [path, size]);
    },
    forgetEnded() {
      for (const { path } of incoming()) if (isGone(path)) release(path);
    },
    add: db.transaction((name: string, version: Stats, prefixes: readonly string[], maxFiles: number) => {
      const before = stored();
      note(name, version, prefixes);
      const after = stored();
      if (maxFiles > 0 && after > before && after > maxFiles) throw tooManyFiles(maxFiles);
    }).immediate,
    settle: db.transaction((name: string, version: Stats, prefixes: readonly string[]) => {
      note(name, version, prefixes);
      queries.others.run({ sender, name, inode: version.ino });
    }).immediate,
    forgetGone,
    [Symbol.dispose]: () => db.close(),
  };
}

function prepareQueries(db: Database) {
  return {
    insert: db.query(`INSERT INTO files VALUES ($sender, $name, $inode, $size, $mtimeMs)
        ON CONFLICT DO UPDATE SET size = excluded.size, mtime_ms = excluded.mtime_ms`),
    claim: db.query(`INSERT INTO names VALUES ($sender, $folded, $name)
        ON CONFLICT DO UPDATE SET name = excluded.name`),
    claimed: db.query<{ name: string }, { sender: string; folded: string }>(
      "SELECT name FROM names WHERE sender = $sender AND folded = $folded",
    ),
    find: db.query(
      `SELECT 1 FROM files LEFT JOIN tokens USING (sender, name, inode) WHERE sender = $sender AND name = $name
        AND inode = $inode AND size = $size AND mtime_ms = $mtimeMs AND ($token IS NULL OR (token = $token AND mtime_ms >= $since))`,
    ),
    sign: db.query("INSERT INTO tokens VALUES ($sender, $name, $inode, $token)"),
    others: db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode <> $inode"),
    reserve: db.query(
      `INSERT INTO incoming SELECT $path, $size FROM used WHERE
        ($quota = 0 OR bytes + $size <= $quota) AND ($maxFiles = 0 OR entries + $more <= $maxFiles)`,
    ),
    countStored: db.query<{ stored: number }, []>(
      "SELECT entries - (SELECT count(*) FROM incoming) AS stored FROM used",
    ),
    used: db.query<{ bytes: number }, []>("SELECT bytes FROM used"),
  };
}

/** @returns what {@link InboxIndex.forgetGone} is. */
function createSearch(db: Database): InboxIndex["forgetGone"] {
  const forgetFile = db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode = $inode");
  const forgetName = db.query("DELETE FROM names WHERE sender = $sender AND folded = $folded");
  const forget = db.transaction((files: readonly FileRow[], names: readonly NameRow[]) => {
    for (const { sender, name, inode } of files) forgetFile.run({ sender, name, inode });
    for (const { sender, folded } of names) forgetName.run({ sender, folded });
    // A build of before these counts may have used the file meanwhile.
    db.run(COUNT_ANEW);
  });
  return (pathOf) => {
    const { search_at = 0 } = db.query<{ search_at: number }, []>("SELECT search_at FROM used").get() ?? {};
    const rest = search_at - Date.now();
    if (rest > 0 && rest <= MAX_REST_MS) return;
    const started = performance.now();
    const files = db.query<FileRow, []>("SELECT sender, name, inode FROM files").all();
    const goneFiles = files.filter((file) => isGone(pathOf(file.sender, file.name), file.inode));
    const names = db.query<NameRow, []>("SELECT sender, folded, name FROM names").all();
    const goneNames = names.filter(({ sender, name }) => isGone(pathOf(sender, name)));
    forget.immediate(goneFiles, goneNames);
    const took = performance.now() - started;
    if (took <= SHORT_SEARCH_MS) return;
    const searchAt = Date.now() + Math.min(MAX_REST_MS, took * (1 / SEARCH_SHARE - 1));
    db.run("UPDATE used SET search_at = ?", [searchAt]);
  };
}

/** Whether nothing is at `path`, or another file than `inode`. False where that cannot be seen: it counts, and delays no other. */
function isGone(path: string, inode?: number): boolean {
  try {
    const found = look(path);
    return found === undefined || (inode !== undefined && found.ino !== inode);
  } catch {
    return false;
  }
}

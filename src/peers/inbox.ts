/**
 * The inbox of one sender: the folder in which the files it sends appear.
 *
 * The promise: no name leaves the folder, whatever it says and whatever links lie in it; a file appears whole; and a
 * file that this sender did not write, or that somebody changed since, is never overwritten: the new one is put beside
 * it as `<name>.conflict-<sender>-<time>`.
 */
import type { Database } from "bun:sqlite";
import { randomUUID } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { conflict, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, PRIVATE_FOLDER, syncFolder } from "../lib/files";
import { openDatabase } from "../lib/sqlite";
import { foldName, MAX_COMPONENT_BYTES, parseName } from "./file-name";

/** Where files lie until they are whole: inside the inbox, so that the last step is a rename. */
export const INCOMING = ".incoming";

/** Flushing as it goes keeps each flush short: a disk of 1 MB/s takes less for one than a sender waits (`STALL_MS`). */
const FLUSH_BYTES = 16 * 1_048_576;

export interface InboxOptions {
  /** The inboxes of all senders. */
  readonly folder: string;
  /** The database that says which file was written by whom. */
  readonly books: string;
  /** Names the folder of this sender; safe as a file name. */
  readonly sender: string;
  /** What all inboxes may hold together, bytes; 0 for no limit. */
  readonly quota: number;
  /** What must stay free on the disk, bytes. */
  readonly minFree: number;
  readonly now?: () => Date;
}

/** A file on its way in. */
export interface Incoming {
  write(bytes: Uint8Array): void;
  /** Flushes the file and gives it its name; returns that name, relative to the sender's folder. */
  commit(): string;
  /** Leaves nothing behind. */
  abort(): void;
}

export interface Inbox extends Disposable {
  /**
   * @param size bytes that will be written.
   * @throws a `bad_input` failure for a name that may not be written, `conflict` for one that clashes with another,
   *   `unavailable` when there is no room; the system error when the disk refuses.
   */
  begin(name: string, size: number): Incoming;
}

/** @throws the system or SQLite error when the folder or the books cannot be opened. */
export function openInbox({
  folder,
  books,
  sender,
  quota,
  minFree,
  now = () => new Date(),
}: InboxOptions): Inbox {
  const root = join(folder, sender);
  const incomingFolder = join(folder, INCOMING);
  // Again for each file: whoever empties an inbox may take the folders, too.
  const ensureFolders = () => {
    ensurePrivateFolder(incomingFolder);
    ensurePrivateFolder(root);
  };
  ensureFolders();
  const written = openBooks(books, sender);

  /** Puts a file that is to come on the books. */
  const reserve = (temporary: string, size: number) => {
    if (!written.reserve(temporary, size, quota)) {
      written.forgetGone((from, name) => join(folder, from, name));
      if (!written.reserve(temporary, size, quota)) {
        throw unavailable(`the inbox would hold more than ${quota} bytes`);
      }
    }
    const { bavail, bsize } = statfsSync(folder);
    const missing = written.incoming().map((file) => Math.max(0, file.size - (look(file.path)?.size ?? 0)));
    if (bavail * bsize - missing.reduce((a, b) => a + b) >= minFree) return;
    written.release(temporary);
    throw unavailable(`the disk would be left with less than ${minFree} bytes free`);
  };

  /** Refuses a name one part of which is a link, a file where a folder should be, or another's but for its case. */
  const requirePlace = (parts: readonly string[]) => {
    const prefixes = parts.map((_part, index) => parts.slice(0, index + 1).join("/"));
    for (const prefix of prefixes) {
      const other = written.claimant(prefix);
      if (other !== undefined && other !== prefix && look(join(root, other))) {
        throw conflict(
          `the file name ${JSON.stringify(prefix)} differs from ${JSON.stringify(other)} in case only`,
        );
      }
    }
    for (const at of [root, ...prefixes.slice(0, -1).map((prefix) => join(root, prefix))]) {
      const found = look(at);
      if (found && !found.isDirectory())
        throw conflict(`${JSON.stringify(parts.join("/"))} is below what is no folder`);
    }
    if (look(join(root, ...parts))?.isDirectory())
      throw conflict(`${JSON.stringify(parts.join("/"))} is a folder`);
    return prefixes;
  };

  const openIncoming = (temporary: string) => {
    try {
      return openSync(temporary, "wx", PRIVATE_FILE);
    } catch (error) {
      written.release(temporary);
      throw error;
    }
  };

  return {
    begin(rawName, size) {
      const parts = parseName(rawName);
      const name = parts.join("/");
      requirePlace(parts);
      ensureFolders();
      const temporary = join(incomingFolder, `${process.pid}.${randomUUID()}`);
      reserve(temporary, size);
      const file = openIncoming(temporary);
      let unflushed = 0;
      let dropped = false;
      const drop = () => {
        if (dropped) return;
        dropped = true;
        closeSync(file);
        rmSync(temporary, { force: true });
        written.release(temporary);
      };
      return {
        write(bytes) {
          for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at);
          unflushed += bytes.byteLength;
          if (unflushed < FLUSH_BYTES) return;
          fdatasyncSync(file);
          unflushed = 0;
        },
        commit() {
          try {
            fdatasyncSync(file);
            const prefixes = requirePlace(parts);
            ensureFolders();
            for (const prefix of prefixes.slice(0, -1)) makeFolder(join(root, prefix));
            const { ino, size, mtimeMs } = fstatSync(file);
            const state = { inode: ino, size, mtimeMs };
            const existing = look(join(root, name));
            const ours = existing?.isFile() === true && written.has(name, existing);
            const storedAs = existing && !ours ? freeName(root, name, sender, now()) : name;
            // On the books before it is in place: a crash between the two must not make it a stranger's.
            written.add(storedAs, state, prefixes);
            place(temporary, join(root, storedAs), ours);
            written.settle(storedAs, state);
            syncFolder(dirname(join(root, storedAs)));
            return storedAs;
          } finally {
            drop();
          }
        },
        abort: drop,
      };
    },
    [Symbol.dispose]: () => written.close(),
  };
}

/** What is at `path`, links not followed. */
const look = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

function makeFolder(path: string): void {
  try {
    mkdirSync(path, PRIVATE_FOLDER);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Gives the file its name; one that appeared there meanwhile is overwritten only if it is `ours`. */
function place(temporary: string, target: string, ours: boolean): void {
  if (ours) {
    renameSync(temporary, target);
    return;
  }
  try {
    linkSync(temporary, target);
  } catch (error) {
    if (systemCode(error) === "EEXIST") throw conflict("a file of that name appeared just now");
    // A file system without hard links (FAT).
    renameSync(temporary, target);
  }
}

/** A name beside `name` that nothing has, cut where it would be too long. */
function freeName(root: string, name: string, sender: string, now: Date): string {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const parent = name.slice(0, name.lastIndexOf("/") + 1);
  for (let n = 1; n < 1_000; n++) {
    const ending = `.conflict-${sender}-${time}${n === 1 ? "" : `-${n}`}`;
    const letters = [...name.slice(parent.length)];
    while (Buffer.byteLength(letters.join("") + ending) > MAX_COMPONENT_BYTES) letters.pop();
    const candidate = parent + letters.join("") + ending;
    if (!look(join(root, candidate))) return candidate;
  }
  throw conflict(`${JSON.stringify(name)} has a thousand conflicts of this second already`);
}

interface Written {
  readonly inode: number;
  readonly size: number;
  readonly mtimeMs: number;
}

function prepareTables(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS files (sender TEXT, name TEXT, inode INTEGER, size INTEGER, mtime_ms REAL,
    PRIMARY KEY (sender, name, inode)) WITHOUT ROWID`);
  db.run(
    "CREATE TABLE IF NOT EXISTS names (sender TEXT, folded TEXT, name TEXT, PRIMARY KEY (sender, folded)) WITHOUT ROWID",
  );
  db.run("CREATE TABLE IF NOT EXISTS incoming (path TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID");
}

/**
 * Who wrote what. A file is the one on the books when its inode, size and time are; between two versions of a file both
 * are on the books.
 */
function openBooks(path: string, sender: string) {
  // What a power cut takes back makes a file a stranger's, which is never overwritten.
  const options = { synchronous: "NORMAL", busyMs: 10_000, prepare: prepareTables } as const;
  const db = openDatabase(path, options);

  const insert = db.query("INSERT OR REPLACE INTO files VALUES ($sender, $name, $inode, $size, $mtimeMs)");
  const claim = db.query("INSERT OR REPLACE INTO names VALUES ($sender, $folded, $name)");
  const claimed = db.query<{ name: string }, { sender: string; folded: string }>(
    "SELECT name FROM names WHERE sender = $sender AND folded = $folded",
  );
  const find = db.query(
    "SELECT 1 FROM files WHERE sender = $sender AND name = $name AND inode = $inode AND size = $size AND mtime_ms = $mtimeMs",
  );
  const others = db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode <> $inode");
  const expect = db.query(
    `INSERT INTO incoming SELECT $path, $size WHERE $quota = 0 OR
      (SELECT total(size) FROM files) + (SELECT total(size) FROM incoming) + $size <= $quota`,
  );

  return {
    claimant: (name: string) => claimed.get({ sender, folded: foldName(name) })?.name,
    has: (name: string, { ino, size, mtimeMs }: Stats) =>
      find.get({ sender, name, inode: ino, size, mtimeMs }) !== null,
    /** Whether there was room for it. */
    reserve: (path: string, size: number, quota: number) => expect.run({ path, size, quota }).changes > 0,
    incoming: () => db.query<{ path: string; size: number }, []>("SELECT path, size FROM incoming").all(),
    release: (path: string) => void db.run("DELETE FROM incoming WHERE path = ?", [path]),
    add: db.transaction((name: string, file: Written, prefixes: readonly string[]) => {
      insert.run({ sender, name, ...file });
      for (const prefix of prefixes) claim.run({ sender, folded: foldName(prefix), name: prefix });
    }),
    /** The file is in place: what was there before it is no more. */
    settle: (name: string, { inode }: Written) => void others.run({ sender, name, inode }),
    /** Takes off the books what is no longer where it was written: it does not count against the quota. */
    forgetGone(pathOf: (sender: string, name: string) => string) {
      const rows = db
        .query<{ sender: string; name: string; inode: number }, []>("SELECT sender, name, inode FROM files")
        .all();
      const forget = db.query("DELETE FROM files WHERE sender = $sender AND name = $name AND inode = $inode");
      for (const row of rows) if (look(pathOf(row.sender, row.name))?.ino !== row.inode) forget.run(row);
    },
    close: () => db.close(),
  };
}

/**
 * Clears away what transfers left that a crash cut short.
 *
 * @param pid the process that has ended; without it, nothing may be on its way in.
 * @throws the system or SQLite error of what cannot be removed.
 */
export function clearIncoming({ folder, books }: { folder: string; books: string }, pid?: number): void {
  if (pid === undefined) rmSync(join(folder, INCOMING), { recursive: true, force: true });
  if (!look(books)) return;
  const written = openBooks(books, "");
  try {
    for (const { path } of written.incoming()) {
      if (pid !== undefined && !basename(path).startsWith(`${pid}.`)) continue;
      rmSync(path, { force: true });
      written.release(path);
    }
  } finally {
    written.close();
  }
}

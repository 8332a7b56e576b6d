/**
 * The address book in SQLite: a row for each entry, in the order of `place`, with its JSON value.
 *
 * Each change has a number, the revision, which the rows that it wrote carry: who has read the book before reads those alone. Where rows
 * went, `removed` is the revision of that, and the book is read anew.
 */
import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { databaseBytes } from "../../../lib/sqlite";
import type { HostFinder } from "../selection";
import { type BookItem, bookItem, countingIn, hostOf } from "./items";
import type { ItemChanges } from "./list";

const TABLES = `
CREATE TABLE IF NOT EXISTS hosts(place INTEGER PRIMARY KEY, name TEXT, is_host INTEGER NOT NULL, value TEXT NOT NULL,
  revision INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS hosts_by_name ON hosts(name);
CREATE INDEX IF NOT EXISTS hosts_by_revision ON hosts(revision);
CREATE TABLE IF NOT EXISTS tags(tag TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY(tag, place)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tags_by_place ON tags(place);
CREATE TABLE IF NOT EXISTS book(revision INTEGER NOT NULL, removed INTEGER NOT NULL, others TEXT NOT NULL, taken TEXT);`;

const BOOK = v.object({
  /** Of the last change, and of the last by which rows went. */
  revision: v.number(),
  removed: v.number(),
  /** The fields of the former file that are no list of hosts, as JSON. */
  others: v.string(),
  /** The SHA-256 of the former file that was taken over, hexadecimal, until it has another name; else null. */
  taken: v.nullable(v.string()),
});

/** What is known of the book as a whole. */
export type BookHead = v.InferOutput<typeof BOOK>;

const ROW = v.object({ place: v.number(), name: v.nullable(v.string()), value: v.string() });

/** Makes the tables of a file that has none. Nothing is written where they are there. */
export function prepareRows(db: Database, head: Partial<BookHead> = {}): void {
  db.run(TABLES);
  if (db.query("SELECT 1 FROM book").get()) return;
  db.query("INSERT INTO book SELECT 0, 0, $others, $taken WHERE NOT EXISTS (SELECT 1 FROM book)").run({
    others: head.others ?? "{}",
    taken: head.taken ?? null,
  });
}

export const headOf = (db: Database): BookHead => v.parse(BOOK, db.query("SELECT * FROM book").get());

/** The former file has another name now. @throws the SQLite error. */
export const forgetTaken = (db: Database): void => void db.run("UPDATE book SET taken = NULL");

const VERSION = v.object({ data_version: v.number() });

/** A number that is another one after each change by another connection (https://sqlite.org/pragma.html#pragma_data_version). */
export const versionOf = (db: Database): number =>
  v.parse(VERSION, db.query("PRAGMA data_version").get()).data_version;

/** The bytes of a book with these items, as its first revision. */
export const bookBytes = (items: readonly BookItem[], head: Pick<BookHead, "others" | "taken">): Uint8Array =>
  databaseBytes((db) => {
    prepareRows(db, head);
    writeAll(db, items, head.others);
  });

/** The items of the rows that were written after `revision`, in their order, one after the other; nothing is written meanwhile. */
export function* itemsSince(db: Database, revision: number): Generator<BookItem> {
  const rows = db.query("SELECT place, name, value FROM hosts WHERE revision > ? ORDER BY place");
  for (const row of rows.iterate(revision)) yield itemOf(row);
}

/** The items with this name, valid or not, in their order. */
export const itemsNamed = (db: Database, name: string): BookItem[] =>
  db.query("SELECT place, name, value FROM hosts WHERE name = ? ORDER BY place").all(name).map(itemOf);

/** The items at these places, in their order. */
export function itemsAt(db: Database, places: ReadonlySet<number>): BookItem[] {
  const one = db.query("SELECT place, name, value FROM hosts WHERE place = ?");
  return [...places].sort((a, b) => a - b).map((place) => itemOf(one.get(place)));
}

function itemOf(found: unknown): BookItem {
  const { place, name, value } = v.parse(ROW, found);
  try {
    const item = bookItem(place, JSON.parse(value));
    const host = hostOf(item);
    // Nearly all of them have nothing that svc does not know: then it is in memory once.
    return host && JSON.stringify(host) === value ? { ...item, value: host } : item;
  } catch {
    // Somebody has changed it by hand: it stays as it is.
    return { place, value, name: name ?? undefined, parsed: { fault: "the row is not JSON" } };
  }
}

/**
 * Writes the changes as the next revision.
 *
 * @param groups the items of each name of which one was changed, as they are then.
 * @returns the revision.
 * @throws the SQLite error, with the book as it was.
 */
export function writeChanges(
  db: Database,
  changes: ItemChanges,
  groups: ReadonlyArray<readonly BookItem[]>,
): number {
  const write = () => {
    const revision = headOf(db).revision + 1;
    const statements = statementsOf(db);
    let isRemoved = false;
    for (const [place, item] of changes) {
      statements.untag(place);
      if (item) statements.put(item, false, revision);
      else statements.remove(place);
      isRemoved ||= !item;
    }
    for (const group of groups) {
      const counting = countingIn(group);
      for (const item of group) statements.mark(item, item === counting, revision);
    }
    db.query("UPDATE book SET revision = $revision, removed = iif($isRemoved, $revision, removed)").run({
      revision,
      isRemoved: isRemoved ? 1 : 0,
    });
    return revision;
  };
  return db.transaction(write).immediate();
}

/** Puts all rows in place of those that are there: {@link writeChanges} without a look at what they were. @throws as that does. */
export function writeAll(db: Database, items: readonly BookItem[], others: string): void {
  const write = () => {
    const revision = headOf(db).revision + 1;
    db.run("DELETE FROM hosts");
    db.run("DELETE FROM tags");
    fillRows(db, items, revision);
    db.query("UPDATE book SET revision = $revision, removed = $revision, others = $others").run({
      revision,
      others,
    });
  };
  db.transaction(write).immediate();
}

/** Writes rows into tables that have none. */
function fillRows(db: Database, items: readonly BookItem[], revision: number): void {
  const statements = statementsOf(db);
  for (const group of Map.groupBy(items, ({ name }) => name).values()) {
    const counting = countingIn(group);
    for (const item of group) {
      statements.put(item, item === counting, revision);
      statements.mark(item, item === counting, revision);
    }
  }
}

function statementsOf(db: Database) {
  const put = db.query(
    "INSERT OR REPLACE INTO hosts(place, name, is_host, value, revision) VALUES($place, $name, $is_host, $value, $revision)",
  );
  const tag = db.query("INSERT OR IGNORE INTO tags(tag, place) VALUES(?, ?)");
  const untag = db.query("DELETE FROM tags WHERE place = ?");
  const remove = db.query("DELETE FROM hosts WHERE place = ?");
  const mark = db.query(
    "UPDATE hosts SET is_host = $is_host, revision = $revision WHERE place = $place AND is_host <> $is_host",
  );
  return {
    put({ place, name, value, parsed }: BookItem, isHost: boolean, revision: number) {
      put.run({ place, name: name ?? null, is_host: isHost ? 1 : 0, value: JSON.stringify(value), revision });
      if ("entry" in parsed) for (const one of parsed.entry.tags) tag.run(one, place);
    },
    untag: (place: number) => void untag.run(place),
    remove: (place: number) => void remove.run(place),
    mark: ({ place }: BookItem, isHost: boolean, revision: number) =>
      void mark.run({ place, is_host: isHost ? 1 : 0, revision }),
  };
}

/** Finds the places of the hosts that the terms of a selection match: nothing but names and tags is read. */
export function rowFinder(db: Database): HostFinder<number> {
  const placesOf = (rows: unknown[]) => rows.map((row) => v.parse(PLACE, row).place);
  const named = db.query("SELECT place FROM hosts WHERE name = ? AND is_host = 1");
  const tagged = db.query(
    "SELECT place FROM tags JOIN hosts USING(place) WHERE tag = ? AND is_host = 1 ORDER BY place",
  );
  return {
    all: () => placesOf(db.query("SELECT place FROM hosts WHERE is_host = 1 ORDER BY place").all()),
    labelled: (label) => placesOf(named.all(label)),
    tagged: (tag) => placesOf(tagged.all(tag)),
    labels: () => db.query("SELECT name FROM hosts WHERE is_host = 1 ORDER BY place").all().map(nameIn),
    tags: () => db.query("SELECT DISTINCT tag AS name FROM tags").all().map(nameIn),
  };
}

const PLACE = v.object({ place: v.number() });

const nameIn = (row: unknown) => v.parse(v.object({ name: v.string() }), row).name;

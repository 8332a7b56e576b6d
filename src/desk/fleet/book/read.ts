/**
 * Reading the address book: what was read before is read again as far as another process has changed it.
 */
import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import * as v from "valibot";
import { systemCode, unavailable } from "../../../lib/errors";
import type { JsonStore, ListContent, ListFormat } from "../../../lib/json-store";
import type { Log } from "../../../lib/log";
import { lookThrough } from "../../../lib/look";
import { printable } from "../../../lib/sanitize";
import { isUnwritable, openDatabase, openReadOnly } from "../../../lib/sqlite";
import { isThere, sizeOf, unusable } from "../../../lib/trust-files";
import type { Host } from "../host";
import { type BookItem, BookItems, bookItem, faultOf } from "./items";
import type { HostList } from "./list";
import { headOf, itemsSince, prepareRows, versionOf, writeChanges } from "./rows";

/** How long another process may hold the database, in milliseconds: it blocks the thread. */
const BUSY_MS = 5_000;

/** The items that were read last, and of what. */
interface KnownItems {
  readonly items: BookItems;
  /** The database, what its connection said of it, and the revision. */
  readonly rows?: { readonly db: Database; version: number; revision: number };
  /** The content of the JSON file. */
  readonly former?: ListContent<Host>;
}

/** The book as it is. Each method throws `unavailable` where a file is broken or cannot be read. */
export interface BookReader {
  /** Has errors of what is no address book say so. */
  reading<T>(work: () => T): T;
  /** The database; undefined where there is none yet. */
  database(): Database | undefined;
  /** The database, where the book is in one and was not read as a whole. */
  unread(): Database | undefined;
  /** All items; the same object while this process has read them once. */
  current(): BookItems;
  /**
   * Writes changes of the items that were read last.
   *
   * @throws the SQLite error, with the book as it was; `unavailable` where another file has its place.
   */
  write(db: Database, items: BookItems, edited: HostList): void;
  /** Has the next look read all of it. */
  forget(): void;
  close(): void;
}

/** @param former the JSON file of an earlier svc, which is the book where there is no database yet. */
export function createBookReader(
  file: string,
  former: JsonStore<Host>,
  format: ListFormat<Host>,
  log: Log,
): BookReader {
  const opened = openedBook(file);
  let known: KnownItems | undefined;
  let complaint = "";

  const reading = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw isNoBook(error) ? unusable(file, `is not ${format.what}`) : error;
    }
  };
  const database = () => reading(opened.database);
  const complain = (items: BookItems) => {
    const text = faultsIn(items, format.list);
    if (text !== "" && text !== complaint) log.warn(`${file}: left out ${printable(text, 1_000)}`);
    complaint = text;
  };
  const readRows = (db: Database): BookItems => {
    const version = versionOf(db);
    const before = known?.rows?.db === db ? known : undefined;
    if (before?.rows?.version === version) return before.items;
    const read = () => {
      const { revision, removed } = headOf(db);
      if (before?.rows && revision > before.rows.revision && removed <= before.rows.revision) {
        for (const item of itemsSince(db, before.rows.revision)) before.items.put(item);
        Object.assign(before.rows, { version, revision });
        return before.items;
      }
      const items = new BookItems(itemsSince(db, -1));
      known = { items, rows: { db, version, revision } };
      complain(items);
      return items;
    };
    return db.transaction(read).deferred();
  };
  const currentRows = (): BookItems | undefined => {
    const db = database();
    return db && reading(() => readRows(db));
  };
  const readFormer = (): BookItems => {
    const whole = former.whole();
    if (known?.former?.items === whole.items) return known.items;
    if (known?.former && whole.items.length === 0 && known.items.last === 0) return known.items;
    known = { items: new BookItems(whole.items.map((item, at) => fromJson(item, at + 1))), former: whole };
    return known.items;
  };

  return {
    reading,
    database,
    unread() {
      const db = database();
      return db && known?.rows?.db !== db ? db : undefined;
    },
    current() {
      const rows = currentRows();
      if (rows) return rows;
      // Between the two looks another process may have taken the file over.
      try {
        const items = readFormer();
        return items.last === 0 ? (currentRows() ?? items) : items;
      } catch (error) {
        const taken = currentRows();
        if (taken) return taken;
        throw error;
      }
    },
    write(db, items, edited) {
      // The file may have been replaced while somebody thought about the change.
      if (known?.items !== items || known.rows?.db !== db)
        throw unavailable(`${basename(file)} was replaced meanwhile: try again`);
      const groups = edited.touched.map((name) => edited.named(name));
      known.rows.revision = writeChanges(db, edited.changes, groups);
      for (const [place, item] of edited.changes) {
        if (item) items.put(item);
        else items.remove(place);
      }
    },
    forget() {
      known = undefined;
    },
    close: opened.close,
  };
}

/** What is wrong with items that are left out; empty where none is. */
const faultsIn = (items: BookItems, list: string): string =>
  [...items.items()]
    .flatMap((item, at) => {
      const fault = faultOf(item, items.named(item.name));
      return fault === undefined ? [] : [printable(`${list}[${at}]: ${fault}`, 220)];
    })
    .join("; ");

/** A database has a page at least (https://sqlite.org/fileformat2.html#pages); SQLite would take a file of one byte for an empty one. */
const LEAST_BYTES = 512;

/** The database in `file`, opened once; anew where another file has its place. */
function openedBook(file: string) {
  let open: { readonly db: Database; readonly inode: number | undefined } | undefined;
  const close = () => {
    open?.db.close();
    open = undefined;
  };
  return {
    database(): Database | undefined {
      const inode = lookThrough(file)?.ino;
      if (open && open.inode === inode) return open.db;
      close();
      if (!isThere(file)) return undefined;
      const size = sizeOf(file);
      // One that is being made is empty for a moment.
      if (size === 0) return undefined;
      if (size < LEAST_BYTES && lookThrough(file)?.isFile()) throw unusable(file, "is not a database");
      open = { db: openBook(file), inode };
      return open.db;
    },
    close,
  };
}

function openBook(file: string): Database {
  try {
    const prepare = (db: Database) => {
      // Tokens of hosts that are gone, or have another one, do not stay in pages that are free.
      db.run("PRAGMA secure_delete = ON");
      prepareRows(db);
    };
    return openDatabase(file, { synchronous: "FULL", busyMs: BUSY_MS, prepare });
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return openReadOnly(file);
  }
}

/** Whether SQLite, or what was read, is other than in a book of svc. */
const isNoBook = (error: unknown): boolean =>
  v.isValiError(error) || /^SQLITE_(NOTADB|CORRUPT|ERROR)/.test(systemCode(error) ?? "");

/** An item of the JSON file at `place`; one that only has the name of another is valid by itself. */
function fromJson(item: ListContent<Host>["items"][number], place: number): BookItem {
  if ("fault" in item) return bookItem(place, item.value);
  return { place, value: item.value, name: item.name, parsed: { entry: item.entry } };
}

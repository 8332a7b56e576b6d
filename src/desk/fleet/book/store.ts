/**
 * The store of the address book: `{config_dir}/admin_hosts.db`.
 *
 * Promises. Each change is read, made and written under a lock, and is one transaction: none is lost, and one that fails, also for want
 * of room on the disk, changes nothing. A file that is missing, empty or broken is reported and never overwritten. An entry that is not
 * valid is reported and left out, and stays, as does every field that svc does not know.
 *
 * An earlier svc had the book in a JSON file, `admin_hosts.json`. It is read where there is no database yet; the first change, or the
 * start of a server, takes it over, once and whole, and keeps it beside under another name.
 */
import { basename } from "node:path";
import * as v from "valibot";
import { unavailable } from "../../../lib/errors";
import { createJsonStore, type ListFormat, nameIn } from "../../../lib/json-store";
import { withLock } from "../../../lib/lock";
import type { Log } from "../../../lib/log";
import { stepsInSlices } from "../../../lib/turn";
import type { Host } from "../host";
import { type HostFinder, selectedIn, selectHosts, taggedHosts, taggedIn } from "../selection";
import { type BookItems, bookItem, countingIn, hostOf, type KeysOf } from "./items";
import { HostList } from "./list";
import { createBookReader } from "./read";
import { headOf, itemsAt, itemsNamed, rowFinder, writeAll } from "./rows";
import { type BookPaths, createTakeOver } from "./take-over";

export type { BookPaths };

/** What happened to a host. */
export type HostEvent = "added" | "changed" | "removed";

/** The entries of the address book, on disk. Each method throws `unavailable` where the file is broken or cannot be read. */
export interface HostStore {
  /** The hosts as they are now, in their order; the same array while they are the same. */
  hosts(): readonly Host[];
  /** Whether there is no entry of that name: not even one that is not valid, which nobody has removed. */
  isGone(name: string): boolean;
  /** The host with this very label; undefined where there is none. Where the book was not read before, nothing else is. */
  host(label: string): Host | undefined;
  /** The hosts that `selection` matches. As `host`. @throws as `selectHosts`. */
  select(selection: string): Promise<Host[]>;
  /** The hosts that have one of these tags, or one like it, and perhaps others. As `host`. */
  tagged(tags: readonly string[]): Promise<readonly Host[]>;
  /** The hosts with that key, as `keysOf` gives it, and the names with it, also of entries that are not valid. */
  found(keysOf: KeysOf, key: string): readonly Host[];
  namesFound(keysOf: KeysOf, key: string): readonly string[];
  /**
   * Changes the book, alone among all processes.
   *
   * @returns what `edit` returns, once its changes are on disk.
   * @throws what `edit` throws, and then nothing has changed.
   */
  change<T>(edit: (list: HostList) => T | Promise<T>): Promise<T>;
  /** Takes the file of an earlier svc over, where there is one. Another that comes later is reported, once, and stays as it is. */
  takeOver(): Promise<void>;
  /** Says that a file of an earlier svc lies beside the database, and is not read; undefined where none does. @throws `unavailable` where the book is missing. */
  ignored(): string | undefined;
  /** The book as the JSON file had it; undefined where it is not in a database yet. */
  content(): object | undefined;
  /** Puts this in place of the whole book, which is in a database, for who holds the lock. @throws the SQLite error. */
  replace(content: unknown): void;
  close(): void;
}

const CONTENT = v.looseObject({ hosts: v.array(v.unknown()) });

/** @param changed is called for each host that this store has added, changed or removed, once that is on disk. */
export function createHostStore(
  paths: BookPaths,
  format: ListFormat<Host>,
  log: Log,
  changed: (what: HostEvent, host: Host) => void,
): HostStore {
  const { file, former, lock, prepare = async () => {} } = paths;
  const list = createJsonStore<Host>({ file: former, lock, ...format }, log);
  const reader = createBookReader(file, list, format, log);
  const { reading, database, unread, current, write, forget, close } = reader;
  const { begin, leaveFormer, takeOver, ignored } = createTakeOver(paths, list, reader, format.list, log);
  /** The hosts at the places that `find` finds; undefined where the book was read as a whole, or is another one than when it began. */
  const rowsFound = async (find: (finder: HostFinder<number>) => Generator<void, Set<number>>) => {
    const db = unread();
    if (!db) return undefined;
    const revision = () => reading(() => headOf(db).revision);
    const before = revision();
    const places = await stepsInSlices(find(rowFinder(db))).catch((error) =>
      reading(() => {
        throw error;
      }),
    );
    if (unread() !== db || revision() !== before) return undefined;
    return reading(() => itemsAt(db, places)).map(hostOf);
  };
  return {
    hosts: () => current().hosts,
    isGone: (name) => current().named(name).length === 0 && current().named(undefined).length === 0,
    host(label) {
      const db = unread();
      const group = db ? reading(() => itemsNamed(db, nameIn(label))) : current().named(label);
      const host = hostOf(countingIn(group));
      return host?.label === label ? host : undefined;
    },
    async select(selection) {
      const found = await rowsFound((finder) => selectedIn(finder, selection));
      const hosts = found?.flatMap((host) => host ?? []);
      // Another svc, or somebody by hand, has written rows that are no hosts here: all of them have to be looked at.
      if (hosts && hosts.length === found?.length) return hosts;
      return selectHosts(current().hosts, selection);
    },
    async tagged(tags) {
      const found = await rowsFound((finder) => taggedIn(finder, tags));
      return found?.flatMap((host) => host ?? []) ?? taggedHosts(current().hosts, tags);
    },
    found: (keysOf, key) => current().found(keysOf, key),
    namesFound: (keysOf, key) => current().namesFound(keysOf, key),
    async change(edit) {
      if (!database()) await prepare();
      return withLock(lock, async () => {
        const items = current();
        const edited = new HostList(items);
        const result = await edit(edited);
        if (edited.changes.size === 0) return result;
        const happened = eventsOf(items, edited);
        const db = database();
        if (db) {
          write(db, items, edited);
          await leaveFormer();
        } else await begin(items, edited.items());
        for (const [what, host] of happened) changed(what, host);
        return result;
      });
    },
    takeOver,
    ignored,
    content() {
      const db = database();
      if (!db) return undefined;
      const hosts = [...current().items()].map(({ value }) => value);
      const others: unknown = JSON.parse(reading(() => headOf(db)).others);
      return { ...Object(others), [format.list]: hosts };
    },
    replace(content) {
      const db = database();
      const { hosts, ...others } = v.parse(CONTENT, content);
      const items = hosts.map((value, at) => bookItem(at + 1, value));
      if (!db) throw unavailable(`${basename(file)} is missing: try again`);
      writeAll(db, items, JSON.stringify(others));
      forget();
    },
    close,
  };
}

/** What `edited` makes of the hosts: those that go first, then the others in their order. */
function eventsOf(before: BookItems, edited: HostList): Array<readonly [HostEvent, Host]> {
  const removed: Host[] = [];
  const left: Array<readonly [number, HostEvent, Host]> = [];
  for (const name of edited.touched) {
    const [old, now] = [countingIn(before.named(name)), countingIn(edited.named(name))];
    const [was, is] = [hostOf(old), hostOf(now)];
    if (was && !is) removed.push(was);
    if (now && is && was !== is) left.push([now.place, was ? "changed" : "added", is]);
  }
  const inOrder = left.sort(([a], [b]) => a - b).map(([, what, host]) => [what, host] as const);
  return [...removed.map((host) => ["removed", host] as const), ...inOrder];
}

/**
 * A JSON file that holds a list (`{"jobs": […]}`) which several processes, and people with editors, read and change.
 *
 * Promises. A reader sees the old file or the new one. Each change is read, made and written under a lock, so that none
 * is lost: it may wait in its middle, the owner of the folder makes several at once, and a program that embeds svc need own no folder. A broken file is reported and never overwritten: a change is refused, or, where no trust rests on the file, sets it aside
 * under another name. An entry that is not valid is reported and left out, or makes the file a broken one where its lack would allow something; it stays where it is
 * in the file, as does every field of the file that svc does not know.
 */
import { existsSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { badInput, conflict } from "./errors";
import { fileStamp, writeFileAtomic } from "./files";
import { withLock } from "./lock";
import type { Log } from "./log";
import { orElse } from "./or-else";
import { printable } from "./sanitize";
import { readTrustFile, unusable } from "./trust-files";

/** How long a broken file must stay as it is before it is set aside, in milliseconds: an editor may be writing it. */
const SETTLE_MS = 100;

/** What is in the file. */
export interface ListFormat<E> {
  /** What the file is, for messages: `an address book`. */
  readonly what: string;
  /** The field that holds the list. */
  readonly list: string;
  /** The field that names an entry, but for spaces around it and its Unicode form. Of several entries with one name, the first counts. */
  readonly key: keyof E & string;
  /** Reads a value of the list, for instance {@link parseBy} a schema. */
  readonly parse: (value: unknown) => ParseResult<E>;
}

export interface JsonStoreOptions<E> extends ListFormat<E> {
  readonly file: string;
  /** The lock file of those who change it. */
  readonly lock: string;
  /** Whether whoever loads or changes a broken file sets it aside, and begins anew (default: it is refused). */
  readonly setsAside?: boolean;
  /** Whether an entry that is not valid makes the whole file unusable: where one that is left out would allow something (default: it is left out). */
  readonly whole?: boolean;
  /** Called for each valid entry that this store has added, changed or removed, once that is on disk. */
  readonly changed?: (what: "added" | "changed" | "removed", entry: E) => void;
}

/** An entry, or what is wrong with a value that is none; a fault quotes no secret. */
export type ParseResult<E> = { readonly entry: E } | { readonly fault: string };

/** Fields to set; undefined removes one. */
export type Changes<E> = { readonly [Field in keyof E]?: E[Field] | undefined };

/** A value of the list, with its name; undefined where it has none. */
export type Item<E> = ParseResult<E> & { readonly value: unknown; readonly name: string | undefined };

/** A file of a list as it is. */
export interface ListContent<E> {
  /** The whole file. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly items: ReadonlyArray<Item<E>>;
}

/** What the file held when it was last read. */
interface Snapshot<E> extends ListContent<E> {
  readonly stamp: string;
  readonly entries: readonly E[];
  readonly faults: readonly string[];
}

export interface JsonStore<E extends object> {
  /** The valid entries, as the file is now; the same array while it is the same. @throws `unavailable` when the file is broken or cannot be read. */
  entries(): readonly E[];
  /** The file as it is now, which has no entries where there is none; the same while it is the same. @throws as `entries`. */
  whole(): ListContent<E>;
  /**
   * Whether there is no entry of that name: not even one that is not valid, which nobody has removed.
   *
   * @throws as `entries`.
   */
  isGone(wanted: string): boolean;
  /** The valid entries. A broken file is set aside where that is so, and then there are none. @throws `unavailable`. */
  load(): Promise<readonly E[]>;
  /**
   * Changes the file, alone among all processes. A broken file is set aside first where that is so.
   *
   * @returns what `edit` returns, once its changes are on disk.
   * @throws `unavailable` when the file cannot be read or is broken; what `edit` throws, and then nothing has changed.
   */
  change<T>(edit: (entries: EntryList<E>) => T | Promise<T>): Promise<T>;
  /** What is wrong with entries of the file, and which broken files were set aside; names no folder. */
  problems(): string[];
}

export function createJsonStore<E extends object>(options: JsonStoreOptions<E>, log: Log): JsonStore<E> {
  const { file, lock, what, list, changed, setsAside = false, whole = false } = options;
  const name = basename(file);
  const schema = schemaOf(list);
  let known: Snapshot<E> | undefined;

  /** The file as it is now; undefined when it is broken. @throws `unavailable` when it cannot be read. */
  const read = (): Snapshot<E> | undefined => {
    const stamp = fileStamp(file);
    // That a file which was there is missing does not show in its stamp.
    if (stamp !== "" && known?.stamp === stamp) return known;
    const content = v.safeParse(schema, contentOf(file, { [list]: [] }));
    if (!content.success) return undefined;
    const items = itemsOf(content.output[list] ?? [], options);
    const faults = faultsOf(items, list);
    const complaint = faults.join("; ");
    if (whole && complaint !== "")
      throw unusable(file, `has an entry that cannot be read (${printable(complaint, 1_000)})`);
    if (complaint !== "" && complaint !== known?.faults.join("; ")) {
      log.warn(`${file}: left out ${printable(complaint, 1_000)}`);
    }
    known = { stamp, content: content.output, items, entries: entriesOf(items), faults };
    return known;
  };

  const broken = () => unusable(file, `is not ${what}`);
  const readOrRefuse = (): Snapshot<E> => {
    const found = read();
    if (!found) throw broken();
    return found;
  };
  /** {@link read} for the holder of the lock. */
  const readToChange = async (): Promise<Snapshot<E>> => {
    for (;;) {
      const stamp = fileStamp(file);
      const found = read();
      if (found) return found;
      if (!setsAside) throw broken();
      await Bun.sleep(SETTLE_MS);
      if (fileStamp(file) !== stamp) continue;
      const aside = `${file}.broken-${new Date().toISOString().replaceAll(":", "")}`;
      renameSync(file, aside);
      log.error(`${file} is not ${what}: it was set aside as ${aside}`);
    }
  };

  return {
    entries: (): readonly E[] => readOrRefuse().entries,
    whole: readOrRefuse,
    isGone(wanted: string): boolean {
      const { items } = readOrRefuse();
      return items.every(
        (item) => item.name !== nameIn(wanted) && (item.name !== undefined || "entry" in item),
      );
    },
    async load(): Promise<readonly E[]> {
      return (read() ?? (await withLock(lock, readToChange))).entries;
    },
    change: <T>(edit: (entries: EntryList<E>) => T | Promise<T>): Promise<T> =>
      withLock(lock, async () => {
        const { content, items } = await readToChange();
        const edited = new EntryList(items, options);
        const result = await edit(edited);
        if (edited.items !== items) {
          const values = edited.items.map(({ value }) => value);
          writeFileAtomic(file, `${JSON.stringify({ ...content, [list]: values }, null, 2)}\n`);
          if (changed) tellChanges(items, edited.items, changed);
        }
        return result;
      }),
    problems(): string[] {
      const beside = existsSync(dirname(file)) ? readdirSync(dirname(file)) : [];
      const aside = beside.filter((found) => found.startsWith(`${name}.broken-`));
      const setAside = (found: string) =>
        `${name} was broken and is set aside as ${found}: mend it or delete it`;
      return [...(known?.faults ?? []), ...aside.map(setAside)];
    },
  };
}

function tellChanges<E extends object>(
  before: ReadonlyArray<Item<E>>,
  now: ReadonlyArray<Item<E>>,
  changed: NonNullable<JsonStoreOptions<E>["changed"]>,
): void {
  const entries = (items: ReadonlyArray<Item<E>>) =>
    new Map(items.flatMap((item) => ("fault" in item ? [] : [[item.name, item.entry] as const])));
  const [old, left] = [entries(before), entries(now)];
  for (const [name, entry] of old) if (!left.has(name)) changed("removed", entry);
  for (const [name, entry] of left) {
    const known = old.get(name);
    if (known !== entry) changed(known ? "changed" : "added", entry);
  }
}

const schemaOf = (list: string) => v.looseObject({ [list]: v.array(v.unknown()) });

/** What is wrong with items, by their place in the field `list`, in words that quote no secret. */
export const faultsOf = <E>(items: ReadonlyArray<Item<E>>, list: string): string[] =>
  items.flatMap((item, at) => ("fault" in item ? [printable(`${list}[${at}]: ${item.fault}`, 220)] : []));

/** What a store would not load of a file with this `content`, in words that quote no secret. */
export function loadFaults<E>(format: ListFormat<E>, content: unknown): string[] {
  const parsed = v.safeParse(schemaOf(format.list), content);
  if (!parsed.success) return [`expected ${format.what}: an object with the list ${format.list}`];
  return faultsOf(itemsOf(parsed.output[format.list] ?? [], format), format.list);
}

/** A reader of entries that takes what `schema` does. */
export function parseBy<E>(schema: v.GenericSchema<unknown, E>): (value: unknown) => ParseResult<E> {
  return (value) => {
    const parsed = v.safeParse(schema, value);
    if (parsed.success) return { entry: parsed.output };
    const [issue] = parsed.issues;
    // valibot's own messages quote the value.
    const fault = issue.message.startsWith("Invalid ") ? `expected ${issue.expected}` : issue.message;
    return { fault: `${v.getDotPath(issue) ?? "the entry"}: ${fault}` };
  };
}

/** The JSON value in `file`: `absent` when there is no file, undefined when it is not JSON in UTF-8. @throws as {@link readTrustFile}. */
function contentOf(file: string, absent: unknown): unknown {
  const bytes = readTrustFile(file);
  if (bytes === undefined) return absent;
  return orElse(() => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), undefined);
}

/** The list while it is changed. */
export class EntryList<E extends object> {
  constructor(
    public items: ReadonlyArray<Item<E>>,
    private readonly options: JsonStoreOptions<E>,
  ) {}

  get entries(): readonly E[] {
    return entriesOf(this.items);
  }

  /** The names of all entries, valid or not. */
  get names(): string[] {
    return this.items.flatMap(({ name }) => name ?? []);
  }

  /** Whether an entry has this name, valid or not. */
  has(name: string): boolean {
    return this.items.some((item) => item.name === nameIn(name));
  }

  /** Adds `entry` at the end. @throws `conflict` when an entry has its name, valid or not. */
  add(entry: E): void {
    const { item, at } = this.placed(entry);
    const { what, key } = this.options;
    if (at >= 0)
      throw conflict(`${key}: ${what} has an entry named ${printable(item.name ?? "", 130)} already`);
    this.items = [...this.items, item];
  }

  /** Puts `entry` in the place of the one with its name, or at the end. */
  replace(entry: E): void {
    const { item, at } = this.placed(entry);
    this.items = at < 0 ? [...this.items, item] : this.items.with(at, item);
  }

  /** `entry` as a value of the list, and the place of the one with its name; -1 where there is none. */
  private placed(entry: E) {
    const item = { value: entry, name: nameOf(entry, this.options.key), entry };
    return { item, at: this.items.findIndex(({ name }) => name === item.name) };
  }

  /** Sets fields of a valid entry; undefined removes one. @returns the entry as it is then; undefined when there is none. */
  update(name: string, fields: Changes<E>): E | undefined {
    const wanted = nameIn(name);
    const at = this.items.findIndex((item) => item.name === wanted && !("fault" in item));
    const value = { ...(this.items[at]?.value as object | undefined), ...fields };
    const parsed = this.options.parse(value);
    if (at < 0 || "fault" in parsed) return undefined;
    this.items = this.items.with(at, { value, name: nameOf(value, this.options.key), ...parsed });
    return parsed.entry;
  }

  /**
   * Sets the fields that `change` returns for each valid entry; undefined leaves it as it is.
   *
   * @returns the entries that were changed, as they are then.
   * @throws `bad_input` where these fields do not go together.
   */
  updateEach(change: (entry: E) => Changes<E> | undefined): E[] {
    const { key, parse } = this.options;
    const changed: E[] = [];
    this.items = this.items.map((item) => {
      const fields = "fault" in item ? undefined : change(item.entry);
      if (fields === undefined) return item;
      const value = { ...(item.value as object), ...fields };
      const parsed = parse(value);
      if ("fault" in parsed) throw badInput(`${printable(item.name ?? "", 130)}: ${parsed.fault}`);
      changed.push(parsed.entry);
      return { value, name: nameOf(value, key), ...parsed };
    });
    return changed;
  }

  /** Removes all entries with this name, valid or not. @returns whether there were any. */
  remove(name: string): boolean {
    return this.removeAll([name]).length > 0;
  }

  /** Removes all entries with these names, valid or not. @returns the names that there were, each once. */
  removeAll(names: readonly string[]): string[] {
    const wanted = new Set(names.map(nameIn));
    const isGone = ({ name }: Item<E>) => name !== undefined && wanted.has(name);
    const gone = new Set(this.items.filter(isGone).flatMap(({ name }) => name ?? []));
    if (gone.size > 0) this.items = this.items.filter((item) => !isGone(item));
    return [...gone];
  }
}

/** `values` as items: of several with one name, the first that is valid counts. */
export function itemsOf<E>(values: readonly unknown[], { key, parse }: ListFormat<E>): Array<Item<E>> {
  const seen = new Set<string | undefined>();
  return values.map((value) => {
    const item = { value, name: nameOf(value, key), ...parse(value) };
    if ("fault" in item) return item;
    if (seen.has(item.name)) return { ...item, fault: `an entry before it has this ${key}` };
    seen.add(item.name);
    return item;
  });
}

const entriesOf = <E>(items: ReadonlyArray<Item<E>>): E[] =>
  items.flatMap((item) => ("fault" in item ? [] : [item.entry]));

/** What names the value; undefined where it has no such text. */
export function nameOf(value: unknown, key: string): string | undefined {
  const name = Object(value)[key];
  return typeof name === "string" ? nameIn(name) : undefined;
}

/** A name without the spaces around it, in Unicode NFC: two texts that mean one name are one. */
export const nameIn = (text: string) => text.trim().normalize("NFC");

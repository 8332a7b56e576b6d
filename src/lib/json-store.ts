/**
 * A JSON file that holds a list (`{"jobs": […]}`) which several processes, and people with editors, read and change.
 *
 * Promises. A reader sees the old file or the new one. Each change is read, made and written under a lock, so that none
 * is lost. A broken file is reported and never overwritten: the next change sets it aside under another name. An entry
 * that is not valid is reported and left out; it stays where it is in the file, as does every field of the file that svc
 * does not know.
 */
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { Failure, systemCode, unavailable } from "./errors";
import { fileStamp, writeFileAtomic } from "./files";
import { withLock } from "./lock";
import type { Log } from "./log";
import { printable } from "./sanitize";

/** How long a broken file must stay as it is before it is set aside, in milliseconds: an editor may be writing it. */
const SETTLE_MS = 100;

export interface JsonStoreOptions<E> {
  readonly file: string;
  /** The lock file of those who change it. */
  readonly lock: string;
  /** What the file is, for messages: `an address book`. */
  readonly what: string;
  /** The field that holds the list. */
  readonly list: string;
  /** The field that names an entry. Of several entries with one name, the first counts. */
  readonly key: keyof E & string;
  /** Reads a value of the list, for instance {@link parseBy} a schema. */
  readonly parse: (value: unknown) => Parsed<E>;
}

/** An entry, or what is wrong with a value that is none; a fault quotes no secret. */
export type Parsed<E> = { readonly entry: E } | { readonly fault: string };

export interface JsonStore<E> {
  /** The valid entries, as the file is now. @throws `unavailable` when the file is broken or cannot be read. */
  entries(): readonly E[];
  /** As {@link entries}, but sets a broken file aside, and then there are none. */
  load(): Promise<readonly E[]>;
  /**
   * Changes the file, alone among all processes. A broken file is set aside first.
   *
   * @returns what `edit` returns, once its changes are on disk.
   * @throws `unavailable` when the file cannot be read; what `edit` throws, and then nothing has changed.
   */
  change<T>(edit: (list: EntryList<E>) => T | Promise<T>): Promise<T>;
  /** What is wrong with entries of the file, and which broken files were set aside; names no folder. */
  problems(): string[];
}

/** The list while it is changed. */
export interface EntryList<E> {
  /** The valid entries. */
  readonly entries: readonly E[];
  /** Whether an entry has this name, valid or not. */
  has(name: string): boolean;
  /** Puts `entry` in the place of the one with its name, or at the end. */
  put(entry: E): void;
  /** Sets fields of a valid entry. @returns the entry as it is then; undefined when there is none. */
  update(name: string, fields: Partial<E>): E | undefined;
  /** Removes all entries with this name, valid or not. @returns whether there were any. */
  remove(name: string): boolean;
}

/** A value of the list. */
interface Item<E> {
  readonly value: unknown;
  readonly name: string | undefined;
  readonly parsed: Parsed<E>;
}

/** What the file held when it was last read. */
interface Snapshot<E> {
  readonly stamp: string;
  /** The whole file. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly items: ReadonlyArray<Item<E>>;
  readonly entries: readonly E[];
  readonly faults: readonly string[];
}

export function createJsonStore<E extends object>(options: JsonStoreOptions<E>, log: Log): JsonStore<E> {
  const { file, lock, what, list } = options;
  const name = basename(file);
  const schema = v.looseObject({ [list]: v.array(v.unknown()) });
  let known: Snapshot<E> | undefined;

  const read = (): Snapshot<E> => {
    const stamp = fileStamp(file);
    if (known?.stamp === stamp) return known;
    const parsed = v.safeParse(schema, contentOf(file, { [list]: [] }));
    if (!parsed.success)
      throw new BrokenFile("unavailable", `${name} is not ${what}: mend it or move it away`);
    const items = itemsOf(parsed.output[list] ?? [], options);
    const faults = items.flatMap(({ parsed }, at) =>
      "fault" in parsed ? [printable(`${list}[${at}]: ${parsed.fault}`, 220)] : [],
    );
    const complaint = faults.join("; ");
    if (complaint !== "" && complaint !== known?.faults.join("; ")) {
      log.warn(`${file}: left out ${printable(complaint, 1_000)}`);
    }
    known = { stamp, content: parsed.output, items, entries: entriesOf(items), faults };
    return known;
  };

  /** {@link read} for the holder of the lock. */
  const readOrSetAside = async (): Promise<Snapshot<E>> => {
    for (;;) {
      const stamp = fileStamp(file);
      try {
        return read();
      } catch (error) {
        if (!(error instanceof BrokenFile)) throw error;
        await Bun.sleep(SETTLE_MS);
        if (fileStamp(file) !== stamp) continue;
        const aside = `${file}.broken-${new Date().toISOString().replaceAll(":", "")}`;
        renameSync(file, aside);
        log.error(`${file} is not ${what}: it was set aside as ${aside}`);
      }
    }
  };

  return {
    entries: () => read().entries,
    async load() {
      try {
        return read().entries;
      } catch (error) {
        if (!(error instanceof BrokenFile)) throw error;
        return await withLock(lock, async () => (await readOrSetAside()).entries);
      }
    },
    change: (edit) =>
      withLock(lock, async () => {
        const { content, items } = await readOrSetAside();
        const editor = new Editor(items, options);
        const result = await edit(editor);
        if (editor.items !== items) {
          const values = editor.items.map(({ value }) => value);
          writeFileAtomic(file, `${JSON.stringify({ ...content, [list]: values }, null, 2)}\n`);
        }
        return result;
      }),
    problems() {
      const aside = readdirSync(dirname(file)).filter((found) => found.startsWith(`${name}.broken-`));
      const setAside = (found: string) =>
        `${name} was broken and is set aside as ${found}: mend it or delete it`;
      return [...(known?.faults ?? []), ...aside.map(setAside)];
    },
  };
}

/** A reader of entries that takes what `schema` does. */
export function parseBy<E>(schema: v.GenericSchema<unknown, E>): (value: unknown) => Parsed<E> {
  return (value) => {
    const parsed = v.safeParse(schema, value);
    if (parsed.success) return { entry: parsed.output };
    const [issue] = parsed.issues;
    // valibot's own messages quote the value.
    const fault = issue.message.startsWith("Invalid ") ? `expected ${issue.expected}` : issue.message;
    return { fault: `${v.getDotPath(issue) ?? "the entry"}: ${fault}` };
  };
}

/** The file holds something else. */
class BrokenFile extends Failure {}

/** The JSON value in `file`: `absent` when there is no file, undefined when it is not JSON in UTF-8. */
function contentOf(file: string, absent: unknown): unknown {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return absent;
    throw unavailable(`${basename(file)} cannot be read (${code ?? "unknown error"})`);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

class Editor<E extends object> implements EntryList<E> {
  constructor(
    public items: ReadonlyArray<Item<E>>,
    private readonly options: JsonStoreOptions<E>,
  ) {}

  get entries(): readonly E[] {
    return entriesOf(this.items);
  }

  has(name: string): boolean {
    return this.items.some((item) => item.name === name);
  }

  put(entry: E): void {
    const item: Item<E> = { value: entry, name: nameOf(entry, this.options.key), parsed: { entry } };
    const at = this.items.findIndex(({ name }) => name === item.name);
    this.items = at < 0 ? [...this.items, item] : this.items.with(at, item);
  }

  update(name: string, fields: Partial<E>): E | undefined {
    const at = this.items.findIndex((item) => item.name === name && "entry" in item.parsed);
    const value = { ...(this.items[at]?.value as object | undefined), ...fields };
    const parsed = this.options.parse(value);
    if (at < 0 || "fault" in parsed) return undefined;
    this.items = this.items.with(at, { value, name, parsed });
    return parsed.entry;
  }

  remove(name: string): boolean {
    const left = this.items.filter((item) => item.name !== name);
    if (left.length === this.items.length) return false;
    this.items = left;
    return true;
  }
}

function itemsOf<E extends object>(values: unknown[], { key, parse }: JsonStoreOptions<E>): Array<Item<E>> {
  const seen = new Set<string>();
  return values.map((value) => {
    const parsed = parse(value);
    if ("fault" in parsed) return { value, name: nameOf(value, key), parsed };
    const name = nameOf(parsed.entry, key) ?? "";
    if (seen.has(name)) return { value, name, parsed: { fault: `an entry before it has this ${key}` } };
    seen.add(name);
    return { value, name, parsed };
  });
}

const entriesOf = <E>(items: ReadonlyArray<Item<E>>): E[] =>
  items.flatMap(({ parsed }) => ("entry" in parsed ? [parsed.entry] : []));

function nameOf(value: unknown, key: string): string | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  const name = Reflect.get(value, key);
  return typeof name === "string" ? name.trim() : undefined;
}

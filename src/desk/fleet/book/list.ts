/**
 * The address book while it is changed: what is read of it is as it would be, and nothing of it is kept yet.
 */
import { badInput, conflict } from "../../../lib/errors";
import { type Changes, nameIn } from "../../../lib/json-store";
import { printable } from "../../../lib/sanitize";
import type { Host } from "../host";
import { type BookItem, type BookItems, bookItem, countingIn, hostOf } from "./items";

/** What is changed of the entries, by their places; undefined where an entry goes. */
export type ItemChanges = ReadonlyMap<number, BookItem | undefined>;

/** The entries with the changes so far. */
export class HostList {
  readonly #changed = new Map<number, BookItem | undefined>();
  readonly #groups = new Map<string | undefined, readonly BookItem[]>();
  #last: number;

  constructor(private readonly before: BookItems) {
    this.#last = before.last;
  }

  get changes(): ItemChanges {
    return this.#changed;
  }

  /** The names of which an entry was added, changed or removed. */
  get touched(): ReadonlyArray<string | undefined> {
    return [...this.#groups.keys()];
  }

  /** The items with this name, valid or not, in their order. */
  named(name: string | undefined): readonly BookItem[] {
    const wanted = name === undefined ? undefined : nameIn(name);
    return this.#groups.get(wanted) ?? this.before.named(wanted);
  }

  /** All items as they would be, in their order. */
  items(): BookItem[] {
    const kept = [...this.before.items()].flatMap((item) =>
      this.#changed.has(item.place) ? (this.#changed.get(item.place) ?? []) : item,
    );
    const added = [...this.#changed.values()].filter((item) => item && !this.before.at(item.place));
    return [...kept, ...added.flatMap((item) => item ?? [])];
  }

  /** The hosts as they would be, in their order. */
  get hosts(): readonly Host[] {
    if (this.#changed.size === 0) return this.before.hosts;
    return this.items().flatMap((item) => {
      const host = hostOf(item);
      return host && countingIn(this.named(item.name)) === item ? host : [];
    });
  }

  /** The host with this very label. */
  get(label: string): Host | undefined {
    const host = hostOf(countingIn(this.named(label)));
    return host?.label === label ? host : undefined;
  }

  /** Whether an entry has this name, valid or not. */
  has(name: string): boolean {
    return this.named(name).length > 0;
  }

  /** Adds `host` at the end. @throws `conflict` when an entry has its label, valid or not. */
  add(host: Host): void {
    const item = bookItem(this.#last + 1, host);
    if (this.named(item.name).length > 0)
      throw conflict(`label: an address book has an entry named ${printable(host.label, 130)} already`);
    this.#last = item.place;
    this.#put(item, undefined);
  }

  /** Puts `host` in the place of the entry with its label, or at the end. */
  replace(host: Host): void {
    const [old] = this.named(host.label);
    if (old) this.#put(bookItem(old.place, host), old);
    else this.add(host);
  }

  /**
   * Sets fields of the host with this name; undefined removes one. Fields that svc does not know stay.
   *
   * @returns the host as it is then; undefined when there is none.
   * @throws `bad_input` where these fields do not go together.
   */
  update(name: string, fields: Changes<Host>): Host | undefined {
    const old = countingIn(this.named(name));
    if (!old) return undefined;
    const item = bookItem(old.place, { ...(old.value as object), ...fields });
    if ("fault" in item.parsed) throw badInput(`${printable(old.name ?? "", 130)}: ${item.parsed.fault}`);
    this.#put(item, old);
    return item.parsed.entry;
  }

  /** Removes all entries with this name, valid or not. @returns whether there were any. */
  remove(name: string): boolean {
    return this.removeAll([name]).length > 0;
  }

  /** Removes all entries with these names, valid or not. @returns the names that there were, each once. */
  removeAll(names: readonly string[]): string[] {
    const wanted = [...new Set(names.map(nameIn))].filter((name) => this.has(name));
    const inOrder = wanted.toSorted(
      (a, b) => (this.named(a)[0]?.place ?? 0) - (this.named(b)[0]?.place ?? 0),
    );
    for (const name of inOrder) for (const item of this.named(name)) this.#drop(item);
    return inOrder;
  }

  /** Puts `item` in the place of `old`, or adds it where there is none. */
  #put(item: BookItem, old: BookItem | undefined): void {
    if (old) this.#leave(old);
    this.#changed.set(item.place, item);
    const group = [...this.named(item.name), item].sort((a, b) => a.place - b.place);
    this.#groups.set(item.name, group);
  }

  #drop(item: BookItem): void {
    this.#leave(item);
    // One that was added by this very change is of no interest.
    if (this.before.at(item.place)) this.#changed.set(item.place, undefined);
    else this.#changed.delete(item.place);
  }

  #leave(old: BookItem): void {
    this.#groups.set(
      old.name,
      this.named(old.name).filter((item) => item !== old),
    );
  }
}

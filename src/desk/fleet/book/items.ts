/**
 * The entries of the address book in memory: in their order, by label, and by whatever else they are looked up.
 *
 * The promise: one more entry costs the same however many there are, as does one that changes or goes, and looking one up. Only who
 * asks for the list of all hosts pays for all of them.
 */
import { nameIn, nameOf, type ParseResult } from "../../../lib/json-store";
import { type Host, parseHost } from "../host";

/** An entry as it is kept, valid or not. */
export interface BookItem {
  /** Where it stands: those of later entries are larger. */
  readonly place: number;
  /** Its JSON value, with fields that svc does not know. */
  readonly value: unknown;
  /** Its label, but for spaces around it and its Unicode form; undefined where it has none. */
  readonly name: string | undefined;
  readonly parsed: ParseResult<Host>;
}

/** The value as an entry at that place. */
export const bookItem = (place: number, value: unknown): BookItem => ({
  place,
  value,
  name: nameOf(value, "label"),
  parsed: parseHost(value),
});

/** By what an item is looked up. The function itself names the index: it is to be the same each time. */
export type KeysOf = (item: BookItem) => readonly string[];

/** Of several entries with one label, the first that is valid counts; undefined where none is. */
export const countingIn = (group: readonly BookItem[]): BookItem | undefined =>
  group.length === 1 && group[0] && "entry" in group[0].parsed
    ? group[0]
    : group.find(({ parsed }) => "entry" in parsed);

/** The host of an item; undefined where it is not valid. */
export const hostOf = (item: BookItem | undefined): Host | undefined =>
  item && "entry" in item.parsed ? item.parsed.entry : undefined;

/** What is wrong with the item, where it is not the host of its label; undefined where it is. */
export function faultOf(item: BookItem, group: readonly BookItem[]): string | undefined {
  if ("fault" in item.parsed) return item.parsed.fault;
  return countingIn(group) === item ? undefined : "an entry before it has this label";
}

const NONE: readonly BookItem[] = [];

/** The entries of the book as they were read last. */
export class BookItems {
  readonly #byPlace = new Map<number, BookItem>();
  readonly #byName = new Map<string | undefined, readonly BookItem[]>();
  readonly #indexes = new Map<KeysOf, Map<string, readonly BookItem[]>>();
  /** The list of the hosts as somebody has asked for it, and those that were appended since. */
  #hosts: readonly Host[] | undefined;
  #appended: Host[] = [];
  #last = 0;

  /** @param items by their places. */
  constructor(items: Iterable<BookItem> = []) {
    for (const item of items) this.put(item);
  }

  /** The highest place so far. */
  get last(): number {
    return this.#last;
  }

  /** All items, valid or not, in their order. */
  items(): IterableIterator<BookItem> {
    return this.#byPlace.values();
  }

  at(place: number): BookItem | undefined {
    return this.#byPlace.get(place);
  }

  /** The hosts in their order: the same array while they are the same. */
  get hosts(): readonly Host[] {
    this.#hosts ??= [...this.#byPlace.values()].flatMap((item) => this.#counts(item) ?? []);
    if (this.#appended.length > 0) this.#hosts = this.#hosts.concat(this.#appended);
    this.#appended = [];
    return this.#hosts;
  }

  /** The items with this name, valid or not, in their order. */
  named(name: string | undefined): readonly BookItem[] {
    return this.#byName.get(name === undefined ? undefined : nameIn(name)) ?? NONE;
  }

  /** The hosts with that key. The first call for an index goes through all items. */
  found(keysOf: KeysOf, key: string): readonly Host[] {
    let index = this.#indexes.get(keysOf);
    if (!index) {
      index = new Map();
      this.#indexes.set(keysOf, index);
      for (const item of this.#byPlace.values()) enter(index, keysOf, item);
    }
    return (index.get(key) ?? NONE).flatMap((item) => this.#counts(item) ?? []);
  }

  /** The names with that key, also of entries that are not valid. As `found`. */
  namesFound(keysOf: KeysOf, key: string): readonly string[] {
    this.found(keysOf, key);
    return (this.#indexes.get(keysOf)?.get(key) ?? NONE).flatMap(({ name }) => name ?? []);
  }

  /** Adds the item, or puts it in the place of the one there. */
  put(item: BookItem): void {
    const old = this.#byPlace.get(item.place);
    const isLast = !old && item.place > this.#last;
    if (old) this.#forget(old);
    this.#byPlace.set(item.place, item);
    this.#last = Math.max(this.#last, item.place);
    const group = [...this.named(item.name), item];
    this.#byName.set(item.name, isLast ? group : group.sort((a, b) => a.place - b.place));
    for (const [keysOf, index] of this.#indexes) enter(index, keysOf, item);
    const host = this.#counts(item);
    if (isLast && host && this.#hosts) this.#appended.push(host);
    else this.#forgetList();
  }

  remove(place: number): void {
    const old = this.#byPlace.get(place);
    if (!old) return;
    this.#byPlace.delete(place);
    this.#forget(old);
    this.#forgetList();
  }

  /** The host of the item, where it is the one of its label. */
  #counts(item: BookItem): Host | undefined {
    if (!("entry" in item.parsed)) return undefined;
    return countingIn(this.named(item.name)) === item ? item.parsed.entry : undefined;
  }

  #forget(old: BookItem): void {
    without(this.#byName, old.name, old);
    for (const [keysOf, index] of this.#indexes) for (const key of keysOf(old)) without(index, key, old);
  }

  #forgetList(): void {
    this.#hosts = undefined;
    this.#appended = [];
  }
}

function enter(index: Map<string, readonly BookItem[]>, keysOf: KeysOf, item: BookItem): void {
  for (const key of keysOf(item)) index.set(key, [...(index.get(key) ?? NONE), item]);
}

function without<K>(map: Map<K, readonly BookItem[]>, key: K, old: BookItem): void {
  const left = (map.get(key) ?? NONE).filter((item) => item !== old);
  if (left.length > 0) map.set(key, left);
  else map.delete(key);
}

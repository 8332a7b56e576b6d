/**
 * Some numbers for each of many texts, in little memory: arrays of numbers, and nothing that the garbage collector has to walk.
 *
 * Texts are known by 53 bits of a hash with a secret seed. Two of a hundred thousand are taken for one another once in
 * millions of millions of look-ups, and nobody can find out which.
 */

/** A text as a {@link NumberTable} knows it. */
type Key = number;

/** @returns a function that gives each text its key; another one gives it another. */
export function createKeys(): (text: string) => Key {
  const seed = crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n;
  const hash = new BigUint64Array(1);
  const [low, high] = [new Uint32Array(hash.buffer, 0, 1), new Uint32Array(hash.buffer, 4, 1)];
  return (text) => {
    hash[0] = BigInt(Bun.hash(text, seed));
    return (low[0] ?? 0) + ((high[0] ?? 0) & 0x1fffff) * 2 ** 32;
  };
}

const FIRST_CAPACITY = 16;

/** A hash table. What belongs to a key begins at its offset in `numbers`, where it stays until the key is removed. */
export class NumberTable {
  /** How many keys it has. */
  size = 0;
  /** Another array after keys were added. */
  numbers: Float64Array;
  private keys = new Float64Array(FIRST_CAPACITY);
  /** The first place of each chain, and the place after each one: counted from 1, as 0 ends a chain. */
  private first = new Uint32Array(FIRST_CAPACITY);
  private after = new Uint32Array(FIRST_CAPACITY);
  /** The first place of the chain of removed ones, and how many places were ever taken. */
  private removed = 0;
  private taken = 0;

  /** @param initial numbers of a key that is added. */
  constructor(private readonly initial: readonly number[]) {
    this.numbers = new Float64Array(FIRST_CAPACITY * initial.length);
  }

  /** The offset of the numbers of `key`; -1 where it has none. */
  find(key: Key): number {
    let place = this.first[this.chainOf(key)] ?? 0;
    while (place !== 0 && this.keys[place - 1] !== key) place = this.after[place - 1] ?? 0;
    return place === 0 ? -1 : (place - 1) * this.initial.length;
  }

  /** Adds `key`, which it does not have. @returns the offset of its numbers. */
  add(key: Key): number {
    const place = this.freePlace();
    this.keys[place - 1] = key;
    this.link(place);
    this.size += 1;
    const offset = (place - 1) * this.initial.length;
    this.numbers.set(this.initial, offset);
    return offset;
  }

  /** Removes the key whose numbers are at `offset`. */
  remove(offset: number): void {
    const place = offset / this.initial.length + 1;
    const chain = this.chainOf(this.keys[place - 1] ?? 0);
    const next = this.after[place - 1] ?? 0;
    if (this.first[chain] === place) this.first[chain] = next;
    else {
      let before = this.first[chain] ?? 0;
      while (this.after[before - 1] !== place) before = this.after[before - 1] ?? 0;
      this.after[before - 1] = next;
    }
    this.after[place - 1] = this.removed;
    this.removed = place;
    this.size -= 1;
  }

  /** Removes every key. It keeps its memory. */
  clear(): void {
    this.first.fill(0);
    this.size = this.removed = this.taken = 0;
  }

  private chainOf(key: Key): number {
    // The number of chains is a power of two.
    return key % this.first.length;
  }

  private link(place: number): void {
    const chain = this.chainOf(this.keys[place - 1] ?? 0);
    this.after[place - 1] = this.first[chain] ?? 0;
    this.first[chain] = place;
  }

  private freePlace(): number {
    const place = this.removed;
    if (place !== 0) {
      this.removed = this.after[place - 1] ?? 0;
      return place;
    }
    if (this.taken === this.keys.length) this.grow();
    this.taken += 1;
    return this.taken;
  }

  /** Twice the places. None is removed now. */
  private grow(): void {
    const capacity = 2 * this.keys.length;
    const [keys, numbers] = [new Float64Array(capacity), new Float64Array(capacity * this.initial.length)];
    keys.set(this.keys);
    numbers.set(this.numbers);
    [this.keys, this.numbers] = [keys, numbers];
    [this.first, this.after] = [new Uint32Array(capacity), new Uint32Array(capacity)];
    for (let place = 1; place <= this.taken; place++) this.link(place);
  }
}

/**
 * A table of at most `max` texts that drops those untouched for longest, half of them at a time: two generations, so that none is
 * dropped by itself.
 */
export class RecentNumbers {
  private readonly keyOf = createKeys();
  private young: NumberTable;
  private old: NumberTable;

  /** @param initial numbers of a text that is new. */
  constructor(
    private readonly max: number,
    private readonly initial: readonly number[],
  ) {
    this.young = new NumberTable(initial);
    this.old = new NumberTable(initial);
  }

  /** Where {@link touch} finds numbers; another array after each call of it. */
  get numbers(): Float64Array {
    return this.young.numbers;
  }

  /** The offset of the numbers of `text`, until the next call. */
  touch(text: string): number {
    const key = this.keyOf(text);
    const found = this.young.find(key);
    if (found >= 0) return found;
    const { old } = this;
    const before = old.find(key);
    if (this.young.size >= this.max / 2) {
      [this.young, this.old] = [old, this.young];
      // What was found in it is still there to be copied.
      old.clear();
    }
    const width = this.initial.length;
    const kept = before < 0 ? this.initial : old.numbers.slice(before, before + width);
    const offset = this.young.add(key);
    this.young.numbers.set(kept, offset);
    return offset;
  }

  delete(text: string): void {
    const key = this.keyOf(text);
    for (const table of [this.young, this.old]) {
      const found = table.find(key);
      if (found >= 0) table.remove(found);
    }
  }
}

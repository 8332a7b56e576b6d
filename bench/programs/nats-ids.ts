/** The NATS ids of many hosts, as bytes: as texts they would take more memory than what is measured beside them. */

/** How long each is. */
const LENGTH = 56;

export class NatsIds {
  readonly length = LENGTH;
  readonly #bytes: Buffer;
  /** The number of each id, by its hash, or the next free place after that; -1 in a free one. */
  readonly #places: Int32Array;

  constructor(count: number, idOf: (nth: number) => string) {
    this.#bytes = Buffer.alloc(count * LENGTH);
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1))).fill(-1);
    for (let nth = 0; nth < count; nth++) {
      const id = idOf(nth);
      this.#bytes.write(id, nth * LENGTH, "latin1");
      this.#places[this.#find(id)] = nth;
    }
  }

  of(nth: number): string {
    return this.#bytes.toString("latin1", nth * LENGTH, (nth + 1) * LENGTH);
  }

  /** The number of the host with that id; -1 where there is none. */
  indexOf(id: string): number {
    return this.#places[this.#find(id)] ?? -1;
  }

  /** The place of that id, or the free one where it would be. */
  #find(id: string): number {
    const last = this.#places.length - 1;
    for (let at = Bun.hash.crc32(id) & last; ; at = (at + 1) & last) {
      const nth = this.#places[at] ?? -1;
      if (nth < 0 || this.of(nth) === id) return at;
    }
  }
}

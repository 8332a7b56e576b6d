/**
 * What was encoded of a frame, for the next viewer that wants the same.
 */

/** How many bytes are kept. */
const MAX_BYTES = 4 * 1_024 * 1_024;

/** Rectangles by their form and place, the oldest first. */
export class EncodingCache {
  readonly #entries = new Map<
    string,
    { readonly version: string; readonly bytes: Buffer | Promise<Buffer> }
  >();
  #bytes = 0;

  /** @param most how many rectangles are kept. */
  constructor(private readonly most: number) {}

  /** @param version that of the pixels, and of the pointer in them. @returns undefined where it is not kept. */
  find(key: string, version: string): Buffer | Promise<Buffer> | undefined {
    const entry = this.#entries.get(key);
    return entry?.version === version ? entry.bytes : undefined;
  }

  /** Keeps it in place of the version before; one that fails is forgotten. */
  keep(key: string, version: string, bytes: Buffer | Promise<Buffer>): void {
    this.#forget(key);
    this.#entries.set(key, { version, bytes });
    if (!(bytes instanceof Promise)) this.#bytes += bytes.length;
    else {
      const isKept = () => this.#entries.get(key)?.bytes === bytes;
      bytes.then(
        (done) => isKept() && this.keep(key, version, done),
        () => isKept() && this.#forget(key),
      );
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= MAX_BYTES && this.#entries.size <= this.most) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const bytes = this.#entries.get(key)?.bytes;
    if (bytes && !(bytes instanceof Promise)) this.#bytes -= bytes.length;
    this.#entries.delete(key);
  }
}

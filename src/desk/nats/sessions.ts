/**
 * The sessions of the hosts that were heard of on a NATS server: of each the eight bytes that it is, as a text of its own would take
 * eight times as many.
 */
const BYTES = 8;

/** How many hosts there is room for at first. */
const FEW = 64;

export class Sessions {
  /** The place of each host. */
  readonly #places = new Map<string, number>();
  #bytes = Buffer.alloc(FEW * BYTES);

  /** 16 hexadecimal digits; undefined for a host that was not heard of. */
  get(host: string): string | undefined {
    const place = this.#places.get(host);
    return place === undefined ? undefined : this.#bytes.toString("hex", place, place + BYTES);
  }

  set(host: string, session: string): void {
    const place = this.#places.get(host) ?? this.#places.size * BYTES;
    this.#places.set(host, place);
    if (place === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * place);
    this.#bytes.write(session, place, BYTES, "hex");
  }
}

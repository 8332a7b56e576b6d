/**
 * The sessions of the hosts that were heard of on a NATS server: of each some forty bytes, as texts and a map would take five times as many.
 */
import { createKeys, NumberTable } from "../../lib/number-table";

/** How many hexadecimal digits a session has, and a half of it: a number of 32 bits. */
const DIGITS = 16;
const HALF = DIGITS / 2;

export class Sessions {
  readonly #keyOf = createKeys();
  /** Of each host the two halves of its session. */
  readonly #halves = new NumberTable([0, 0]);

  /** 16 hexadecimal digits; undefined for a host that was not heard of. */
  get(host: string): string | undefined {
    const at = this.#halves.find(this.#keyOf(host));
    return at < 0 ? undefined : this.#half(at) + this.#half(at + 1);
  }

  set(host: string, session: string): void {
    const key = this.#keyOf(host);
    const found = this.#halves.find(key);
    const at = found < 0 ? this.#halves.add(key) : found;
    this.#halves.numbers[at] = Number.parseInt(session.slice(0, HALF), 16);
    this.#halves.numbers[at + 1] = Number.parseInt(session.slice(HALF), 16);
  }

  #half(at: number): string {
    return (this.#halves.numbers[at] ?? 0).toString(16).padStart(HALF, "0");
  }
}

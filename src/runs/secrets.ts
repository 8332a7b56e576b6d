/**
 * The secrets of a run: the values of secret fields and of variables, to be removed from everything that is kept.
 *
 * An operation knows which of its fields are secret, but not that a variable with a password was filled into another
 * field, which its errors and results may quote.
 */
import { jsonLine } from "../lib/sanitize";

/** In characters. Shorter texts occur in any sentence; longer ones are never kept whole. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 4_096;

/** The most texts that are remembered; beyond it the oldest are forgotten. */
const MAX_TEXTS = 200;

export class Secrets {
  private readonly texts = new Set<string>();
  private pattern: RegExp | undefined;

  /** Remembers each text and number in `value`, and its form in JSON. */
  add(value: unknown): void {
    if (typeof value === "number") this.remember(`${value}`);
    else if (typeof value === "string") {
      this.remember(value);
      this.rememberQuoted(value);
    } else if (typeof value === "object" && value !== null) {
      for (const item of Object.values(value)) this.add(item);
    }
  }

  /** Remembers each also in the form it has in a quoted text that quotes it. Forgets none in exchange. */
  quote(): void {
    for (const text of [...this.texts]) if (this.texts.size < MAX_TEXTS - 1) this.rememberQuoted(text);
  }

  /** `text` with every secret in it replaced by `***`. */
  scrub(text: string): string {
    if (this.texts.size === 0) return text;
    this.pattern ??= patternOf(this.texts);
    return text.replaceAll(this.pattern, "***");
  }

  private rememberQuoted(text: string): void {
    for (const quoted of [JSON.stringify(text), jsonLine(text)]) this.remember(quoted.slice(1, -1));
  }

  private remember(text: string): void {
    if (text.length < MIN_LENGTH || text.length > MAX_LENGTH || this.texts.has(text)) return;
    this.texts.add(text);
    const [oldest] = this.texts;
    if (this.texts.size > MAX_TEXTS && oldest !== undefined) this.texts.delete(oldest);
    this.pattern = undefined;
  }
}

/** Matches any of `texts`, the longest first: one may be part of another. */
function patternOf(texts: ReadonlySet<string>): RegExp {
  const longest = [...texts].sort((a, b) => b.length - a.length);
  return new RegExp(longest.map((text) => RegExp.escape(text)).join("|"), "g");
}

/**
 * The secrets of a run: what was in secret fields or was filled in, and is taken out of what is kept of the run.
 *
 * An operation knows which of its fields are secret, not that a variable with a password in it was filled into another;
 * its errors and results may quote that one.
 */
import { jsonLine } from "../lib/sanitize";

/** Shorter texts are no secrets worth the name, and are part of any sentence; longer ones are never kept whole. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 4_096;

/** The most texts that are remembered; the oldest are forgotten beyond it. */
const MAX_TEXTS = 200;

export class Secrets {
  private readonly texts = new Set<string>();
  private pattern: RegExp | undefined;

  /** Remembers each text and number in `value`, also as it is written in JSON. */
  add(value: unknown): void {
    if (typeof value === "number") this.remember(`${value}`);
    else if (typeof value === "string") {
      this.remember(value);
      this.rememberQuoted(value);
    } else if (typeof value === "object" && value !== null) {
      for (const item of Object.values(value)) this.add(item);
    }
  }

  /** Remembers each also as it is written where a text that quotes it is quoted in turn; forgets none for that. */
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

/** Any of `texts`; the longest first, because one may be a part of another. */
function patternOf(texts: ReadonlySet<string>): RegExp {
  const longest = [...texts].sort((a, b) => b.length - a.length);
  return new RegExp(longest.map((text) => RegExp.escape(text)).join("|"), "g");
}

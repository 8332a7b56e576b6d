/**
 * Outcomes as they are kept after the reply: small, and without the secrets of the run: the values of secret fields and of
 * variables.
 *
 * An operation knows which of its fields are secret, but not that a variable with a password was filled into another
 * field, which its errors and results may quote.
 */
import type * as v from "valibot";
import type { Outcome } from "../core/run";
import { mapParts, metadataOf, partsOf } from "../core/schema";
import { sizeWithin } from "../lib/json-size";
import { jsonLine } from "../lib/sanitize";
import type { Runner } from "./runner";

/** The most that a kept result may take; a larger one is left out. */
const MAX_KEPT = { bytes: 4_096, depth: 64 };

/**
 * `outcome` and the outcomes nested in it with every secret replaced by `"***"`.
 *
 * @param bytes the most that its result may take; of a larger one, what its operation says is brief is kept.
 */
export function keepable(
  outcome: Outcome,
  run: Pick<Runner, "operations" | "secrets">,
  bytes = MAX_KEPT.bytes,
): Outcome {
  const { operations, secrets } = run;
  const { result, detail, error, ...rest } = outcome;
  const walk = (value: unknown): unknown => {
    // A longer text is left out below.
    if (typeof value === "string" && value.length <= MAX_KEPT.bytes) return secrets.scrub(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    if (value !== outcome && operations.has(value)) return keepable(value as Outcome, run);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const operation = operations.get(outcome);
  const cleaned = (answer: unknown) =>
    walk(operation ? withoutSecrets(operation.plain?.output ?? operation.output, answer) : answer);
  const fits = (value: unknown) =>
    sizeWithin(value, { ...MAX_KEPT, bytes }) !== undefined && !holdsLongText(value);
  const kept: Outcome = { ...rest };
  if (error !== undefined) kept.error = secrets.scrub(error);
  if (result !== undefined) {
    const clean = cleaned(result);
    const brief = fits(clean) || !operation?.brief ? clean : cleaned(operation.brief(result));
    if (fits(brief)) kept.result = brief;
    else kept.omitted = true;
  }
  // No schema says what is in it.
  const isSafe = operation === undefined || !holdsSecret(operation.output);
  const inside = isSafe && detail && walk(detail);
  if (inside && sizeWithin(inside, MAX_KEPT) !== undefined) kept.detail = inside as Record<string, unknown>;
  return kept;
}

/** Whether a text in it is too long to be searched for secrets. */
const holdsLongText = (value: unknown): boolean =>
  typeof value === "string"
    ? value.length > MAX_KEPT.bytes
    : typeof value === "object" && value !== null && Object.values(value).some(holdsLongText);

/** `value` with what `schema` marks as secret replaced by `"***"`; null stays null. */
function withoutSecrets(schema: v.GenericSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (metadataOf(schema).secret) return "***";
  if (!partsOf(schema).some(holdsSecret)) return value;
  return mapParts(schema, value, withoutSecrets) ?? "***";
}

const holdsSecret = (schema: v.GenericSchema): boolean =>
  metadataOf(schema).secret === true || partsOf(schema).some(holdsSecret);

/** In characters. Shorter texts occur in any sentence; longer ones are never kept whole. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 4_096;

/** The most texts that are remembered; beyond it the oldest are forgotten. */
const MAX_TEXTS = 200;

/** The secrets of a run so far. */
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

  /** `value` with every secret in its texts replaced by `***`; names of fields stay. */
  scrubAll(value: unknown): unknown {
    if (typeof value === "string") return this.scrub(value);
    if (Array.isArray(value)) return value.map((item) => this.scrubAll(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.scrubAll(item)]));
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

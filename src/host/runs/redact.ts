/**
 * Outcomes as they are kept after the reply: small, and without the secrets of the run: the values of secret fields and of
 * variables.
 *
 * An operation knows which of its fields are secret, but not that a variable with a password was filled into another
 * field, which its errors and results may quote.
 */
import type * as v from "valibot";
import type { Outcome } from "../../core/run";
import { mapParts, metadataOf, partsOf } from "../../core/schema";
import { innerValues } from "../../lib/inner-values";
import { sizeWithin } from "../../lib/json-size";
import { mapTexts } from "../../lib/map-texts";
import { jsonLine } from "../../lib/sanitize";
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
  run: Pick<Runner, "operations" | "secrets" | "open">,
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
    walk(
      operation && !run.open.has(outcome)
        ? withoutSecrets(operation.plain?.output ?? operation.output, answer)
        : answer,
    );
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
    : typeof value === "object" && value !== null && innerValues(value).some(holdsLongText);

/** `value` with what `schema` marks as secret replaced by `"***"`; null stays null. */
function withoutSecrets(schema: v.GenericSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (metadataOf(schema).secret) return "***";
  if (!partsOf(schema).some(holdsSecret)) return value;
  return mapParts(schema, value, withoutSecrets) ?? "***";
}

/** Whether a value of this schema has a secret anywhere. */
export const holdsSecret = (schema: v.GenericSchema): boolean =>
  metadataOf(schema).secret === true || partsOf(schema).some(holdsSecret);

/** In characters. Shorter texts occur in any sentence; longer ones are never kept whole. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 4_096;

/** The most that is remembered: texts, and characters of all of them. */
const MAX_TEXTS = 5_000;
const MAX_CHARACTERS = 1_024 * 1_024;

/**
 * How many characters of a text are compared with secrets that begin as it does there, for each of its characters, and at least: who runs a
 * script chooses both. A text that would take more is not shown at all.
 */
const COMPARED_EACH = 64;
const COMPARED_LEAST = 20_000;

/** Secrets that begin alike, by their lengths; the longest come first, as one may be part of another. */
interface Alike {
  readonly lengths: number[];
  readonly ofLength: Map<number, Set<string>>;
}

/** The secrets of a run so far. Where there are too many to remember, no text is kept at all. */
export class Secrets {
  /** Those that begin with the same {@link MIN_LENGTH} characters. */
  private readonly byBeginning = new Map<string, Alike>();
  private readonly texts = new Set<string>();
  private characters = 0;
  /** How many of them {@link Secrets.quote} has seen. */
  private quoted = 0;
  private tooMany = false;

  /** Remembers each text and number in `value`, and its form in JSON. */
  add(value: unknown): void {
    if (this.tooMany) return;
    if (typeof value === "number") this.remember(`${value}`);
    else if (typeof value === "string") {
      this.remember(value);
      this.rememberQuoted(value);
    } else if (typeof value === "object" && value !== null) {
      for (const item of innerValues(value)) this.add(item);
    }
  }

  /** Remembers each also in the form it has in a quoted text that quotes it. */
  quote(): void {
    const fresh = [...this.texts].slice(this.quoted);
    this.quoted = this.texts.size;
    for (const text of fresh) this.rememberQuoted(text);
  }

  /**
   * `text` with every secret in it replaced by `***`; `***` alone where it would take too long to find them.
   *
   * @param upTo how many characters of `text` are shown: no secret begins later.
   */
  scrub(text: string, upTo = text.length): string {
    if (this.tooMany) return "***";
    if (this.texts.size === 0) return text.slice(0, upTo);
    let clean = "";
    let from = 0;
    let left = COMPARED_LEAST + COMPARED_EACH * text.length;
    for (let at = 0; at < upTo && at + MIN_LENGTH <= text.length; at++) {
      const alike = this.byBeginning.get(text.slice(at, at + MIN_LENGTH));
      if (!alike) continue;
      const found = alike.lengths.find((length) => {
        if (length > text.length - at) return false;
        left -= length;
        return left < 0 || alike.ofLength.get(length)?.has(text.slice(at, at + length)) === true;
      });
      if (left < 0) return "***";
      if (found === undefined) continue;
      clean += `${text.slice(from, at)}***`;
      from = at + found;
      at = from - 1;
    }
    return clean + text.slice(from, Math.max(from, upTo));
  }

  /** The first `most` characters of `text`, with every secret in them replaced by `***`: what comes later is not looked through. */
  scrubStart(text: string, most: number): string {
    // A secret that begins among them ends within the rest.
    return this.scrub(text.slice(0, most + MAX_LENGTH), most).slice(0, most);
  }

  /** `value` with every secret in its texts replaced by `***`; names of fields stay. */
  scrubAll(value: unknown): unknown {
    return mapTexts(value, (text) => this.scrub(text));
  }

  /** `value` with every secret in its texts, numbers and names of fields replaced by `***`; what has none stays the same object. */
  mask<T>(value: T): T {
    return (this.isEmpty ? value : this.masked(value)) as T;
  }

  /** Whether a secret is in a text, a number or the name of a field of `value`. */
  isIn(value: unknown): boolean {
    return !this.isEmpty && this.masked(value) !== value;
  }

  private get isEmpty(): boolean {
    return this.texts.size === 0 && !this.tooMany;
  }

  private masked(value: unknown): unknown {
    if (typeof value === "string") return this.scrub(value);
    if (typeof value === "number") {
      const text = this.scrub(`${value}`);
      return text === `${value}` ? value : text;
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.masked(item));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    const before = Object.entries(value);
    const now = before.map(([key, item]) => [this.scrub(key), this.masked(item)] as const);
    const isSame = now.every(([key, item], at) => key === before[at]?.[0] && item === before[at]?.[1]);
    return isSame ? value : Object.fromEntries(now);
  }

  private rememberQuoted(text: string): void {
    for (const quoted of [JSON.stringify(text), jsonLine(text)]) this.remember(quoted.slice(1, -1));
  }

  private remember(text: string): void {
    if (text.length < MIN_LENGTH || text.length > MAX_LENGTH || this.texts.has(text) || this.tooMany) return;
    this.texts.add(text);
    this.characters += text.length;
    const beginning = text.slice(0, MIN_LENGTH);
    const alike = this.byBeginning.get(beginning) ?? { lengths: [], ofLength: new Map() };
    this.byBeginning.set(beginning, alike);
    const same = alike.ofLength.get(text.length);
    if (same) same.add(text);
    else {
      const place = alike.lengths.findIndex((other) => other < text.length);
      alike.lengths.splice(place < 0 ? alike.lengths.length : place, 0, text.length);
      alike.ofLength.set(text.length, new Set([text]));
    }
    if (this.texts.size <= MAX_TEXTS && this.characters <= MAX_CHARACTERS) return;
    this.tooMany = true;
    this.texts.clear();
    this.byBeginning.clear();
  }
}

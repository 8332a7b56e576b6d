/**
 * `${name}` in the arguments of an action: found before a run, filled in when the action runs.
 *
 * A text that consists of `${name}` alone becomes the variable's value, of any type. Within other text, a value that is no
 * text is written as JSON. `$${name}` stands for a literal `${name}`. Nothing is ever evaluated.
 */
import { badInput } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { meant } from "../lib/nearest";

/** The largest argument that filling in may produce: a loop could double a text until memory is full. */
export const MAX_FILLED = { bytes: 4 * 1024 * 1024, depth: 64 };

/** The variables of a run. Together they are within {@link MAX_FILLED}, but for {@link Variables.note}. */
export class Variables extends Map<string, unknown> {
  private readonly sizes = new Map<string, number>();
  private total = 0;

  /** @throws a `bad_input` failure when there is no room for it. */
  override set(name: string, value: unknown): this {
    const room = MAX_FILLED.bytes - this.total + (this.sizes.get(name) ?? 0);
    const size = sizeWithin(value, { ...MAX_FILLED, bytes: room });
    if (size === undefined) throw tooLarge();
    return this.note(name, value, size);
  }

  /** Sets a value of svc's own, which is small. */
  note(name: string, value: unknown, size = 0): this {
    this.total += size - (this.sizes.get(name) ?? 0);
    this.sizes.set(name, size);
    return super.set(name, value);
  }
}

const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]{0,63})\}/g;

/** Whether `value` contains a `${name}` or `$${name}` anywhere. */
export function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.search(REFERENCE) >= 0;
  return typeof value === "object" && value !== null && Object.values(value).some(hasReference);
}

/** The names of the variables that `value` refers to; `$${name}` refers to none. */
export function referencesIn(value: unknown): string[] {
  if (typeof value === "string") {
    return [...value.matchAll(REFERENCE)].flatMap(([, escaped, name]) => (escaped || !name ? [] : name));
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(referencesIn) : [];
}

/**
 * `value` with every `${name}` filled in, also within lists and objects, but not in keys.
 *
 * @throws a `bad_input` failure that names an unknown variable, or when the result is over {@link MAX_FILLED}.
 */
export function fillIn(value: unknown, variables: ReadonlyMap<string, unknown>): unknown {
  const filled = fill(value, variables);
  if (sizeWithin(filled, MAX_FILLED) === undefined) throw tooLarge();
  return filled;
}

function fill(value: unknown, variables: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return fillText(value, variables);
  if (Array.isArray(value)) return value.map((item) => fill(item, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, variables)]));
}

function fillText(text: string, variables: ReadonlyMap<string, unknown>): unknown {
  const references = [...text.matchAll(REFERENCE)];
  const [first] = references;
  if (first?.[2] !== undefined && first[0] === text && !first[1]) return known(first[2], variables);
  let filled = "";
  let from = 0;
  for (const { 0: reference, 1: escaped, 2: name = "", index } of references) {
    filled += text.slice(from, index) + (escaped ? reference.slice(1) : written(known(name, variables)));
    if (filled.length > MAX_FILLED.bytes) throw tooLarge();
    from = index + reference.length;
  }
  return filled + text.slice(from);
}

function known(name: string, variables: ReadonlyMap<string, unknown>): unknown {
  if (variables.has(name)) return variables.get(name);
  throw badInput(`unknown variable: ${name}${meant(name, variables.keys())}`);
}

const written = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const tooLarge = () =>
  badInput(
    `variables: expected at most ${MAX_FILLED.bytes} bytes and ${MAX_FILLED.depth} levels, filled in and together`,
  );

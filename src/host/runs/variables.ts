/**
 * `${name}` in the arguments of an action: found before a run, filled in when the action runs.
 *
 * `${name.field[0]['other field']}` is a part of the variable. A text that consists of one reference alone becomes its value,
 * of any type. Within other text, a value that is no text is written as JSON. `$${name}` stands for a literal `${name}`.
 * `${secret:name}` is a secret of the host, which is read before the run begins.
 * `${= … }` is the value of an expression (`expressions.ts`), which reads variables and nothing else.
 */
import { kindOf } from "../../core/input";
import { isSecretScope, SECRET } from "../../core/rights";
import { partsOfText, REFERENCE, REFERENCE_ALONE, type TextPart, VARIABLE_NAME } from "../../core/written";
import { badInput, messageOf } from "../../lib/errors";
import { innerValues } from "../../lib/inner-values";
import { sizeWithin } from "../../lib/json-size";
import { meant } from "../../lib/nearest";

/** The largest argument that filling in may produce: a loop could double a text until memory is full. */
export const MAX_FILLED = { bytes: 4 * 1024 * 1024, depth: 64 };

/** The variables of a run. Together they are within {@link MAX_FILLED}, but for {@link Variables.note}. */
export class Variables extends Map<string, unknown> {
  private readonly sizes = new Map<string, number>();
  /** The names of those that are no secret. */
  private readonly open = new Set<string>();
  private total = 0;
  /** Which turn of the innermost loop this is, from 1 on: `${loop.index}`. */
  turn: number | undefined;
  /** What is there unless a variable has its name: `run`, `host`, `now`. None of it is secret. */
  surroundings: Readonly<Record<string, () => unknown>> = {};
  /** The secrets of the host that the run may use, by their names. */
  secrets: ReadonlyMap<string, string> = new Map();

  /**
   * @param shown whether its value is no secret, which the run may keep and log.
   * @throws a `bad_input` failure when there is no room for it.
   */
  override set(name: string, value: unknown, shown = false): this {
    const room = MAX_FILLED.bytes - this.total + (this.sizes.get(name) ?? 0);
    const size = sizeWithin(value, { ...MAX_FILLED, bytes: room });
    if (size === undefined) throw tooLarge();
    return this.note(name, value, shown, size);
  }

  /** Sets a value of svc's own, which is small. */
  note(name: string, value: unknown, shown = false, size = 0): this {
    this.total += size - (this.sizes.get(name) ?? 0);
    this.sizes.set(name, size);
    if (shown) this.open.add(name);
    else this.open.delete(name);
    return super.set(name, value);
  }

  /** Whether what `reference` stands for is no secret: one of the host always is. */
  isShown(reference: Reference): boolean {
    const { name } = reference;
    return this.isTurn(reference) || this.open.has(name) || (!this.has(name) && this.isAround(name));
  }

  /** What `reference` stands for. @throws a `bad_input` failure that names what is missing; it quotes no value. */
  resolve(reference: Reference): unknown {
    if (this.isTurn(reference)) return this.turn;
    const { name, path } = reference;
    if (name === "loop" && !this.has(name)) {
      if (this.turn !== undefined) throw badInput("loop has only index, the turn: ${loop.index}");
      if (isTurn(name, path)) throw badInput("${loop.index}: expected inside a loop");
    }
    const isAround = !this.has(name) && this.isAround(name);
    const secret = secretOf(reference);
    if (secret !== undefined) {
      const value = this.secrets.get(secret);
      if (value === undefined) throw badInput(`unknown secret: ${secret}`);
      if (path.length > 0) throw badInput(`\${${name}}: a secret is a text, which has no parts`);
      return value;
    }
    if (!isAround && !this.has(name)) throw badInput(`unknown variable: ${name}${meant(name, this.keys())}`);
    let at = name;
    let value = isAround ? this.around(name) : this.get(name);
    for (const key of path) {
      value = part(value, key, at);
      at += typeof key === "number" ? `[${key}]` : /^[\w-]+$/.test(key) ? `.${key}` : `['${key}']`;
    }
    return value;
  }

  /**
   * The value of an expression, as JSON has it.
   *
   * @throws a `bad_input` failure where it has none, or takes too long.
   */
  evaluate(source: string): unknown {
    return readExpression(source).compute((name) => {
      if (!this.has(name) && this.isAround(name)) return this.surroundings[name]?.();
      if (name === TURN && !this.has(name)) return this.turn ?? null;
      return this.resolve({ name, path: [] });
    });
  }

  private around(name: string): unknown {
    const value = this.surroundings[name]?.();
    return value instanceof Date ? value.toISOString() : value;
  }

  private isAround(name: string): boolean {
    return Object.hasOwn(this.surroundings, name);
  }

  /** A variable that somebody called `loop` stays what it is, but for the index. */
  private isTurn({ name, path }: Reference): boolean {
    return this.turn !== undefined && isTurn(name, path);
  }
}

function part(value: unknown, key: string | number, at: string): unknown {
  if (typeof key === "number") {
    if (!Array.isArray(value))
      throw badInput(`\${${at}[${key}]}: expected a list but found ${kindOf(value)}`);
    if (key < value.length) return value[key];
    throw badInput(`\${${at}[${key}]}: expected an index below ${value.length}, the number of its items`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badInput(`\${${at}.${key}}: expected an object but found ${kindOf(value)}`);
  }
  if (Object.hasOwn(value, key)) return (value as Record<string, unknown>)[key];
  throw badInput(`\${${at}.${key}}: the object has no such field`);
}

/** What a `${…}` names: a variable, and the keys that lead to the part of it. */
interface Reference {
  readonly name: string;
  readonly path: ReadonlyArray<string | number>;
}

/** The name of the secret of the host that it refers to; undefined for a variable. */
export const secretOf = ({ name }: Reference): string | undefined =>
  isSecretScope(name) ? name.slice(SECRET.length) : undefined;

const isTurn = (name: string, path: Reference["path"]) =>
  name === "loop" && path.length === 1 && path[0] === "index";

/**
 * Variables with the values that whoever starts a list gives.
 *
 * @param isShown whether one of them is no secret.
 * @throws a `bad_input` failure where they are too large, or oddly named.
 */
export function variablesOf(
  given: Readonly<Record<string, unknown>>,
  isShown: (name: string) => boolean = () => false,
): Variables {
  if (sizeWithin(given, MAX_FILLED) === undefined) {
    throw badInput(`variables: expected at most ${MAX_FILLED.bytes} bytes and ${MAX_FILLED.depth} levels`);
  }
  const odd = Object.keys(given).find((name) => !VARIABLE_NAME.test(name));
  const variables = new Variables();
  for (const [name, value] of odd === undefined ? Object.entries(given) : [])
    variables.set(name, value, isShown(name));
  if (odd === undefined) return variables;
  throw badInput("variables: expected names of letters, digits and _, not beginning with a digit");
}

/** @param text as {@link REFERENCE_TEXT} has it. */
export function referenceOf(text: string): Reference {
  const [name = ""] = text.match(/^\w+/) ?? [];
  return { name, path: keysOf(text.slice(name.length)) };
}

const keysOf = (path: string): Array<string | number> =>
  [...path.matchAll(/\.([\w-]+)|\[(\d+)\]|\['([^']+)'\]/g)].map(([, field, index, quoted]) =>
    index === undefined ? `${field ?? quoted}` : Number(index),
  );

/** Whether `value` is one `${…}` and nothing else. */
export const isReference = (value: unknown): value is string =>
  typeof value === "string" && value.startsWith("${") && REFERENCE_ALONE.test(value);

/** Expressions are an own module, which is loaded with the first of them: few scripts have any. */
function readExpression(source: string) {
  const { readExpression: read }: typeof import("./expressions") = require("./expressions");
  return read(source);
}

/** The turn of a loop in expressions, which know no `loop`: the word is reserved there. */
const TURN = "turn";

/** What is around a run, and the turn of a loop: no action has to set these. */
export const SURROUNDINGS: readonly string[] = ["run", "host", "now"];

/** The parts of a text. @throws a `bad_input` failure where an expression has no end. */
function parts(text: string): TextPart[] {
  const found = partsOfText(text);
  if (found) return found;
  throw badInput("expected } at the end of the expression that begins with ${=");
}

/** Whether it is in the form of an expression, also one that stands for itself. */
const isExpression = ({ text }: TextPart) => text.startsWith("${=");

/** Whether `value` is one expression and nothing else. */
export const isExpressionAlone = (value: unknown): boolean => {
  const all = typeof value === "string" ? partsOfText(value)?.filter(({ text }) => text !== "") : undefined;
  return all?.length === 1 && all[0]?.expression !== undefined;
};

/** What is wrong with the expressions in `value`, whatever their variables are; undefined where nothing is. */
export function expressionFault(value: unknown): string | undefined {
  return faultIn(() => expressionsIn(value).forEach(readExpression));
}

/** What is wrong with an expression that has to be true or false, whatever its variables are. */
export const conditionFault = (source: string): string | undefined =>
  faultIn(() => {
    const { type } = readExpression(source);
    if (type !== "bool" && type !== "dyn") throw badInput(`the expression: its value is ${type}, not bool`);
  });

function faultIn(read: () => void): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The expressions in `value`. */
export function expressionsIn(value: unknown): string[] {
  if (typeof value === "string") return parts(value).flatMap(({ expression }) => expression ?? []);
  return typeof value === "object" && value !== null ? innerValues(value).flatMap(expressionsIn) : [];
}

/** What an expression refers to, but for the turn of a loop. */
export const namesOfExpression = (source: string): string[] =>
  readExpression(source).names.filter((name) => name !== TURN);

/** What `value` refers to, also in its expressions; `$${name}` refers to nothing. */
export function referencesIn(value: unknown): Reference[] {
  if (typeof value === "string") {
    return parts(value).flatMap((part) => {
      const { text, expression } = part;
      if (isExpression(part) && expression === undefined) return [];
      if (expression !== undefined) return namesOfExpression(expression).map((name) => ({ name, path: [] }));
      return [...text.matchAll(REFERENCE)].flatMap(([, escaped, name = "", path = ""]) =>
        escaped ? [] : { name, path: keysOf(path) },
      );
    });
  }
  return typeof value === "object" && value !== null ? innerValues(value).flatMap(referencesIn) : [];
}

/** The names of the variables that `value` refers to, but for `${loop.index}`, which every loop sets. */
export const namesIn = (value: unknown): string[] =>
  referencesIn(value).flatMap((reference) => {
    const { name, path } = reference;
    return isTurn(name, path) || secretOf(reference) !== undefined ? [] : name;
  });

/** The names of the secrets of the host that `value` refers to. */
export const secretsIn = (value: unknown): string[] =>
  referencesIn(value).flatMap((reference) => secretOf(reference) ?? []);

/** What fills in a list for other hosts: secrets are those of the host that runs it, so their references stay. */
export const forOthers = (variables: Variables): Pick<Variables, "resolve" | "evaluate"> => ({
  resolve: (reference) =>
    secretOf(reference) === undefined ? variables.resolve(reference) : `\${${reference.name}}`,
  evaluate: (source) => variables.evaluate(source),
});

/**
 * `value` with every `${name}` filled in, also within lists and objects, but not in keys.
 *
 * @throws a `bad_input` failure that names an unknown variable, or when the result is over {@link MAX_FILLED}.
 */
export function fillIn(value: unknown, variables: Pick<Variables, "resolve" | "evaluate">): unknown {
  let left = MAX_FILLED.bytes;
  /** Before anything that large is made: hundreds of references to a large variable are a short text. */
  const take = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw tooLarge();
  };
  const measured = (found: unknown) => {
    take(sizeWithin(found, { ...MAX_FILLED, bytes: left }) ?? MAX_FILLED.bytes + 1);
    return found;
  };
  const fillText = (text: string): unknown => {
    const all = parts(text).filter((part) => part.text !== "");
    const [only, ...others] = all;
    if (only?.expression !== undefined && others.length === 0)
      return measured(variables.evaluate(only.expression));
    if (only && others.length === 0 && isExpression(only)) return only.text;
    // Without an expression there is one part, which may be a reference alone.
    if (others.length === 0) return fillReferences(text);
    return all
      .map((part) => {
        if (part.expression !== undefined) return measured(written(variables.evaluate(part.expression)));
        return isExpression(part) ? part.text : written(fillReferences(part.text));
      })
      .join("");
  };
  const fillReferences = (text: string): unknown => {
    let filled = "";
    let from = 0;
    const add = (more: string) => {
      take(more.length);
      filled += more;
    };
    for (const { 0: reference, 1: escaped, 2: name = "", 3: path = "", index } of text.matchAll(REFERENCE)) {
      const found = escaped ? reference.slice(1) : variables.resolve({ name, path: keysOf(path) });
      if (reference === text && !escaped) {
        return measured(found);
      }
      add(text.slice(from, index));
      add(written(found));
      from = index + reference.length;
    }
    add(text.slice(from));
    return filled;
  };
  const fill = (part: unknown): unknown => {
    if (typeof part === "string") return fillText(part);
    if (Array.isArray(part)) return part.map(fill);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, fill(item)]));
  };
  const filled = fill(value);
  if (sizeWithin(filled, MAX_FILLED) === undefined) throw tooLarge();
  return filled;
}

/** `value` as it is within a text. */
export const written = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const tooLarge = () =>
  badInput(
    `variables: expected at most ${MAX_FILLED.bytes} bytes and ${MAX_FILLED.depth} levels, filled in and together`,
  );

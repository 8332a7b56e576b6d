/**
 * Expressions in CEL, the Common Expression Language (https://cel.dev): `order.total > 0 && row.name.matches('^A')`.
 *
 * Promises. An expression reads variables and nothing else; it ends within {@link MAX_STEPS} and soon after {@link MAX_MS}, as the
 * language has no loop but over lists that are there. Patterns are those of RE2, which take time in proportion to the text.
 */
import { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import { RecentMap } from "../../lib/buckets";
import { badInput } from "../../lib/errors";
import { indexIn, lastIndexIn, splitAt } from "../../lib/find-text";
import { sizeWithin } from "../../lib/json-size";
import { repeatsTooMuch } from "../../lib/pattern-repeats";
import { printable } from "../../lib/sanitize";

/** The longest expression, in characters. */
const MAX_EXPRESSION = 2_000;

/** The most steps: values that are computed, and 64 bytes of a value that is looked at. */
const MAX_STEPS = 100_000;
const STEP_BYTES = 64;
/** How long it may take, in milliseconds of the processor: some functions, such as those with a time zone, take as long as many steps. */
const MAX_MS = 30;
/** The longest text that is read as a point in time or a duration, in characters. */
const MAX_TIME = 100;
/** The largest value that an expression looks at: that of all variables. */
const MAX_VALUE = { bytes: 4 * 1024 * 1024, depth: 64 };
/** What each value in a list or an object counts at least, in bytes: of a million empty texts, copying alone takes 100 ms. */
const LEAST_BYTES = 16;
/** Instructions of a pattern times characters that take as long as one step; fewer where it looks for a letter in any case. */
const STEP_MATCHES = 32;
const STEP_FOLDED_MATCHES = 6;
const IN_ANY_CASE = /\(\?[a-zA-Z]*i/;
const MAX_PATTERN = 500;

const LIMITS = {
  maxAstNodes: 300,
  maxDepth: 32,
  maxListElements: 100,
  maxMapEntries: 100,
  maxCallArguments: 8,
};

/** What goes over a list: its first argument names the item. */
const MACROS = new Set(["all", "exists", "exists_one", "map", "filter"]);

/** A node of an expression, as the library has it. */
interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly meta: object;
  evaluate: Evaluate;
}

type Evaluate = (evaluator: Evaluator, node: Node, context: unknown) => unknown;

interface Evaluator {
  run(node: Node, context: unknown): unknown;
  /** As `run`; but an error is an answer: `a || b` is true where `b` is, and lists are gone over to their ends. */
  tryEval(node: Node, context: unknown): unknown;
}

/** Numbers of JSON are doubles, and those in an expression whole: they compute with each other. */
const MIXED = {
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
  "/": (a: number, b: number) => a / b,
  "%": (a: number, b: number) => a % b,
} as const;

let environment: Environment | undefined;

/** The names in expressions that have been read, and are good: a check asks for each twice, and a loop in each turn. */
let known: RecentMap<readonly string[]> | undefined;
const MAX_KNOWN = 2_048;
/** Longer ones are few, and are read again. */
const MAX_KNOWN_LENGTH = 200;

/** What the language has, without any variable: it takes a while to make. */
function theEnvironment(): Environment {
  environment ??= createEnvironment();
  return environment;
}

function createEnvironment(): Environment {
  const made = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
    limits: LIMITS,
  });
  for (const [operator, compute] of Object.entries(MIXED)) {
    const both = (a: number | bigint, b: number | bigint) => compute(Number(a), Number(b));
    for (const types of [
      ["double", "int"],
      ["int", "double"],
      ...(operator === "%" ? [["double", "double"]] : []),
    ])
      made.registerOperator(types.join(` ${operator} `), both);
  }
  // Conversions of the language (https://github.com/google/cel-spec, "string" and "int") that the library leaves out.
  const [time, span] = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
  made.registerFunction(`string(${time}): string`, (at: Date) => at.toISOString());
  made.registerFunction(`int(${time}): int`, (at: Date) => BigInt(Math.floor(at.getTime() / 1_000)));
  made.registerFunction(`string(${span}): string`, (one: object) => `${plain(one, 1)}s`);
  return made;
}

/** An expression that can be computed. */
interface Expression {
  /** The variables that it reads, each once. */
  readonly names: readonly string[];
  /**
   * Its value, as JSON has it; a point in time as ISO 8601, a duration in seconds.
   *
   * @param read the value of each of its variables.
   * @throws a `bad_input` failure where it has none, or takes too long.
   */
  compute(read: (name: string) => unknown): unknown;
}

/** @throws a `bad_input` failure that says what is wrong with `source`, whatever its variables are. */
export function readExpression(source: string): Expression {
  if (source.length > MAX_EXPRESSION)
    throw badInput(`expected an expression of at most ${MAX_EXPRESSION} characters`);
  const parse = () => theEnvironment().parse(source);
  const names = namesOf(source, parse);
  return {
    names,
    compute(read) {
      const context = Object.fromEntries(names.map((name) => [name, read(name)]));
      return inWords(() => {
        const program = parse();
        const { valid: fits, error: why } = program.check();
        if (!fits) throw why;
        count(program.ast as unknown as Node, createBudget());
        return plain(program(context), MAX_VALUE.depth);
      });
    },
  };
}

/** @throws as {@link readExpression}. */
function namesOf(source: string, parse: () => ReturnType<Environment["parse"]>): readonly string[] {
  const before = known?.get(source);
  if (before) return before;
  const parsed = inWords(parse);
  const names = freeNames(parsed.ast as unknown as Node);
  if (names.includes("cel")) throw badInput("the expression: cel.bind is not there");
  const { valid, error } = parsed.check();
  if (!valid) throw fault(error);
  known ??= new RecentMap(MAX_KNOWN);
  if (source.length <= MAX_KNOWN_LENGTH) known.set(source, names);
  return names;
}

function inWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fault(error);
  }
}

/** The library's message has the source on further lines. */
function fault(error: unknown): Error {
  if (error instanceof Bounds) return badInput(error.message);
  const [message = ""] = (error instanceof Error ? error.message : `${error}`).split("\n");
  return badInput(`the expression: ${printable(message, 200)}`);
}

class Bounds extends Error {}

/** Nothing is left of what the expression may take: no part of it has a value any more. */
class Exhausted extends Bounds {}

/** Processor time of this thread, in milliseconds: others may have the processor meanwhile. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** What an expression may take. Both throw an {@link Exhausted} once nothing is left. */
interface Budget {
  take(steps: number): void;
  /** Takes what a value that was computed costs. */
  look(value: unknown): void;
}

function createBudget(): Budget {
  let left = MAX_STEPS;
  const [began, used] = [performance.now(), usedMs()];
  // The clock first: to ask for the processor's takes longer.
  const isLate = () => performance.now() - began > MAX_MS && usedMs() - used > MAX_MS;
  const sizes = new WeakMap<object, number>();
  const take = (steps: number) => {
    left -= steps;
    if (left < 0 || isLate())
      throw new Exhausted("the expression takes too long: it has to be shorter, or its lists");
  };
  const sizeOf = (value: object): number => {
    const known = sizes.get(value);
    if (known !== undefined) return known;
    // What nothing is left for is not gone over to its end.
    const bounds = { ...MAX_VALUE, bytes: left * STEP_BYTES, least: LEAST_BYTES };
    const isJson = Array.isArray(value) || isPlainObject(value);
    const size = isJson ? (sizeWithin(value, bounds) ?? Number.POSITIVE_INFINITY) : 0;
    sizes.set(value, size);
    return size;
  };
  return {
    take,
    look(value: unknown): void {
      const size =
        typeof value === "string" ? value.length : typeof value === "object" && value ? sizeOf(value) : 0;
      take(1 + Math.ceil(size / STEP_BYTES));
    },
  };
}

const isPlainObject = (value: object) => Object.getPrototypeOf(value) === Object.prototype;

/** Has every node of a checked expression counted as it is computed, and patterns matched in bounded time. */
function count(root: Node, budget: Budget): void {
  const seen = new Set<object>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    const isNode = value.constructor === root.constructor;
    if (!isNode && !Array.isArray(value) && !isPlainObject(value)) return;
    seen.add(value);
    for (const inner of Object.values(value)) visit(inner);
    if (!isNode) return;
    const node = value as Node;
    for (const inner of Object.values(node.meta)) visit(inner);
    wrap(node, budget);
  };
  visit(root);
}

function wrap(node: Node, budget: Budget): void {
  // The library replaces it the first time.
  const own = isMatch(node)
    ? matcher(budget)
    : isSearch(node)
      ? searcher(node, budget)
      : isJoin(node)
        ? joiner(budget)
        : undefined;
  let inner: Evaluate = own ?? node.evaluate;
  const isTime = node.op === "call" && Array.isArray(node.args) && TIMES.has(`${node.args[0]}`);
  const counted: Evaluate = (evaluator, one, context) => {
    endWhereExhausted(evaluator);
    if (isTime) requireShort(evaluator, node, context);
    const value = inner.call(node, evaluator, one, context);
    // The accumulator of a loop grows with each turn, of which each counts by itself.
    if (/^accu/.test(node.op)) budget.take(1);
    else budget.look(value);
    return value;
  };
  Object.defineProperty(node, "evaluate", {
    get: () => counted,
    set(next: Evaluate) {
      if (!own) inner = next;
    },
  });
}

/** Has all of an expression end once nothing is left for it: the evaluator, which all of them share, goes on after other errors. */
function endWhereExhausted(evaluator: Evaluator): void {
  if (Object.hasOwn(evaluator, "tryEval")) return;
  const gentle = evaluator.tryEval.bind(evaluator);
  evaluator.tryEval = (node, context) => {
    const value = gentle(node, context);
    if (value instanceof Exhausted) throw value;
    return value;
  };
}

/** What reads a text as a time. */
const TIMES = new Set(["timestamp", "duration"]);

function requireShort(evaluator: Evaluator, node: Node, context: unknown): void {
  const [, args] = node.args as [string, Node[]];
  const text = args[0] && evaluator.run(args[0], context);
  if (typeof text === "string" && text.length > MAX_TIME)
    throw new Bounds(`the expression: expected a time of at most ${MAX_TIME} characters`);
}

const isMatch = ({ op, args }: Node) => op === "rcall" && Array.isArray(args) && args[0] === "matches";

const matcher =
  (budget: Budget): Evaluate =>
  (evaluator, node, context) => {
    const [, receiver, [pattern]] = node.args as [string, Node, Node[]];
    const text = evaluator.run(receiver, context);
    const wanted = pattern && evaluator.run(pattern, context);
    if (typeof text !== "string" || typeof wanted !== "string")
      throw new Bounds("the expression: matches expects two texts");
    return matchesIn(text, wanted, budget.take);
  };

/** What looks for a text in another one, as the library has it but in a time that grows with both. */
const SEARCHES = {
  contains: (text: string, part: string) => indexIn(text, part) >= 0,
  indexOf: (text: string, part: string, from?: number) => BigInt(indexIn(text, part, from)),
  lastIndexOf: (text: string, part: string, from?: number) => BigInt(lastIndexIn(text, part, from)),
  split(text: string, part: string, most = -1): string[] {
    const parts = splitAt(text, part);
    if (most < 0 || parts.length <= most) return parts;
    return most === 0 ? [] : [...parts.slice(0, most - 1), parts.slice(most - 1).join(part)];
  },
} as const;

const searchOf = ({ op, args }: Node) => {
  const name = op === "rcall" && Array.isArray(args) ? `${args[0]}` : "";
  return Object.hasOwn(SEARCHES, name) ? SEARCHES[name as keyof typeof SEARCHES] : undefined;
};

const isSearch = (node: Node) => searchOf(node) !== undefined;

/** @throws a {@link Bounds} for other values than a text, a text that is in it, and a whole number. */
const searcher =
  (node: Node, { take }: Budget): Evaluate =>
  (evaluator, _node, context) => {
    const [name, receiver, rest] = node.args as [string, Node, Node[]];
    const [text, part, number] = [receiver, ...rest].map((one) => evaluator.run(one, context));
    const isNumber = number === undefined || typeof number === "bigint" || Number.isSafeInteger(number);
    if (typeof text !== "string" || typeof part !== "string" || !isNumber)
      throw new Bounds(`the expression: ${name} expects two texts`);
    const from = number === undefined ? undefined : Number(number);
    const isPlace = name !== "split" && from !== undefined;
    if (isPlace && part === "") return BigInt(from);
    if (isPlace && (from < 0 || from >= text.length))
      throw new Bounds(`the expression: ${name} expects a place in the text`);
    // A million texts take far longer to make than to count.
    if (name === "split") takeParts(text, part, take);
    return searchOf(node)?.(text, part, from);
  };

/** Takes a step for each text that splitting makes. */
function takeParts(text: string, part: string, take: Budget["take"]): void {
  if (part === "") take(text.length);
  else for (let at = indexIn(text, part); at >= 0; at = indexIn(text, part, at + part.length)) take(1);
}

const isJoin = ({ op, args }: Node) => op === "rcall" && Array.isArray(args) && args[0] === "join";

/** Joins texts as the library does, once it is known how long it gets: a list and a text of a request can make some gigabytes. */
const joiner =
  ({ take }: Budget): Evaluate =>
  (evaluator, node, context) => {
    const [, receiver, [between]] = node.args as [string, Node, Node[]];
    const texts = evaluator.run(receiver, context);
    const part = between ? evaluator.run(between, context) : "";
    const isText = (one: unknown) => typeof one === "string";
    if (!Array.isArray(texts) || !isText(part) || !texts.every(isText))
      throw new Bounds("the expression: join expects a list of texts, and a text");
    const length = texts.reduce((sum, text) => sum + text.length + part.length, 0);
    take(Math.ceil(length / STEP_BYTES));
    return texts.join(part);
  };

/** @param take is called with what it takes, in steps. */
function matchesIn(text: string, pattern: string, take: (steps: number) => void): boolean {
  if (pattern.length > MAX_PATTERN)
    throw new Bounds(`the expression: expected a pattern of at most ${MAX_PATTERN} characters`);
  if (repeatsTooMuch(pattern))
    throw new Bounds("the expression: matches expects a pattern that repeats less");
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch {
    throw new Bounds("the expression: matches expects a pattern as RE2 has them");
  }
  const instructions = compiled.programSize();
  const most = IN_ANY_CASE.test(pattern) ? STEP_FOLDED_MATCHES : STEP_MATCHES;
  take(instructions + Math.ceil((text.length * instructions) / most));
  return compiled.matcher(text).find();
}

/** The variables that a node reads, but for the items of lists that it goes over. */
function freeNames(root: Node): string[] {
  const names = new Set<string>();
  const visit = (value: unknown, bound: ReadonlySet<string>): void => {
    if (Array.isArray(value)) for (const inner of value) visit(inner, bound);
    if (typeof value !== "object" || value === null || value.constructor !== root.constructor) return;
    const { op, args } = value as Node;
    if (op === "id" && !bound.has(`${args}`)) names.add(`${args}`);
    if (op !== "rcall" || !MACROS.has(`${(args as unknown[])[0]}`)) {
      visit(args, bound);
      return;
    }
    const [, receiver, [item, ...others]] = args as [string, Node, Node[]];
    visit(receiver, bound);
    visit(others, new Set([...bound, `${item?.args}`]));
  };
  visit(root, new Set());
  return [...names];
}

/** A value as JSON has it. */
function plain(value: unknown, depth: number): unknown {
  if (depth === 0) throw new Bounds("the expression: its value is too deep");
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plain(item, depth - 1));
  if (typeof value === "object" && value !== null && isPlainObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, depth - 1)]));
  if (typeof value === "object" && value !== null && "nanos" in value && "seconds" in value)
    return Number(value.seconds) + Number(value.nanos) / 1e9;
  throw new Bounds("the expression: its value is none that JSON has");
}

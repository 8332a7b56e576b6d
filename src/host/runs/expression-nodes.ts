/**
 * The nodes of a read expression: each is counted as it is computed, and what takes longer in the library than its texts are long is
 * done here.
 */
import { RE2JS } from "re2js";
import { indexIn, lastIndexIn, splitAt } from "../../lib/find-text";
import { repeatsTooMuch } from "../../lib/pattern-repeats";
import { Bounds, type Budget, BudgetSpent, isPlainObject, STEP_BYTES } from "./expression-budget";

/** The longest text that is read as a point in time or a duration, in characters. */
const MAX_TIME = 100;

/** Instructions of a pattern times characters that take as long as one step; fewer where it looks for a letter in any case. */
const STEP_MATCHES = 32;
const STEP_FOLDED_MATCHES = 6;
const IN_ANY_CASE = /\(\?[a-zA-Z]*i/;
const MAX_PATTERN = 500;

/** A node of an expression, as the library has it. */
export interface Node {
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

/** Has every node of a checked expression counted as it is computed, and patterns matched in bounded time. */
export function count(root: Node, budget: Budget): void {
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
    if (value instanceof BudgetSpent) throw value;
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

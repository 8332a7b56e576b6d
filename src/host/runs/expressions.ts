/**
 * Expressions in CEL, the Common Expression Language (https://cel.dev): `order.total > 0 && row.name.matches('^A')`.
 *
 * Promises. An expression reads variables and nothing else; it ends within so many steps and milliseconds (`expression-budget.ts`),
 * as the language has no loop but over lists that are there. Patterns are those of RE2, which take time in proportion to the text.
 */
import { Environment } from "@marcbachmann/cel-js";
import { RecentMap } from "../../lib/buckets";
import { badInput } from "../../lib/errors";
import { lazily } from "../../lib/once";
import { printable } from "../../lib/sanitize";
import { Bounds, createBudget, isPlainObject, MAX_VALUE } from "./expression-budget";
import { count, type Node } from "./expression-nodes";

/** The longest expression, in characters. */
const MAX_EXPRESSION = 2_000;

const LIMITS = {
  maxAstNodes: 300,
  maxDepth: 32,
  maxListElements: 100,
  maxMapEntries: 100,
  maxCallArguments: 8,
};

/** What goes over a list: its first argument names the item. */
const MACROS = new Set(["all", "exists", "exists_one", "map", "filter"]);

/** Numbers of JSON are doubles, and those in an expression whole: they compute with each other. */
const MIXED = {
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
  "/": (a: number, b: number) => a / b,
  "%": (a: number, b: number) => a % b,
} as const;

/** What is known of an expression whatever its variables are. */
interface ExpressionFacts {
  /** The variables that it reads, each once. */
  readonly names: readonly string[];
  /** The type of its value, as CEL calls it: `bool`, `int`, `list<int>`; `dyn` where only its variables tell. */
  readonly type: string;
}

/** Expressions that have been read, and are good: a check asks for each twice, and a loop in each turn. */
let known: RecentMap<ExpressionFacts> | undefined;
const MAX_KNOWN = 2_048;
/** Longer ones are few, and are read again. */
const MAX_KNOWN_LENGTH = 200;

/** What the language has, without any variable: it takes a while to make. */
const theEnvironment = lazily(createEnvironment);

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
interface Expression extends ExpressionFacts {
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
  const { names, type } = knownOf(source, parse);
  return {
    names,
    type,
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
function knownOf(source: string, parse: () => ReturnType<Environment["parse"]>): ExpressionFacts {
  const before = known?.get(source);
  if (before) return before;
  const parsed = inWords(parse);
  const names = freeNames(parsed.ast as unknown as Node);
  if (names.includes("cel")) throw badInput("the expression: cel.bind is not there");
  const { valid, error, type = "dyn" } = parsed.check();
  if (!valid) throw fault(error);
  const found = { names, type };
  known ??= new RecentMap(MAX_KNOWN);
  if (source.length <= MAX_KNOWN_LENGTH) known.set(source, found);
  return found;
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

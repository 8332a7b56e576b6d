/**
 * What a keyword of Robot Framework is, and how its arguments become the input of an operation.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import {
  alternativesOf,
  baseOf,
  choicesOf,
  defaultOf,
  isOptional,
  isSwitch,
  metadataOf,
  requirementOf,
} from "../../core/schema";
import { fromTexts, holdsJson, jsonOrText } from "../../core/text";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";

/** A parameter of a keyword. */
export interface Parameter {
  /** As Robot names it. */
  readonly name: string;
  /** `rest`: all positional arguments that are left. `others`: all named ones that are left. */
  readonly kind: "positional" | "rest" | "named" | "others";
  readonly description: string;
  /** What it may be; absent for a text of any kind. */
  readonly schema?: v.GenericSchema;
  /** As the signature shows it; undefined where it must be given. */
  readonly default?: string;
}

/** What the arguments were, by the names of parameters; those of `rest` and `others` under the names of these. */
export type KeywordInput = Readonly<Record<string, unknown>>;

/** What a keyword does its work with. */
export interface Hands {
  readonly caller: Caller;
  /** Does an action as the only one of a run. @returns what a script gets of it. @throws why it failed. */
  action(command: string, input: KeywordInput): Promise<unknown>;
  /** Calls an operation. @throws why it failed. */
  call(name: string, input: KeywordInput): Promise<unknown>;
  /** Shows a picture of the screen in Robot's log. @throws why there is none. */
  showScreen(): Promise<void>;
}

/** A keyword. */
export interface Keyword {
  readonly name: string;
  /** What it does: a sentence without a full stop. */
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  /** @returns what the test gets. @throws why it failed. */
  run(hands: Hands, given: KeywordInput): Promise<unknown>;
}

/** The parameter that is the field `name` of an operation. @param isNamed whether it is given by its name alone. */
export function parameterOf(
  { input }: Pick<Operation, "input">,
  name: string,
  isNamed: boolean,
  isNeeded = false,
): Parameter {
  const schema = input.entries[name] as v.GenericSchema;
  const usual = defaultOf(schema);
  const shown = usual === undefined ? "" : typeof usual === "object" ? JSON.stringify(usual) : `${usual}`;
  return {
    name,
    kind: isNamed ? "named" : "positional",
    description: v.getDescription(schema) ?? "",
    schema,
    ...(isOptional(schema) && !isNeeded && { default: shown }),
  };
}

/** The type that Robot converts an argument to before it sends it, in Python's words; undefined for none. */
export function typeOf(schema: v.GenericSchema): string | undefined {
  const base = baseOf(schema);
  const { text } = metadataOf(schema);
  const words = choicesOf(schema);
  const alternatives = alternativesOf(base);
  if (isSwitch(schema)) return alternatives.length > 0 ? "bool | str" : "bool";
  if (words && base.type === "picklist")
    return `Literal[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
  if (text === "duration" || text === "size") return "float | str";
  if (base.type === "number") return isWhole(schema) ? "int" : "float";
  if (base.type === "string") return "str";
  if (base.type === "array" || /tuple/.test(base.type)) return "list";
  if (/object|record/.test(base.type)) return "dict";
  return undefined;
}

const isWhole = (schema: v.GenericSchema): boolean =>
  requirementOf(schema, "integer") !== undefined || hasInteger(schema);

/** Whether a pipe of it, also of what it wraps, takes whole numbers alone. */
function hasInteger(schema: v.GenericSchema): boolean {
  if ("wrapped" in schema && hasInteger(schema.wrapped as v.GenericSchema)) return true;
  if (!("pipe" in schema)) return false;
  const [inner, ...actions] = schema.pipe as Array<v.GenericSchema | { readonly type: string }>;
  if (actions.some(({ type }) => type === "integer")) return true;
  return inner !== undefined && "pipe" in inner && hasInteger(inner as v.GenericSchema);
}

/** Arguments as Robot wants to know them: `element`, `timeout=5`, `*keys`, `**variables`. */
export function signatureOf(parameters: readonly Parameter[]): string[] {
  const first = parameters.findIndex(({ kind }) => kind === "named");
  const hasRest = parameters.some(({ kind }) => kind === "rest");
  return parameters.flatMap((one, at) => {
    const { name, kind, default: usual } = one;
    if (kind === "rest") return [`*${name}`];
    if (kind === "others") return [`**${name}`];
    const shown = usual === undefined ? name : `${name}=${usual}`;
    return at === first && !hasRest ? ["*", shown] : [shown];
  });
}

/**
 * The arguments of a call by the names of parameters, each as its schema has it: an empty text, which Robot sends for `None`, leaves
 * out what is no text.
 *
 * @throws a `bad_input` failure for too many, unknown or missing ones.
 */
export function givenOf(
  parameters: readonly Parameter[],
  args: readonly unknown[],
  named: Readonly<Record<string, unknown>>,
): KeywordInput {
  const places = parameters.filter(({ kind }) => kind === "positional");
  const rest = parameters.find(({ kind }) => kind === "rest");
  const others = parameters.find(({ kind }) => kind === "others");
  if (args.length > places.length && !rest)
    throw badInput(`expected at most ${places.length} arguments, but found ${args.length}`);
  const given = new Map<string, unknown>();
  for (const [at, place] of places.entries()) if (at < args.length) given.set(place.name, args[at]);
  const left: Array<[string, unknown]> = [];
  for (const [name, value] of Object.entries(named)) {
    const isKnown = parameters.some((one) => one.name === name && one !== rest && one !== others);
    if (!isKnown && !others) throw badInput(`there is no argument ${printable(name, 80)}`);
    if (given.has(name)) throw badInput(`${name}: given more than once`);
    if (isKnown) given.set(name, value);
    else left.push([name, value]);
  }
  const missing = parameters.find(
    ({ name, kind, default: usual }) =>
      (kind === "positional" || kind === "named") && usual === undefined && !given.has(name),
  );
  if (missing) throw badInput(`${missing.name}: expected, but not given`);
  const values = parameters.flatMap(({ name, schema }): Array<[string, unknown]> => {
    if (!given.has(name)) return [];
    const value = schema ? valueFrom(name, schema, given.get(name)) : given.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(values),
    ...(rest && { [rest.name]: args.slice(places.length) }),
    ...(others && { [others.name]: Object.fromEntries(left) }),
  };
}

/** A value of a field. Robot before 4.0 converts nothing: then all are texts. */
function valueFrom(name: string, schema: v.GenericSchema, value: unknown): unknown {
  if (typeof value !== "string") return value;
  const { type } = baseOf(schema);
  if (value === "" && isOptional(schema) && type !== "string") return undefined;
  if (type === "string" || type === "picklist") return value;
  return holdsJson(schema) ? jsonOrText(value) : fromTexts(name, schema, [value]);
}

/**
 * The flags and positionals of a subcommand, from a schema: names, help, choices and defaults; and back, what was typed
 * as the fields of an input.
 */
import * as v from "valibot";
import { checkInput, type Offence, sentence } from "../core/input";
import type { InputSchema } from "../core/operation";
import { baseOf, choicesOf, defaultOf, isOptional, isSwitch, metadataOf } from "../core/schema";
import { fromTexts, holdsJson } from "../core/text";
import { badInput } from "../lib/errors";
import { readTextFile } from "../lib/files";
import { jsonOr } from "../lib/json-in";
import { resolvePath } from "../lib/paths";
import { printable } from "../lib/sanitize";
import { readSecret } from "../lib/secret";
import { limitAsTyped, typedDuration } from "../lib/units";

/** The command line could not be understood. Exit code 2. */
export class UsageError extends Error {}

/** A flag or a positional. */
export interface Flag {
  /** `event-type` of `--event-type`; of a positional, what usage lines call it. */
  readonly name: string;
  readonly field: string;
  readonly schema: v.GenericSchema;
  /** `list` takes several values: `--tag a --tag b`, or `--tag a,b`. `boolean` takes none, or `=` and one of its choices. */
  readonly kind: "boolean" | "value" | "list";
  readonly describe: string;
  readonly choices: readonly string[] | undefined;
  readonly required: boolean;
  readonly default: string | undefined;
  /** A secret: the flag takes the path of a file that holds it, or the secret itself (`inline`). */
  readonly secret: false | "file" | "inline";
  /** Given without a dash, by its place. */
  readonly positional?: true;
}

/** What was typed, by flag: true or false, or texts. */
export type TypedFlags = Readonly<Record<string, boolean | readonly string[] | undefined>>;

export interface FlagOptions {
  /** Names of flags that are not those of their fields, by field: `{ source_type: "source" }`. */
  readonly names?: Readonly<Record<string, string>> | undefined;
  /** Environment variables that may hold a secret, by field. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Secrets that may be typed, by field: every user of the machine can then read them. */
  readonly inlineSecrets?: readonly string[] | undefined;
  /** Secrets to ask for on a terminal even where they may be left out, by field. */
  readonly prompts?: readonly string[] | undefined;
}

/** `poll-interval` of `poll_interval_s`: units stand in the help. */
const flagName = (field: string) => field.replace(/_(s|seconds)$/, "").replaceAll("_", "-");

/** The flags of `schema`, in the order of its fields. */
export function flagsOf(schema: InputSchema, { names = {}, inlineSecrets = [] }: FlagOptions = {}): Flag[] {
  const flags = Object.entries(schema.entries).map(([field, entry]): Flag => {
    const type = baseOf(entry).type;
    const isSecret = metadataOf(entry).secret === true && type === "string";
    const secret = isSecret && (inlineSecrets.includes(field) ? "inline" : "file");
    const isList = type === "array" && !holdsJson(entry);
    const preset = defaultOf(entry);
    return {
      name: names[field] ?? (secret === "file" ? `${flagName(field)}-file` : flagName(field)),
      field,
      schema: entry,
      kind: isSwitch(entry) ? "boolean" : isList ? "list" : "value",
      describe: describeFlag(entry, secret),
      choices: choicesOf(entry),
      required: !isOptional(entry) && !secret,
      default:
        preset === undefined || preset === null || preset === false ? undefined : textOf(preset, entry),
      secret,
    };
  });
  // A description may name another field: `retry`.
  const named = (text: string) =>
    text.replace(/`([a-z][a-z0-9_]*)`/g, (quoted, field) => {
      const flag = flags.find((one) => one.field === field);
      return flag ? `--${flag.name}` : quoted;
    });
  return flags.map((flag) => ({ ...flag, describe: named(flag.describe) }));
}

function describeFlag(entry: v.GenericSchema, secret: Flag["secret"]): string {
  const description = v.getDescription(entry) ?? "";
  if (secret === "file") return `${description}; takes a file, or - for stdin`;
  if (secret === "inline")
    return `${description}; - reads it from stdin, because other users can see a command line`;
  if (holdsJson(entry)) return `${description} (JSON, a .json file, or - for stdin)`;
  const { text } = metadataOf(entry);
  return text === "file" ? `${description}; takes a file, or - for stdin` : description;
}

/** A default as somebody would type it. */
function textOf(value: unknown, entry: v.GenericSchema): string | undefined {
  if (Array.isArray(value)) return value.join(",") || undefined;
  if (typeof value === "number" && metadataOf(entry).text === "duration") return typedDuration(value);
  return `${typeof value === "object" ? "" : value}`;
}

/**
 * The input that was typed, checked.
 *
 * @returns the fields that were given; defaults are not filled in.
 * @throws a `bad_input` failure that names each flag or positional at fault.
 */
export async function inputOf<I extends InputSchema>(
  schema: I,
  flags: readonly Flag[],
  typed: TypedFlags,
  options: FlagOptions = {},
): Promise<v.InferInput<I>> {
  const input: Record<string, unknown> = {};
  for (const flag of flags) {
    const value = await typedValue(flag, typed[flag.name], options);
    if (value !== undefined) input[flag.field] = value;
  }
  const checked = checkInput(schema, input);
  if (!checked.ok) throw badInput(sentence(asTyped(checked.offences, flags, typed)));
  // It has passed the check of that very schema.
  return input as v.InferInput<I>;
}

async function typedValue(flag: Flag, given: TypedFlags[string], options: FlagOptions): Promise<unknown> {
  if (typeof given === "boolean") return given;
  if (flag.secret) return secretOf(flag, given?.[0], options);
  if (given === undefined) return undefined;
  const [first = ""] = given;
  const { text } = metadataOf(flag.schema);
  if (text === "file") return readTextFile(first, typedName(flag));
  // An empty path stays one, `-` means stdout, and `script:nightly` a stored script.
  if (text === "path") return /^$|^-$|^script:/.test(first) ? first : resolvePath(first, flag.field);
  if (holdsJson(flag.schema)) return jsonOf(flag, first);
  const isParted = flag.kind === "list" && !flag.positional && text !== "assignment";
  const words = isParted ? given.flatMap((one) => one.split(",")) : given;
  return fromTexts(typedName(flag), flag.schema, words);
}

/**
 * A secret as typed, or from its file or variable. Without these, a required one comes from stdin or a prompt; one that
 * can be typed comes from stdin only where `-` says so.
 */
async function secretOf(
  flag: Flag,
  given: string | undefined,
  { variables = {}, prompts = [] }: FlagOptions,
): Promise<string | undefined> {
  if (flag.secret === "inline" && given !== undefined && given !== "-") return given;
  const variable = variables[flag.field] ?? "";
  const isFound = given !== undefined || Boolean(process.env[variable]);
  if (!isFound && isOptional(flag.schema) && !prompts.includes(flag.field)) return undefined;
  return readSecret({
    name: flag.field.replaceAll("_", " "),
    file: isFound || process.stdin.isTTY || flag.secret === "inline" ? given : "-",
    flag: `--${flag.name}`,
    variable,
  });
}

function jsonOf(flag: Flag, given: string): unknown {
  const isInline = /^\s*[[{"]/.test(given);
  const text = isInline ? given : readTextFile(given, typedName(flag));
  return jsonOr(text, () =>
    badInput(`${typedName(flag)}: expected JSON${isInline ? "" : ` in ${printable(given, 200)}`}`),
  );
}

/** What a flag takes in place of a plain number, for messages. */
const FORMS: ReadonlyMap<string, string> = new Map([
  ["duration", "a duration such as 90s or 15m"],
  ["size", "a size such as 512MB"],
]);

/** What a time may be on the command line, which the check of a field does not know. */
export const TIMES =
  "a time in ISO 8601 (2026-04-27T10:30:00Z), or such as 2h ago, 02:13, today or yesterday";

/** Offences named as they were typed: `--limit` for the field `limit`. */
export function asTyped(
  offences: readonly Offence[],
  flags: readonly Flag[],
  typed: TypedFlags = {},
): Offence[] {
  return offences.map((offence) => {
    const [, top = "", rest = ""] = /^([^.[]*)(.*)$/s.exec(offence.field) ?? [];
    const flag = flags.find(({ field }) => field === top);
    if (!flag) return offence;
    const form = FORMS.get(metadataOf(flag.schema).text ?? "") ?? "a number";
    const given = typed[flag.name];
    const text = Array.isArray(given) && given.length === 1 ? `${given[0]}` : "";
    const message = offence.message
      .replace(/^expected a number(?=( or never)? but found ")/, `expected ${form}`)
      .replace(/^expected a time in ISO 8601( \([^)]*\))?/, (all) =>
        metadataOf(flag.schema).text === "time" ? `expected ${TIMES}` : all,
      )
      .replace(/^expected (at least|at most) ([\d.]+) but found [\d.]+$/, (all, bound, limit) => {
        const inUnit = limitAsTyped(Number(limit), text);
        return inUnit === undefined ? all : `expected ${bound} ${inUnit} but found ${printable(text, 80)}`;
      });
    // Nobody counts what was typed from zero; the message quotes it.
    const place = flag.kind === "list" ? rest.replace(/^\[\d+\]/, "") : rest;
    return { field: `${typedName(flag)}${place}`, message };
  });
}

/** A message whose sentences (`…; …`) begin with the names of fields, with those of their flags instead. */
export const messageAsTyped = (message: string, flags: readonly Flag[]): string =>
  message
    .split("; ")
    .map((one) => sentenceAsTyped(one, flags))
    .join("; ");

function sentenceAsTyped(message: string, flags: readonly Flag[]): string {
  const [fields = ""] = /^[a-z][a-z0-9_]*(, [a-z][a-z0-9_]*)*(?=[:.[])/.exec(message) ?? [];
  const typed = fields.split(", ").flatMap((name) => flags.find(({ field }) => field === name) ?? []);
  if (typed.length === 0 || typed.length < fields.split(", ").length) return message;
  return `${typed.map(typedName).join(", ")}${message.slice(fields.length)}`;
}

const typedName = ({ name, positional }: Flag) => (positional ? name : `--${name}`);

/** The long names of what can be typed as one letter: help, and the flags that are typed most. */
const SHORT: Readonly<Record<string, string>> = {
  h: "help",
  H: "on",
  j: "json",
  n: "limit",
  o: "output",
  f: "follow",
};

/** The letter of a flag; undefined where it has none. */
export const letterOf = (name: string): string | undefined =>
  Object.keys(SHORT).find((letter) => SHORT[letter] === name);

/**
 * `args` with `--limit=20` for `-n 20` and `-n20`. A letter whose flag is not among `flags` stays as it is.
 *
 * @param flags all that the subcommand takes, besides `--help`.
 */
export function withLongNames(args: readonly string[], flags: readonly Flag[]): string[] {
  const own = ownWords(args).length;
  return args.map((word, at) => {
    const [, letter = "", value = ""] = /^-([A-Za-z])(.*)$/s.exec(word) ?? [];
    const long = Object.hasOwn(SHORT, letter) ? SHORT[letter] : undefined;
    if (long === undefined || at >= own) return word;
    const flag = flags.find(({ name }) => name === long);
    if (long !== "help" && !flag) return word;
    if (value === "") return `--${long}`;
    return flag && flag.kind !== "boolean" ? `--${long}=${value.replace(/^=/, "")}` : word;
  });
}

/** The folder of all that svc keeps; and the desk elsewhere that answers. */
export const CONFIG_DIR = "--config-dir";
export const DESK = "--desk";

/** The flags of every subcommand that take a value. */
export const VALUED: readonly (string | undefined)[] = [CONFIG_DIR, DESK];

/** The words before a `--`. */
export const ownWords = (args: readonly string[]) =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args;

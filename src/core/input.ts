/**
 * The input check of every surface: the offences of a value against a schema, in sentences that name the field.
 */
import * as v from "valibot";
import { badInput } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { meant } from "../lib/nearest";
import { printable } from "../lib/sanitize";
import type { InputSchema } from "./operation";
import { countExcess, entryOf, listForObject, metadataOf } from "./schema";

/** One offence: the field it is in (`actions[2].x`; empty for the value itself) and a sentence. */
export interface Offence {
  readonly field: string;
  readonly message: string;
  /** The keys that lead to it. */
  readonly path?: ReadonlyArray<string | number>;
}

/** The checked and defaulted input, or what is wrong with it. */
type CheckResult<I extends InputSchema = InputSchema> =
  | { ok: true; input: v.InferOutput<I> }
  | { ok: false; offences: Offence[] };

/** Offences that a message names. */
const MAX_WORDS = 10;

/** The most unknown fields of one object that are named; there can be as many as fit into a body. */
const MAX_UNKNOWN = MAX_WORDS - 1;

/** The longest name of an unknown field that is shown, in characters. */
const MAX_NAME = 40;

/** Of a larger input a message names one offence: there can be as many as it has values. */
const CHECKED_WHOLE = { bytes: 100_000, depth: 1_000 };

/**
 * Checks `value` against `schema`. Never throws; a secret value is never part of a message.
 *
 * @param options.quote whether messages may quote what they found (default true).
 * @param options.hint whether unknown fields are compared with those that there are (default true).
 */
export function checkInput<I extends InputSchema>(
  schema: I,
  value: unknown,
  { quote = true, hint = true }: { readonly quote?: boolean; readonly hint?: boolean } = {},
): CheckResult<I> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, offences: [{ field: "", message: `expected an object but found ${kindOf(value)}` }] };
  }
  // valibot names the first unknown field only.
  const isKnown = (name: string) => Object.hasOwn(schema.entries, name);
  const names = Object.keys(value);
  const unknown = names.filter((name) => !isKnown(name));
  const known = unknown.length
    ? Object.fromEntries(Object.entries(value).filter(([name]) => isKnown(name)))
    : value;
  // Before the parts of what may be very long are looked at.
  const list = listForObject(schema, known);
  if (list) return one("expected an object but found an array", list);
  const excess = countExcess(schema, known);
  if (excess) {
    const { most, unit, count, path } = excess;
    return one(`expected at most ${most} ${unit} but found ${count}`, path);
  }
  const first = v.safeParse(schema, known, { abortEarly: true });
  if (first.success && unknown.length === 0) return { ok: true, input: first.output };
  const all = !first.success && sizeWithin(known, CHECKED_WHOLE) !== undefined;
  const parsed = all ? v.safeParse(schema, known) : first;
  const offences = (parsed.issues ?? []).map((issue) => describe(schema, issue, quote));
  return {
    ok: false,
    offences: [...offences, ...unknownFields(unknown, hint ? Object.keys(schema.entries) : [])],
  };
}

const one = (message: string, path: ReadonlyArray<string | number>) => ({
  ok: false as const,
  offences: [{ field: printable(pathText(path), 200), message, path }],
});

function unknownFields(names: readonly string[], known: readonly string[]): Offence[] {
  const named = names.slice(0, MAX_UNKNOWN).map((name): Offence => {
    // Longer than any field: somebody has put a value in the place of a name, which may be a secret.
    if (name.length > MAX_NAME) {
      return { field: "", message: `unknown field, with a name of ${name.length} characters`, path: [] };
    }
    return { field: printable(name, 200), message: `unknown field${meant(name, known)}`, path: [name] };
  });
  const more = names.length - named.length;
  return more > 0 ? [...named, { field: "", message: `and ${more} more unknown fields` }] : named;
}

/**
 * Checks `value` against `schema`.
 *
 * @throws a `bad_input` failure that names every field at fault.
 */
export function parseInput<I extends InputSchema>(schema: I, value: unknown): v.InferOutput<I> {
  const checked = checkInput(schema, value);
  if (checked.ok) return checked.input;
  throw badInput(sentence(checked.offences), { fields: checked.offences.map((offence) => offence.field) });
}

/** All offences as one line; the first {@link MAX_WORDS} in words, the rest counted. */
export function sentence(offences: readonly Offence[]): string {
  const words = sentences(offences.slice(0, MAX_WORDS));
  if (offences.length > MAX_WORDS) words.push(`and ${offences.length - MAX_WORDS} more`);
  return words.join("; ");
}

/** Each offence in words. */
export const sentences = (offences: readonly Offence[]): string[] =>
  offences.map(({ field, message }) => (field ? `${field}: ${message}` : message));

function describe(schema: InputSchema, whole: v.BaseIssue<unknown>, quote: boolean): Offence {
  const issue = insideBranch(whole);
  const path = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
  return { field: printable(pathText(path), 200), message: offenceText(schema, issue, path, quote), path };
}

/**
 * What is wrong inside the one branch of a union that the value has the form of: `command[2]`, where `command` is a text or a list of
 * them. The issue itself where that is none of them, or several.
 */
function insideBranch(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown> {
  const inside = issue.type === "union" ? (issue.issues ?? []).filter(({ path }) => path !== undefined) : [];
  const [only] = inside;
  const keys = new Set(inside.map(({ path }) => path?.[0].key));
  const isOneBranch = keys.size === 1 || [...keys].every((key) => typeof key === "number");
  if (!only?.path || !isOneBranch) return issue;
  const deeper = { ...only, path: [...(issue.path ?? []), ...only.path] as typeof only.path };
  return insideBranch(deeper);
}

function offenceText(
  schema: InputSchema,
  issue: v.BaseIssue<unknown>,
  path: ReadonlyArray<string | number>,
  quote: boolean,
): string {
  const [top] = path;
  const entry = typeof top === "string" ? entryOf(schema, top) : undefined;
  if (issue.received === "undefined") {
    if (path.length === 2 && entry && metadataOf(entry).place === "region")
      return "missing: expected four numbers: x1, y1, x2, y2";
    // For a missing field, valibot gives the name only.
    const wanted = path.length === 1 && entry ? entry.expects : expectation(issue);
    return `missing: expected ${wanted === "unknown" ? "any value" : choiceText(wanted)}`;
  }
  if (issue.type === "non_empty") return "must not be empty";
  if (issue.expected === "never") return "unknown field";
  const silent = !quote || issue.type === "includes" || (entry && metadataOf(entry).secret);
  const found = silent ? "" : ` but found ${printable(shown(issue), 80)}`;
  return `expected ${expectation(issue)}${found}${silent ? "" : meantChoice(issue)}`;
}

/** The nearest of the texts to choose from, which valibot lists in quotes: `("a" | "b")`. */
function meantChoice({ type, expected, input }: v.BaseIssue<unknown>): string {
  if (!/^(picklist|raw_check)$/.test(type) || typeof input !== "string") return "";
  const choices = [...(expected ?? "").matchAll(/"([^"]+)"/g)].map(([, choice = ""]) => choice);
  return meant(input, choices);
}

/** Words for what valibot names in its own terms. */
const EXPECTED: ReadonlyMap<string, string> = new Map([
  ["integer", "a whole number"],
  ["safe_integer", "a whole number"],
  ["finite", "a finite number"],
  ["iso_timestamp", "a time in ISO 8601"],
]);

/** The expectation that `issue` breaks, in words. */
export function expectation({ type, expected, message, input }: v.BaseIssue<unknown>): string {
  // A check without an expectation of its own says what it wants in its message.
  if (/^(regex|includes|check|raw_check)$/.test(type)) return message;
  // So does a choice of kinds that was given words: else valibot says what it is not.
  if (type === "union" && !message.startsWith("Invalid type:")) return message;
  const bound = boundText(expected ?? "");
  if (type.endsWith("_length")) {
    const what = typeof input === "string" ? "character" : "item";
    return `${bound} ${what}${/\b1$/.test(bound) ? "" : "s"}`;
  }
  if (bound !== expected && expected !== null) return bound;
  return EXPECTED.get(type) ?? (expected === null ? message : choiceText(expected));
}

/** `>=60`, as valibot has it, in words. */
const boundText = (expected: string) => expected.replace(/^>=/, "at least ").replace(/^<=/, "at most ");

/** Words for the types that valibot names. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["boolean", "true or false"],
  ["number", "a number"],
  ["string", "a text"],
  ["Array", "a list"],
  ["Object", "an object"],
]);

/** `("a" | "b" | "c")`, as valibot has it, as a person writes it: `a, b or c`. */
function choiceText(expected: string): string {
  if (!expected.includes(" | ")) return TYPES.get(expected) ?? expected;
  const parts = expected.replace(/^\((.*)\)$/s, "$1").split(" | ");
  const words = parts.flatMap((part) => (TYPES.get(part) ?? part.replace(/^"(.*)"$/s, "$1")).split(" or "));
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function shown(issue: v.BaseIssue<unknown>): string {
  // The kind is right, and a check of several values says nothing without them.
  if (issue.type === "check" && Array.isArray(issue.input)) return JSON.stringify(issue.input);
  return issue.received === "Array" || issue.received === "Object" ? kindOf(issue.input) : issue.received;
}

/** The kind of a JSON value, in words. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function pathText(keys: ReadonlyArray<string | number>): string {
  return keys.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}

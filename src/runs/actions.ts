/**
 * Action lists, and the check of a whole list before any of it runs.
 *
 * An action is `["NAME"]`, `["NAME", {keyword arguments}]` or `["NAME", [positional arguments]]`. An argument with a
 * `${name}` in it is checked when the action runs, everything else beforehand.
 */
import * as v from "valibot";
import { checkInput, type Offence, sentence } from "../core/input";
import type { InputSchema, Operation } from "../core/operation";
import { metadataOf } from "../core/schema";
import { badInput } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { printable } from "../lib/sanitize";
import { hasReference } from "./variables";

/** The most actions in one list, nested ones included. */
const MAX_ACTIONS = 1_000;

/** The deepest nesting of action lists within actions. */
export const MAX_DEPTH = 32;

/** The deepest nesting of arrays and objects; a list in an action takes three levels of it. */
const MAX_JSON_DEPTH = 3 * MAX_DEPTH + 64;

/** An operation that scripts may call. */
export type Command = Operation & { readonly command: string };

/** The operations that scripts may call, by command name. */
export type CommandTable = ReadonlyMap<string, Command>;

/** An action whose name and arguments have been checked. */
export interface Action {
  readonly operation: Command;
  /** The arguments as keywords, checked and with defaults; those in `deferred` are as written. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The fields with a `${name}` in them. */
  readonly deferred: readonly string[];
  /** The actions in the fields that hold lists. */
  readonly lists: Readonly<Record<string, readonly Action[]>>;
  /** The action as it was written. */
  readonly source: readonly unknown[];
}

/**
 * Checks a whole list, nested lists included.
 *
 * @param options.quote whether messages may quote arguments (default true).
 * @throws a `bad_input` failure that lists every offence (`problems`: `[{action, message}]`) and every unknown name
 *   (`unknown_commands`, sorted, once each). Nothing has run.
 */
export function checkActions(
  table: CommandTable,
  list: unknown,
  { quote = true }: { readonly quote?: boolean } = {},
): Action[] {
  return new ListChecker(table, quote).check(list);
}

/** `actions` and all nested ones, each before those inside it. */
export function flatten(actions: readonly Action[]): Action[] {
  return actions.flatMap((action) => [action, ...Object.values(action.lists).flatMap(flatten)]);
}

/** Where an action is: its path in the list for a person, and the commands around it, outermost first. */
interface Place {
  readonly at: string;
  readonly around: readonly string[];
}

class ListChecker {
  private readonly unknown = new Set<string>();
  private readonly offences: Offence[] = [];
  private count = 0;

  constructor(
    private readonly table: CommandTable,
    private readonly quote: boolean,
  ) {}

  check(list: unknown): Action[] {
    const at = "actions";
    const limits = { bytes: Number.POSITIVE_INFINITY, depth: MAX_JSON_DEPTH };
    const actions =
      sizeWithin(list, limits) === undefined
        ? this.refuse(at, `expected at most ${MAX_JSON_DEPTH} levels of arrays and objects`)
        : this.list(list, { at, around: [] });
    // A list inside an action may be empty: `"else": []`.
    if (Array.isArray(list) && list.length === 0) this.refuse(at, "expected at least one action");
    const names = [...this.unknown].sort();
    if (names.length === 0 && this.offences.length === 0) return actions;
    const words = names.length
      ? [`unknown commands: ${names.map((name) => printable(name, 80)).join(", ")}`]
      : [];
    if (this.offences.length) words.push(sentence(this.offences));
    throw badInput(words.join("; "), {
      unknown_commands: names,
      problems: this.offences.map(({ field, message }) => ({ action: field, message })),
    });
  }

  private list(list: unknown, { at, around }: Place): Action[] {
    if (!Array.isArray(list)) return this.refuse(at, "expected a list of actions");
    if (around.length >= MAX_DEPTH) {
      return this.refuse(at, `expected at most ${MAX_DEPTH} levels of nested actions`);
    }
    const before = this.count;
    this.count += list.length;
    if (this.count > MAX_ACTIONS) {
      if (before > MAX_ACTIONS) return [];
      return this.refuse(at, `expected at most ${MAX_ACTIONS} actions in all`);
    }
    return list.flatMap((source, index) => this.action(source, { at: `${at}[${index}]`, around }));
  }

  private action(source: unknown, place: Place): Action[] {
    const { at, around } = place;
    if (!Array.isArray(source) || typeof source[0] !== "string" || source.length > 2) {
      return this.refuse(at, 'expected ["NAME"], ["NAME", {…}] or ["NAME", […]]');
    }
    const [name, given = {}] = source;
    const operation = this.table.get(name);
    if (operation === undefined) {
      this.unknown.add(name);
      return [];
    }
    if (operation.within && !around.includes(operation.within)) {
      this.refuse(at, `expected ${name} inside ${operation.within} only`);
    }
    const keywords = this.keywords(operation, given, at);
    if (keywords === undefined) return [];
    const lists = this.lists(operation, keywords, place);
    const deferred = deferredFields(operation.input, keywords);
    const checked = checkInput(withUnchecked(operation.input, deferred), keywords, { quote: this.quote });
    if (checked.ok) return [{ operation, input: checked.input, deferred, lists, source }];
    for (const { field, message } of checked.offences) this.refuse(field ? `${at}.${field}` : at, message);
    return [];
  }

  private keywords(operation: Operation, given: unknown, at: string): Record<string, unknown> | undefined {
    if (typeof given !== "object" || given === null) {
      return void this.refuse(at, "expected arguments as an object or a list");
    }
    if (!Array.isArray(given)) return given as Record<string, unknown>;
    const names = Object.keys(operation.input.entries);
    if (given.length > names.length) {
      return void this.refuse(at, `expected at most ${names.length} arguments but found ${given.length}`);
    }
    return Object.fromEntries(given.map((value, index) => [names[index], value]));
  }

  /** The nested lists. The input check refuses a value that is no list. */
  private lists(operation: Command, keywords: Record<string, unknown>, { at, around }: Place) {
    const lists: Record<string, Action[]> = {};
    for (const field of listFields(operation.input)) {
      const list = Object.hasOwn(keywords, field) ? keywords[field] : undefined;
      if (!Array.isArray(list)) continue;
      lists[field] = this.list(list, { at: `${at}.${field}`, around: [...around, operation.command] });
    }
    return lists;
  }

  private refuse(field: string, message: string): [] {
    this.offences.push({ field, message });
    return [];
  }
}

/** The fields of `schema` that hold action lists. */
export function listFields(schema: InputSchema): string[] {
  return Object.entries(schema.entries)
    .filter(([, entry]) => metadataOf(entry).actions)
    .map(([field]) => field);
}

function deferredFields(schema: InputSchema, keywords: Record<string, unknown>): string[] {
  const lists = listFields(schema);
  return Object.keys(schema.entries).filter(
    (field) => Object.hasOwn(keywords, field) && !lists.includes(field) && hasReference(keywords[field]),
  );
}

/** `schema`, accepting any value in `fields`. */
function withUnchecked(schema: InputSchema, fields: readonly string[]): InputSchema {
  if (fields.length === 0) return schema;
  const unchecked = Object.fromEntries(fields.map((field) => [field, v.unknown()]));
  return v.strictObject({ ...schema.entries, ...unchecked });
}

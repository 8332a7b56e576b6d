/**
 * The check of a whole list of actions before any of it runs.
 *
 * An action is `["NAME"]`, `["NAME", {keyword arguments}]` or `["NAME", [positional arguments]]`; a command whose one
 * argument is a list takes that list itself too. Besides the arguments of its command, `"as": "name"` sets a variable to its
 * result. An argument with a `${name}` in it is checked when the action runs, everything else beforehand.
 */
import * as v from "valibot";
import { checkInput, type Offence } from "../../core/input";
import type { Operation } from "../../core/operation";
import { entryOf, metadataOf } from "../../core/schema";
import { ListFault } from "../../core/script";
import {
  byName,
  countReferences,
  EACH_EXPRESSION,
  hasReference,
  isWholeList,
  sizeOfExpressions,
  VARIABLE_NAME,
} from "../../core/written";
import { sizeWithin } from "../../lib/json-size";
import { meant } from "../../lib/nearest";
import { printable } from "../../lib/sanitize";
import { stepsInSlices } from "../../lib/turn";
import {
  deferredFields,
  isUnwrapped,
  listed,
  listFields,
  remoteFields,
  withoutNulls,
  withUnchecked,
} from "./action-fields";
import { type Action, type Command, type CommandTable, MAX_ACTIONS } from "./actions";
import { refusesSecret } from "./secret-places";
import { expressionFault, secretsIn } from "./variables";

/** The most references to variables in one list: each is looked up when its action runs. */
const MAX_REFERENCES = 10_000;

/** Characters that the expressions of a list may have together, also of its lists for other hosts: to check them takes 0.5 µs each. */
const MAX_EXPRESSIONS = 50_000;

/** Unknown names that are compared with those that there are: for thousands, that takes long. */
const MAX_HINTS = 50;
/** Arguments of a command that a message names. */
const MAX_NAMES = 12;

/** The deepest nesting of action lists within actions. */
const MAX_DEPTH = 32;

/** The deepest nesting of arrays and objects; a list in an action takes three levels of it. */
const MAX_JSON_DEPTH = 3 * MAX_DEPTH + 64;

/**
 * Checks a whole list, nested lists included, in slices.
 *
 * @param options.quote whether messages may quote arguments (default true).
 * @throws a `bad_input` failure that lists every offence (`problems`: `[{action, pointer, message}]`) and every unknown
 *   name (`unknown_commands`, sorted, once each). Nothing has run.
 */
export async function checkActions(
  table: CommandTable,
  list: unknown,
  { quote = true }: { readonly quote?: boolean } = {},
): Promise<Action[]> {
  return stepsInSlices(new ListChecker(table, quote).check(list));
}

/** Work that yields after each action, and returns what it made. */
type InSteps<T> = Generator<undefined, T>;

const WRAPPED = " (a list is one argument: [[…]])";

/** Where an action is: for a person, by keys from the list on, and the commands around it, outermost first. */
interface Place {
  readonly at: string;
  readonly path: Path;
  readonly around: readonly string[];
}

type Path = ReadonlyArray<string | number>;

/** The arguments of an action as keywords, and the keys from the list to each as it was written. */
interface ActionArguments {
  readonly keywords: Readonly<Record<string, unknown>>;
  readonly as?: string | undefined;
  pathTo(field: string): Path;
}

class ListChecker {
  private readonly unknown = new Set<string>();
  private readonly offences: Offence[] = [];
  private references = 0;
  private readonly hints = new Map<string, string>();
  /** The commands whose arguments were named. */
  private readonly explained = new Set<string>();

  constructor(
    private readonly table: CommandTable,
    private readonly quote: boolean,
    /** What is counted over a list and its lists for other hosts. */
    private readonly inAll = { expressions: 0, actions: 0 },
  ) {}

  *check(list: unknown): InSteps<Action[]> {
    const root = { at: "actions", path: [], around: [] };
    const limits = { bytes: Number.POSITIVE_INFINITY, depth: MAX_JSON_DEPTH };
    const actions =
      sizeWithin(list, limits) === undefined
        ? this.refuse(root, `expected at most ${MAX_JSON_DEPTH} levels of arrays and objects`)
        : yield* this.list(list, root);
    // A list inside an action may be empty: `"else": []`.
    if (Array.isArray(list) && list.length === 0) this.refuse(root, "expected at least one action");
    if (this.offences.length === 0) return actions;
    throw new ListFault(this.offences, [...this.unknown].sort());
  }

  private *list(list: unknown, place: Place): InSteps<Action[]> {
    const { at, path, around } = place;
    if (!Array.isArray(list)) return this.refuse(place, "expected a list of actions");
    if (around.length >= MAX_DEPTH) {
      return this.refuse(place, `expected at most ${MAX_DEPTH} levels of nested actions`);
    }
    const before = this.inAll.actions;
    this.inAll.actions += list.length;
    if (this.inAll.actions > MAX_ACTIONS) {
      if (before > MAX_ACTIONS) return [];
      return this.refuse(place, `expected at most ${MAX_ACTIONS} actions in all`);
    }
    const actions: Action[] = [];
    for (const [index, source] of list.entries()) {
      actions.push(
        ...(yield* this.action(source, { at: `${at}[${index}]`, path: [...path, index], around })),
      );
      yield;
    }
    return actions;
  }

  private *action(source: unknown, place: Place): InSteps<Action[]> {
    const { at, path, around } = place;
    if (!Array.isArray(source) || typeof source[0] !== "string" || source.length > 2) {
      return this.refuse(place, 'expected ["NAME"], ["NAME", {…}] or ["NAME", […]]');
    }
    const [name, written = {}] = source;
    const operation = this.table.get(name);
    if (operation === undefined) {
      this.unknown.add(name);
      const message = `unknown command ${printable(name, 80)}${this.hintFor(name)}`;
      return this.refuse({ at, path: [...path, 0] }, message);
    }
    if (operation.within && !operation.within.some((one) => around.includes(one))) {
      this.refuse(place, `expected ${name} inside ${listed(operation.within)} only`);
    }
    const given = this.given(operation, written, place);
    if (given === undefined) return [];
    const { keywords, as } = given;
    const lists = yield* this.lists(operation, given, place);
    const remote = yield* this.remoteLists(operation, given, place);
    const deferred = deferredFields(operation.input, keywords);
    if (this.hasLongExpressions(operation, keywords, deferred))
      return this.refuse(
        place,
        `expected expressions of at most ${MAX_EXPRESSIONS.toLocaleString("en")} characters in all`,
      );
    if (this.hasManyReferences(deferred.map((field) => keywords[field])))
      return this.refuse(
        place,
        `expected at most ${MAX_REFERENCES.toLocaleString("en")} references to variables in all`,
      );
    const faults = deferred.flatMap((field) => {
      const fault = expressionFault(keywords[field]);
      return fault === undefined
        ? []
        : { field: `${at}.${field}`, path: given.pathTo(field), message: fault };
    });
    this.offences.push(...faults);
    if (faults.length > 0) return [];
    const misplaced = deferred.flatMap((field) => {
      const [named] = secretsIn(keywords[field]);
      const why = named === undefined ? undefined : refusesSecret(operation, field);
      return why === undefined
        ? []
        : { field: `${at}.${field}`, path: given.pathTo(field), message: `\${secret:${named}}: ${why}` };
    });
    this.offences.push(...misplaced);
    if (misplaced.length > 0) return [];
    const checked = checkInput(withUnchecked(operation.input, deferred), keywords, {
      quote: this.quote,
      hint: this.offences.length < MAX_HINTS,
    });
    // It takes a list as a whole: not one that is refused for its length.
    const isLong = this.inAll.actions > MAX_ACTIONS;
    const odd =
      checked.ok && deferred.length === 0 && !isLong ? operation.mismatch?.(checked.input) : undefined;
    if (checked.ok && !odd) {
      const parts = { operation, input: checked.input, as, deferred, lists, remote, source };
      return [{ ...parts, at, pathTo: given.pathTo }];
    }
    const offences: Offence[] = checked.ok ? (odd ? [{ ...odd, path: [odd.field] }] : []) : checked.offences;
    for (const { field, message, path: [top, ...rest] = [] } of offences) {
      const to = top === undefined ? path : [...given.pathTo(`${top}`), ...rest];
      const hint = Array.isArray(written) && isUnwrapped(operation.input, `${top}`, keywords) ? WRAPPED : "";
      const said = message === "unknown field" ? `${message}${this.namesOf(operation)}` : message;
      this.refuse({ at: field ? `${at}.${field}` : at, path: to }, said + hint);
    }
    return [];
  }

  /** What a command takes, said once for each: an author may know the argument by another name. */
  private namesOf({ command, input }: Command): string {
    if (this.explained.has(command) || this.explained.size >= MAX_HINTS) return "";
    this.explained.add(command);
    const names = Object.keys(input.entries);
    if (names.length === 0) return `: ${command} takes none`;
    const more = names.length > MAX_NAMES ? ", …" : "";
    return `: ${command} takes ${names.slice(0, MAX_NAMES).join(", ")}${more}`;
  }

  /** What `name` probably means, looked up once for each of the first names. */
  private hintFor(name: string): string {
    const known = this.hints.get(name);
    if (known !== undefined || this.hints.size >= MAX_HINTS) return known ?? "";
    const hint = meant(name, this.table.keys());
    this.hints.set(name, hint);
    return hint;
  }

  private hasManyReferences(values: readonly unknown[]): boolean {
    this.references += countReferences(values, MAX_REFERENCES + 1 - this.references);
    return this.references > MAX_REFERENCES;
  }

  /** @param deferred the fields that are filled in when the action runs. */
  private hasLongExpressions(
    { input }: Operation,
    keywords: Readonly<Record<string, unknown>>,
    deferred: readonly string[],
  ): boolean {
    for (const [field, value] of Object.entries(keywords)) {
      const schema = entryOf(input, field);
      const isWhole = typeof value === "string" && schema && metadataOf(schema).expression === true;
      if (isWhole) this.inAll.expressions += value.length + EACH_EXPRESSION;
      else if (deferred.includes(field)) this.inAll.expressions += sizeOfExpressions(value);
    }
    return this.inAll.expressions > MAX_EXPRESSIONS;
  }

  private given(operation: Operation, written: unknown, { at, path }: Place): ActionArguments | undefined {
    const inside = [...path, 1];
    if (typeof written !== "object" || written === null) {
      const { command, input } = operation;
      const [first] = Object.keys(input.entries);
      const example = first === undefined ? "" : `: ["${command}", {"${first}": …}]`;
      return void this.refuse({ at, path: inside }, `expected arguments as an object or a list${example}`);
    }
    if (!Array.isArray(written)) {
      const { as, ...keywords } = written as Record<string, unknown>;
      if (as !== undefined && !(typeof as === "string" && VARIABLE_NAME.test(as))) {
        const message = "expected the name of a variable: letters, digits and _, not beginning with a digit";
        this.refuse({ at: `${at}.as`, path: [...inside, "as"] }, message);
      }
      return {
        keywords: withoutNulls(operation.input, keywords),
        as: as === undefined ? as : `${as}`,
        pathTo: (field) => [...inside, field],
      };
    }
    const names = Object.keys(operation.input.entries);
    const [only = ""] = names;
    if (isWholeList(operation.input, written)) {
      return { keywords: { [only]: written }, pathTo: () => inside };
    }
    if (written.length > names.length) {
      const found = `but found ${written.length}`;
      const most = names.length === 1 ? "1 argument" : `${names.length} arguments`;
      return void this.refuse({ at, path: [...inside, names.length] }, `expected at most ${most} ${found}`);
    }
    const named = byName(operation.input, written);
    const places = new Map(named.map(([field], index) => [field, index]));
    return {
      keywords: withoutNulls(operation.input, Object.fromEntries(named)),
      pathTo: (field) => [...inside, places.get(field) ?? names.indexOf(field)],
    };
  }

  /** The nested lists. The input check refuses a value that is no list. */
  private *lists(operation: Command, { keywords, pathTo }: ActionArguments, { at, around }: Place) {
    const lists: Record<string, Action[]> = {};
    for (const field of listFields(operation.input)) {
      const list = Object.hasOwn(keywords, field) ? keywords[field] : undefined;
      if (!Array.isArray(list)) continue;
      const inner = [...around, operation.command];
      lists[field] = yield* this.list(list, { at: `${at}.${field}`, path: pathTo(field), around: inner });
    }
    return lists;
  }

  /**
   * Lists that run on other hosts. What variables of this one make of a list is checked when the command runs.
   *
   * @returns the actions of those in which none are filled in here.
   */
  private *remoteLists(
    operation: Command,
    { keywords, pathTo }: ActionArguments,
    { at }: Place,
  ): InSteps<Record<string, Action[]>> {
    const remote: Record<string, Action[]> = {};
    for (const field of remoteFields(operation.input)) {
      const given = Object.hasOwn(keywords, field) ? keywords[field] : undefined;
      const { unfilled, branches } = metadataOf(entryOf(operation.input, field) ?? v.unknown());
      if (!Array.isArray(given) || (!unfilled && hasReference(given))) continue;
      const place = { at: `${at}.${field}`, path: pathTo(field), around: [] };
      const lists = branches
        ? given.map((list, nth) => ({ list, at: `${place.at}[${nth}]`, path: [...place.path, nth] }))
        : [{ list: given, ...place }];
      const checker = new ListChecker(this.table, false, this.inAll);
      const actions: Action[] = [];
      for (const { list, ...where } of lists)
        actions.push(...(yield* checker.list(list, { ...where, around: [] })));
      this.offences.push(...checker.offences);
      for (const name of checker.unknown) this.unknown.add(name);
      if (unfilled) remote[field] = actions;
    }
    return remote;
  }

  private refuse({ at, path }: Pick<Place, "at" | "path">, message: string): [] {
    this.offences.push({ field: at, message, path });
    return [];
  }
}

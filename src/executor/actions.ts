/**
 * Action lists: what a script is made of, and the check that a whole list passes before any of it runs.
 *
 * An action is `["NAME"]`, `["NAME", {keyword arguments}]` or `["NAME", [positional arguments]]`.
 */
import { checkInput, type Offence, sentence } from "../input";
import { badInput } from "../lib/errors";
import { printable } from "../lib/text";
import { isMarked, type Operation } from "../operation";

/** The most actions in one list, those nested in others included. */
export const MAX_ACTIONS = 1_000;

/** The deepest nesting of action lists within actions. */
export const MAX_DEPTH = 32;

/** The operations that scripts may call, by command name. */
export type CommandTable = ReadonlyMap<string, Operation>;

/** An action whose name and arguments have been checked. */
export interface Action {
  readonly operation: Operation & { readonly command: string };
  /** The arguments as keywords, checked and defaulted. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The action as it was written. */
  readonly source: readonly unknown[];
}

/**
 * Checks a whole list, nested lists included.
 *
 * @throws a `bad_input` failure that lists every offence (`problems`: `[{action, message}]`) and every unknown name
 *   (`unknown_commands`, sorted, once each). Nothing has run.
 */
export function checkActions(table: CommandTable, list: unknown): Action[] {
  const checker = new ListChecker(table);
  const actions = checker.list(list, "actions", 1);
  checker.verdict();
  return actions;
}

class ListChecker {
  private readonly unknown = new Set<string>();
  private readonly offences: Offence[] = [];
  private count = 0;

  constructor(private readonly table: CommandTable) {}

  list(list: unknown, at: string, depth: number): Action[] {
    if (!Array.isArray(list)) return this.refuse(at, "expected a list of actions");
    if (depth > MAX_DEPTH) return this.refuse(at, `expected at most ${MAX_DEPTH} levels of nested actions`);
    const before = this.count;
    this.count += list.length;
    if (this.count > MAX_ACTIONS) {
      if (before > MAX_ACTIONS) return [];
      return this.refuse(at, `expected at most ${MAX_ACTIONS} actions in all`);
    }
    return list.flatMap((source, index) => this.action(source, `${at}[${index}]`, depth));
  }

  verdict(): void {
    const names = [...this.unknown].sort();
    if (names.length === 0 && this.offences.length === 0) return;
    const words = names.length
      ? [`unknown commands: ${names.map((name) => printable(name, 80)).join(", ")}`]
      : [];
    if (this.offences.length) words.push(sentence(this.offences));
    throw badInput(words.join("; "), {
      unknown_commands: names,
      problems: this.offences.map(({ field, message }) => ({ action: field, message })),
    });
  }

  private action(source: unknown, at: string, depth: number): Action[] {
    if (!Array.isArray(source) || typeof source[0] !== "string" || source.length > 2) {
      return this.refuse(at, 'expected ["NAME"], ["NAME", {…}] or ["NAME", […]]');
    }
    const [name, given = {}] = source;
    const operation = this.table.get(name);
    if (operation?.command === undefined) {
      this.unknown.add(name);
      return [];
    }
    const keywords = this.keywords(operation, given, at);
    if (keywords === undefined) return [];
    const checked = checkInput(operation.input, keywords);
    if (!checked.ok) {
      for (const { field, message } of checked.offences) this.refuse(field ? `${at}.${field}` : at, message);
      return [];
    }
    for (const [field, schema] of Object.entries(operation.input.entries)) {
      if (isMarked(schema, "actions") && checked.input[field] !== undefined) {
        this.list(checked.input[field], `${at}.${field}`, depth + 1);
      }
    }
    return [{ operation: { ...operation, command: operation.command }, input: checked.input, source }];
  }

  private keywords(operation: Operation, given: unknown, at: string): Record<string, unknown> | undefined {
    if (typeof given !== "object" || given === null) {
      this.refuse(at, "expected arguments as an object or a list");
      return undefined;
    }
    if (!Array.isArray(given)) return given as Record<string, unknown>;
    const names = Object.keys(operation.input.entries);
    if (given.length > names.length) {
      this.refuse(at, `expected at most ${names.length} arguments but found ${given.length}`);
      return undefined;
    }
    return Object.fromEntries(given.map((value, index) => [names[index], value]));
  }

  private refuse(field: string, message: string): [] {
    this.offences.push({ field, message });
    return [];
  }
}

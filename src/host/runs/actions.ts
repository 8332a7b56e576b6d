/** Actions as they are once their list was checked (`check-actions.ts`). */
import type { Operation } from "../../core/operation";

/** The most actions in one list, nested ones and those for other hosts included. */
export const MAX_ACTIONS = 1_000;

/** An operation that scripts may call. */
export type Command = Operation & { readonly command: string };

/** The operations that scripts may call, by command name. */
export type CommandTable = ReadonlyMap<string, Command>;

/** An action whose name and arguments have been checked. */
export interface Action {
  readonly operation: Command;
  /** The arguments as keywords, checked and with defaults; those in `deferred` are as written. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The variable that is set to its result. */
  readonly as: string | undefined;
  /** The fields with a `${name}` in them. */
  readonly deferred: readonly string[];
  /** The actions in the fields that hold lists. */
  readonly lists: Readonly<Record<string, readonly Action[]>>;
  /** The actions of lists for other hosts that fill in their variables themselves, by the fields that hold them. */
  readonly remote: Readonly<Record<string, readonly Action[]>>;
  /** The action as it was written. */
  readonly source: readonly unknown[];
  /** Where it is, for a person. */
  readonly at: string;
  /** The keys from the list to the argument for `field`. */
  pathTo(field: string): ReadonlyArray<string | number>;
}

/** `actions` and all nested ones, each before those inside it. */
export function flatten(actions: readonly Action[]): Action[] {
  return actions.flatMap((action) => [action, ...Object.values(action.lists).flatMap(flatten)]);
}

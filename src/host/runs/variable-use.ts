/**
 * Which variables a checked list uses, and which of them nothing in it sets: found before a run, from the text of the list.
 */
import * as v from "valibot";
import { entryOf, metadataOf } from "../../core/schema";
import { hasReference } from "../../core/written";
import { meant } from "../../lib/nearest";
import { type Action, flatten } from "./actions";
import { isForOthers } from "./secret-places";
import { namesIn, namesOfExpression, referenceOf, SURROUNDINGS, secretsIn } from "./variables";

/** The variables of a list, each name once, sorted. */
export interface VariableUse {
  /** It has `${name}`, or compares the variable. */
  readonly used: string[];
  /** Used, and set by no action of the list: whoever runs it must give them. */
  readonly unset: string[];
}

/** The variables that `actions`, and the actions inside them, use. */
export function variableUse(actions: readonly Action[]): VariableUse {
  const all = withBranches(actions);
  const set = new Set([...setBy(all), ...SURROUNDINGS]);
  const referred = all.flatMap(({ input, deferred }) => deferred.flatMap((field) => namesIn(input[field])));
  const inExpressions = all.flatMap(({ operation, input }) =>
    Object.entries(operation.input.entries).flatMap(([field, schema]) => {
      const source = metadataOf(schema).expression ? input[field] : undefined;
      return typeof source === "string" && !hasReference(source) ? namesOfExpression(source) : [];
    }),
  );
  // What such a list sets itself, it need not be given.
  const inBodies = all.flatMap((action) => bodiesOf(action).flatMap((body) => variableUse(body).unset));
  const used = [
    ...new Set([
      ...referred,
      ...inExpressions,
      ...inBodies,
      ...namedBy(all, "reads")
        .filter(isName)
        .map((text) => referenceOf(text).name),
    ]),
  ].sort();
  return {
    used,
    unset: [...set].every(isName) ? used.filter((name) => !set.has(name)) : [],
  };
}

/** The variables that `actions`, and the actions inside them, may set, each once; undefined where only the run says which. */
export function variablesSet(actions: readonly Action[]): string[] | undefined {
  const set = [...new Set(setBy(withBranches(actions)))];
  return set.every(isName) ? set : undefined;
}

/** A name that has a `${…}` itself is known when it runs. */
const isName = (name: string) => !hasReference(name);

/** `actions`, those inside them, and those of their branches, which are of the same run. */
function withBranches(actions: readonly Action[]): Action[] {
  const all = flatten(actions);
  return [...all, ...all.flatMap((action) => flatten(remoteOf(action, true).flat()))];
}

/** The lists of an action that other hosts run with variables of their own. */
const bodiesOf = (action: Action) => remoteOf(action, false);

const remoteOf = ({ operation, remote }: Action, branches: boolean) =>
  Object.entries(remote).flatMap(([field, list]) => {
    const mark = metadataOf(entryOf(operation.input, field) ?? v.unknown()).branches === true;
    return mark === branches ? [list] : [];
  });

const setBy = (all: readonly Action[]) => [...namedBy(all, "sets"), ...all.flatMap(({ as }) => as ?? [])];

/** The names in those fields that have the names of variables. */
function namedBy(all: readonly Action[], how: "sets" | "reads"): string[] {
  return all.flatMap(({ operation, input }) =>
    Object.entries(operation.input.entries).flatMap(([field, schema]) => {
      if (metadataOf(schema).variable !== how) return [];
      return [input[field]].flat().filter((name) => typeof name === "string");
    }),
  );
}

/**
 * The secrets of the host that `actions`, and the actions inside them, name: each once, sorted.
 Those in lists for other hosts are not of this one.
 */
export function secretUse(actions: readonly Action[]): string[] {
  const named = flatten(actions).flatMap(({ operation, input, deferred }) =>
    deferred.flatMap((field) => (isForOthers(operation, field) ? [] : secretsIn(input[field]))),
  );
  return [...new Set(named)].sort();
}

/** How many variables of each kind are named: a list may refer to ten thousand. */
const MAX_NAMED = 20;

/**
 * What is probably a mistake, in sentences: variables that nobody sets, and given ones that the list does not use; the first of each.
 *
 * @param what gives them, in words: `--var`.
 */
export function variableFaults(
  { used, unset }: VariableUse,
  given: readonly string[],
  what: string,
): string[] {
  const [isGiven, isUsed] = [new Set(given), new Set(used)];
  return [
    ...unset
      .filter((name) => !isGiven.has(name))
      .slice(0, MAX_NAMED)
      .map((name) => `\${${name}} is not set: neither the list nor ${what} sets it${meant(name, given)}`),
    ...given
      .filter((name) => !isUsed.has(name))
      .slice(0, MAX_NAMED)
      .map((name) => `${what} ${name}: the list has no \${${name}}${meant(name, used)}`),
  ];
}

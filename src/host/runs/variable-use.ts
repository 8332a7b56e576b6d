/**
 * Which variables a checked list uses, and which of them nothing in it sets: found before a run, from the text of the list.
 */
import { metadataOf } from "../../core/schema";
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
  const all = flatten(actions);
  const named = (how: "sets" | "reads") =>
    all.flatMap(({ operation, input }) =>
      Object.entries(operation.input.entries).flatMap(([field, schema]) => {
        const name = input[field];
        return metadataOf(schema).variable === how && typeof name === "string" ? [name] : [];
      }),
    );
  const set = new Set([...named("sets"), ...all.flatMap(({ as }) => as ?? []), ...SURROUNDINGS]);
  const referred = all.flatMap(({ input, deferred }) => deferred.flatMap((field) => namesIn(input[field])));
  const inExpressions = all.flatMap(({ operation, input }) =>
    Object.entries(operation.input.entries).flatMap(([field, schema]) => {
      const source = metadataOf(schema).expression ? input[field] : undefined;
      return typeof source === "string" && !hasReference(source) ? namesOfExpression(source) : [];
    }),
  );
  // A name that has a `${…}` itself is known when it runs.
  const isName = (name: string) => !hasReference(name);
  const used = [
    ...new Set([
      ...referred,
      ...inExpressions,
      ...named("reads")
        .filter(isName)
        .map((text) => referenceOf(text).name),
    ]),
  ].sort();
  return {
    used,
    unset: [...set].every(isName) ? used.filter((name) => !set.has(name)) : [],
  };
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

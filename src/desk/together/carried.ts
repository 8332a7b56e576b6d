/**
 * Variables between the parts of a block, and between blocks: they travel as actions that every svc knows.
 */
import type { PreparedBlock, PreparedPart } from "./prepare";

/** What a part brings back: what others get, and what later parts of the block need. @param nth which part of the block. */
export function broughtNames({ parts, share }: PreparedBlock, nth: number): string[] {
  const later = parts.slice(nth + 1).flatMap(({ uses, sets }) => [...uses, ...(sets ?? [])]);
  const sets = parts[nth]?.sets;
  return [...new Set([...share, ...later])].filter((name) => sets === undefined || sets.includes(name));
}

/** Values by the names of their variables. */
type Values = Readonly<Record<string, unknown>>;

/**
 * What a part has at its start, of what it may use.
 *
 * @param known what the script and other blocks give. @param own what earlier parts of the block have left.
 */
export function valuesAtStart(
  known: Values,
  { variables, share }: PreparedBlock,
  own: Values,
  part: PreparedPart,
): Values {
  const { sets = [], uses } = part;
  // Names that the part only computes are not listed: a host gets what its block names, and no more.
  const named = new Set([...uses, ...sets, ...share, ...Object.keys(variables)]);
  // A value that is null cannot travel: who reads the variable learns that there is none.
  return Object.fromEntries(
    Object.entries({ ...known, ...variables, ...own }).filter(
      ([name, value]) => named.has(name) && value !== null && value !== undefined,
    ),
  );
}

/** An action that returns the value of a variable where it is set, which may be so in one case only. */
export const bringing = (name: string): unknown => [
  "AC_try",
  { body: [["AC_set_var", { name, value: `\${${name}}` }]] },
];

/** The value that such an action has returned; undefined where the variable was not set. */
export function broughtBy(outcome: { readonly result?: unknown } | undefined): unknown {
  const inside: unknown = Object(outcome?.result).outcomes;
  const [only] = Array.isArray(inside) ? inside : [];
  return Object(only).ok === true ? Object(only).result : undefined;
}

/**
 * What a host lets its desk do, as a person says it.
 */
import type * as v from "valibot";
import { DESK_SCOPES, isSecretScope, type Limit, limitOr, SCOPES } from "../../core/rights";

/** A word of `--allow`: a scope, `desk` for all that a desk needs, and the use of secrets. */
export const DESK_RIGHT = limitOr(["desk", ...SCOPES]);

export type DeskRight = v.InferOutput<typeof DESK_RIGHT>;

/** What the token of a desk allows. */
export type DeskScopes = readonly Limit[];

/** The scopes of these words, each once, in the order of the table; then those for secrets. */
export function scopesOf(words: readonly DeskRight[]): DeskScopes {
  const wanted = new Set<DeskRight>(words.flatMap((word) => (word === "desk" ? DESK_SCOPES : [word])));
  return [...SCOPES.filter((scope) => wanted.has(scope)), ...[...wanted].filter(isSecretScope).sort()];
}

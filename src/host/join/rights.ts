/**
 * What a host lets its desk do, as a person says it.
 */
import { DESK_SCOPES, SCOPES } from "../../core/rights";

/** The words of `--allow`: scopes, and `desk` for all that a desk needs. */
export const DESK_RIGHTS = ["desk", ...SCOPES] as const;

export type DeskRight = (typeof DESK_RIGHTS)[number];

/** What the token of a desk allows. */
export type DeskScopes = ReadonlyArray<(typeof SCOPES)[number]>;

/** The scopes of these words, each once, in the order of the table. */
export function scopesOf(words: readonly DeskRight[]): DeskScopes {
  const wanted = new Set<DeskRight>(words.flatMap((word) => (word === "desk" ? DESK_SCOPES : [word])));
  return SCOPES.filter((scope) => wanted.has(scope));
}

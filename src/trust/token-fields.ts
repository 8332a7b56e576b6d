/** What a named token is made of, as a person gives it: its name, what it allows, and for how long. */
import * as v from "valibot";
import { between, field, seconds, secret } from "../core/fields";
import { DESK_SCOPES, SCOPES, type Scope, scopeOr, TOKEN_NAME } from "../core/rights";
import { MAX_LIFETIME_S } from "./rotation";

/** The words of `--scope`. */
export const GIVEN_SCOPE = scopeOr([...SCOPES, "desk"]);

/** The scopes in the order of the table, and then the scripts; each once. */
export function scopesOf(given: Array<v.InferOutput<typeof GIVEN_SCOPE>>): Scope[] {
  const wanted = new Set<Scope>(given.flatMap((one) => (one === "desk" ? DESK_SCOPES : [one])));
  const plain = SCOPES.filter((scope) => wanted.delete(scope));
  return [...plain, ...[...wanted].sort()];
}

/** How long a token works. */
const EXPIRES = v.optional(seconds(v.union([between(1, MAX_LIFETIME_S), v.literal("never")])));

/** A named token to add. */
export const NEW_TOKEN = v.strictObject({
  name: field(TOKEN_NAME, "Name of the token, also in the audit log"),
  scope: field(
    v.pipe(v.array(GIVEN_SCOPE), v.minLength(1), v.maxLength(100), v.transform(scopesOf)),
    "What it allows; desk: all but admin; run:NAME: one stored script, and nothing else; secret:NAME, secret:crm_*: use secrets in scripts",
  ),
  expires_s: field(
    EXPIRES,
    "How long it works, or never (default: 90d; never for one that you chose yourself)",
  ),
  token: field(v.optional(secret(v.string())), "Token that several hosts share (default: a new token)"),
});

/** The life of the token that replaces another. */
export const NEXT_LIFE = field(
  EXPIRES,
  "How long the new token works, or never (default: as long as the old one was made for)",
);

/** What to make a token of: the input of `token.add`. */
export type NewToken = Omit<v.InferOutput<typeof NEW_TOKEN>, "expires_s"> & {
  readonly expires_s?: number | "never" | undefined;
  /** After how many seconds it ends unless {@link prolongToken} gives it its life by then. */
  readonly unless_prolonged_s?: number | undefined;
};

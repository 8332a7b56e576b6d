/**
 * Named tokens, which allow less than the host's own token: for a scraper, or for a person who only looks.
 *
 * The promise: the file holds digests and no token. A running server accepts a new token at once and refuses a revoked one
 * within a second, or at once after `POST /refresh`. A file or an entry that cannot be used lets nobody in.
 */
import * as v from "valibot";
import { field, secret } from "../core/fields";
import { type Grant, SCOPES, type Scope } from "../core/rights";
import { conflict, messageOf, notFound } from "../lib/errors";
import { watchFile } from "../lib/files";
import { createJsonStore, type JsonStore, parseBy } from "../lib/json-store";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { checkToken } from "./owner-token";
import { newToken, ROTATES, type Rotating } from "./rotation";
import { digestToken, type GrantOf, hexOf, sameToken, type TokenDigest } from "./scopes";

/** What a desk needs to look after a host; short for these scopes when a token is made. */
const DESK: readonly Scope[] = ["metrics", "read", "screen", "audit", "sync", "operate"];

/** What 0.1.0 called `read`. */
const READ_OF_0_1: readonly Scope[] = ["read", "screen", "audit"];

/** The most tokens in the file: the token of a request is compared with all of them. */
const MAX_TOKENS = 100;

const NAME = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "1 to 64 letters, digits, . _ and -, the first a letter or digit",
  ),
);
const COMMON = {
  name: NAME,
  /** When it was made, ISO 8601. */
  created: v.pipe(v.string(), v.isoTimestamp()),
  ...ROTATES,
};

/** A named token as the file has it. The field is not `scopes`, so that 0.1.0 does not take `read` for what it was there. */
const TOKEN_RECORD = v.object({ ...COMMON, allows: v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1)) });

/** As 0.1.0 wrote it. */
const RECORD_OF_0_1 = v.pipe(
  v.object({ ...COMMON, scopes: v.pipe(v.array(v.picklist(["read", "metrics"])), v.minLength(1)) }),
  v.transform(({ scopes, ...token }): NamedToken => {
    return { ...token, allows: scopes.flatMap((scope) => (scope === "read" ? READ_OF_0_1 : [scope])) };
  }),
);

export type NamedToken = v.InferOutput<typeof TOKEN_RECORD>;

/** Reads an entry of the file. */
const parseRecord = (value: unknown) =>
  parseBy(Object.hasOwn(Object(value), "allows") ? TOKEN_RECORD : RECORD_OF_0_1)(value);

/** A named token in a listing. */
export const LISTED_TOKEN = v.object({
  name: v.string(),
  scopes: v.array(v.picklist(SCOPES)),
  created: v.string(),
  /** When the last of the tokens that it replaced ends; null when none is in force. */
  old_until: v.nullable(v.string()),
});

/** A named token to add. */
export const NEW_TOKEN = v.strictObject({
  name: field(NAME, "Name of the token, also in the audit log"),
  scope: field(
    v.pipe(
      v.array(v.picklist([...SCOPES, "desk"])),
      v.minLength(1),
      v.transform((given) => new Set(given.flatMap((one) => (one === "desk" ? DESK : [one])))),
      v.transform((given) => SCOPES.filter((scope) => given.has(scope))),
    ),
    "What it allows; desk: all but admin",
  ),
  token: field(v.optional(secret(v.string())), "Token that several hosts share (default: a new token)"),
});

/** The file, and the lock file of those who change it. */
type Place = { readonly tokens: string; readonly tokensLock: string };

/** The tokens of `{config_dir}`, in the order of the file. */
export function tokenStore({ tokens, tokensLock }: Place, log: Log): JsonStore<NamedToken> {
  const format = {
    what: "a list of tokens",
    list: "tokens",
    key: "name",
    parse: parseRecord,
  } as const;
  return createJsonStore<NamedToken>({ file: tokens, lock: tokensLock, ...format }, log);
}

/**
 * Adds a token and returns it. Only its digest is kept, so it cannot be shown again.
 *
 * @param own the host's own token, which cannot be a named token as well.
 * @throws a `conflict` failure when the name or the token is taken or there are {@link MAX_TOKENS}; `bad_input` for a token
 *   that no client could send; `unavailable` when the file cannot be read.
 */
export async function addToken(
  store: JsonStore<NamedToken>,
  { name, scope, token: given }: v.InferOutput<typeof NEW_TOKEN>,
  own?: string,
): Promise<string> {
  const token = given === undefined ? newToken() : checkToken(given, "token");
  if (token === own) throw conflict("token: this is the host's own token, which allows everything");
  const sha256 = hexOf(digestToken(token));
  return store.change((list) => {
    if (list.has(name)) throw conflict(`name: ${name} is already taken`);
    const same = list.entries.find(({ previous, ...known }) =>
      [known, ...previous].some((one) => one.sha256 === sha256),
    );
    if (same) throw conflict(`token: ${same.name} already has this token`);
    if (list.entries.length >= MAX_TOKENS) throw conflict(`there are already ${MAX_TOKENS} tokens`);
    const created = new Date().toISOString();
    list.put({ name, allows: scope, created, sha256, generated: given === undefined, previous: [] });
    return token;
  });
}

/**
 * Sets what `change` makes of the token that has the name: a new token, or what is known of its old ones.
 *
 * @returns what `change` returns.
 * @throws a `not_found` failure when no token has the name; `unavailable` when the file cannot be read; what `change` throws.
 */
export function changeToken<T extends { readonly kept: Rotating }>(
  store: JsonStore<NamedToken>,
  name: string,
  change: (old: Rotating) => T,
): Promise<T> {
  return store.change((list) => {
    const old = list.entries.find((known) => known.name === name);
    if (!old) throw noSuchToken(name);
    const changed = change(old);
    list.update(name, changed.kept);
    return changed;
  });
}

/** Revokes a token. @throws `not_found` when no token has the name; `unavailable` when the file cannot be read. */
export function removeToken(store: JsonStore<NamedToken>, name: string): Promise<void> {
  return store.change((list) => {
    if (!list.remove(name)) throw noSuchToken(name);
  });
}

const noSuchToken = (name: string) => notFound(`no token is named ${printable(name, 64)}`);

/** What the tokens in the file allow, as the file is now: those that svc generated, and those that it was given. */
export function watchTokens(place: Place, log: Log): Record<"generated" | "given", GrantOf> {
  const store = tokenStore(place, log);
  type Token = { grant: Grant; digest: TokenDigest; generated: boolean; until: number };
  const inForce = watchFile(place.tokens, (): Token[] => {
    try {
      return store.entries().flatMap(({ name, allows, previous, ...current }) =>
        [{ ...current, until: undefined }, ...previous].map(({ sha256, generated, until }) => ({
          generated,
          grant: { name, scopes: allows, sha256 },
          digest: Buffer.from(sha256, "hex"),
          until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
        })),
      );
    } catch (error) {
      log.error(`only the host's own token is in force: ${messageOf(error)}`);
      return [];
    }
  });
  const among =
    (wanted: boolean): GrantOf =>
    (sent, fresh) =>
      inForce(fresh).find(
        ({ generated, digest, until }) =>
          generated === wanted && sameToken(sent, digest) && until > Date.now(),
      )?.grant;
  return { generated: among(true), given: among(false) };
}

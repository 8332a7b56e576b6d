/**
 * Tokens beside the host's own, each with a name and less than everything: for a scraper, for somebody who only looks.
 *
 * The promise: the file holds digests and no token; a server that runs takes a change within two seconds; a file that
 * cannot be used, or an entry of it, lets nobody in.
 */
import * as v from "valibot";
import { secret } from "../core/fields";
import { conflict, messageOf, notFound } from "../lib/errors";
import { watchFile } from "../lib/files";
import { createJsonStore, type JsonStore, parseBy } from "../lib/json-store";
import type { Log } from "../lib/log";
import { checkToken, newToken } from "./owner-token";
import { digestToken, type Grant, type GrantOf, sameToken, type TokenDigest } from "./scopes";

/** What such a token can allow. Whoever may run an action list may run every command, so there is no lesser `operate`. */
export const SCOPES = ["read", "metrics"] as const;

/** The most tokens in the file: each request with a token is held against all of them. */
const MAX_TOKENS = 100;

const NAME = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "1 to 64 letters, digits, . _ and -, the first a letter or digit",
  ),
);
const ENTRY = v.object({
  name: NAME,
  scopes: v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1)),
  /** When it was made, ISO 8601. */
  created: v.pipe(v.string(), v.isoTimestamp()),
  /** Of the token, hexadecimal. */
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
});

/** A token as the file has it. */
export type KnownToken = v.InferOutput<typeof ENTRY>;

/** What a token is to be; a new one is made unless it is given, so that many hosts can have the same. */
export const NEW_TOKEN = v.strictObject({
  name: NAME,
  scope: v.pipe(
    v.array(v.picklist(SCOPES)),
    v.minLength(1),
    v.transform((given) => [...new Set(given)]),
  ),
  token: v.optional(secret(v.string())),
});

/** The file, and the lock of those who change it. */
type Place = { readonly tokens: string; readonly tokensLock: string };

/** The tokens of `{config_dir}`, in the order of the file. */
export function tokenStore({ tokens, tokensLock }: Place, log: Log): JsonStore<KnownToken> {
  const format = { what: "a list of tokens", list: "tokens", key: "name", parse: parseBy(ENTRY) } as const;
  return createJsonStore<KnownToken>({ file: tokens, lock: tokensLock, ...format }, log);
}

/**
 * Puts a token in force and gives it. It is not kept and cannot be shown again.
 *
 * @param own the host's own token, which allows everything, whatever else it is called.
 * @throws a `conflict` failure when the name or the token is taken or there are {@link MAX_TOKENS}; `bad_input` for a token
 *   that no client could send; `unavailable` when the file cannot be read.
 */
export async function addToken(
  store: JsonStore<KnownToken>,
  { name, scope, token: given }: v.InferOutput<typeof NEW_TOKEN>,
  own?: string,
): Promise<string> {
  const token = given === undefined ? newToken() : checkToken(given, "token");
  if (token === own) throw conflict("token: it is the host's own, which allows everything");
  const sha256 = Buffer.from(digestToken(token)).toString("hex");
  return store.change((list) => {
    if (list.has(name)) throw conflict(`name: ${name} is taken already`);
    const same = list.entries.find((known) => known.sha256 === sha256);
    if (same) throw conflict(`token: it is that of ${same.name} already`);
    if (list.entries.length >= MAX_TOKENS) throw conflict(`there are ${MAX_TOKENS} tokens already`);
    list.put({ name, scopes: scope, created: new Date().toISOString(), sha256 });
    return token;
  });
}

/** Takes a token back. @throws a `not_found` failure when none has the name; `unavailable` when the file cannot be read. */
export function removeToken(store: JsonStore<KnownToken>, name: string): Promise<void> {
  return store.change((list) => {
    if (!list.remove(name)) throw notFound(`no token is called ${name}`);
  });
}

/** What the tokens stand for, as the file is now. */
export function watchTokens(place: Place, log: Log): GrantOf {
  const store = tokenStore(place, log);
  const inForce = watchFile(place.tokens, (): Array<{ grant: Grant; digest: TokenDigest }> => {
    try {
      return store.entries().map(({ name, scopes, sha256 }) => ({
        grant: { name, scopes },
        digest: Buffer.from(sha256, "hex"),
      }));
    } catch (error) {
      log.error(`only the host's own token is in force: ${messageOf(error)}`);
      return [];
    }
  });
  return (sent, maxAgeMs) => inForce(maxAgeMs).find(({ digest }) => sameToken(sent, digest))?.grant;
}

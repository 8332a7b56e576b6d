/**
 * Named tokens, which allow less than the host's own token: for a scraper, or for a person who only looks.
 *
 * The promise: the file holds digests and no token. A running server accepts a new token at once and refuses a revoked one
 * within a second, or at once after `service.refresh`. A file or an entry that cannot be used lets nobody in.
 */
import * as v from "valibot";
import { type Publish, unheard } from "../core/events";
import { SHA256 } from "../core/fields";
import { NAME_TEXT, SCOPE, type Scope, SESSION_NAME } from "../core/rights";
import { busy, conflict, notFound } from "../lib/errors";
import {
  createJsonStore,
  type EntryList,
  type JsonStore,
  type JsonStoreOptions,
  parseBy,
} from "../lib/json-store";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { printable } from "../lib/sanitize";
import { type EndedPlace, type EndedToken, endedTokenStore, noteEnded } from "./ended-tokens";
import { tokenAdded, tokenChanged, tokenRemoved } from "./events";
import { checkToken } from "./owner-token";
import { entryOf, inSeconds, ROTATES, type TokenRotation } from "./rotation";
import { idOf, newToken } from "./token";
import type { NewToken } from "./token-fields";

/** What 0.1.0 called `read`. */
const READ_OF_0_1: readonly Scope[] = ["read", "screen", "audit"];

/** The most tokens in the file: each change writes all of them. */
export const MAX_TOKENS = 20_000;

/** How long a generated token works by default, in seconds. */
export const LIFETIME_S = 90 * 86_400;

const COMMON = {
  name: v.union([NAME_TEXT, SESSION_NAME]),
  /** When it was made, ISO 8601. */
  created: v.pipe(v.string(), v.isoTimestamp()),
  ...ROTATES,
};

/** Of whom a session is. */
const PERSON = v.object({
  /** The provider, and who it is there. */
  issuer: v.string(),
  subject: v.string(),
  /** The session there, where the provider says; it may end it. */
  sid: v.optional(v.string()),
  /** The origin of the page that alone may use it, or what its access token is for; absent for that of a command line. */
  origin: v.optional(v.string()),
  /** Of a page: the SHA-256 of what it proves itself with, hexadecimal. */
  page: v.optional(SHA256),
  /** When it ends however much it is used, ISO 8601. */
  until: v.pipe(v.string(), v.isoTimestamp()),
  /**
   * Of an access token of the provider: the SHA-256 of what is signed of it, hexadecimal. The same token has several texts, as a signature
   * in base64url has bits that mean nothing, and some signatures have two forms.
   */
  signed: v.optional(SHA256),
  /** Of an access token: when the provider made it, by its clock, ISO 8601. */
  issued: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});

/** A named token as the file has it. The field is not `scopes`, so that 0.1.0 does not take `read` for what it was there. */
const TOKEN = v.object({
  ...COMMON,
  allows: v.pipe(v.array(SCOPE), v.minLength(1)),
  /** Set for a session. */
  person: v.optional(PERSON),
  /** The selection of hosts for which it is alone. */
  on: v.optional(v.string()),
});

/** As 0.1.0 wrote it. */
const TOKEN_OF_0_1 = v.pipe(
  v.object({ ...COMMON, scopes: v.pipe(v.array(v.picklist(["read", "metrics"])), v.minLength(1)) }),
  v.transform(({ scopes, ...token }): v.InferOutput<typeof TOKEN> => {
    return { ...token, allows: scopes.flatMap((scope) => (scope === "read" ? READ_OF_0_1 : [scope])) };
  }),
);

/** A named token as the file has it. */
export type NamedToken = v.InferOutput<typeof TOKEN>;

/** Reads an entry of the file. */
const parseToken = (value: unknown) =>
  parseBy(Object.hasOwn(Object(value), "allows") ? TOKEN : TOKEN_OF_0_1)(value);

/** The file, and the lock file of those who change it. */
export type Place = EndedPlace & { readonly tokens: string };

/** The tokens of the file, and those that are over. */
export type TokenStore = JsonStore<NamedToken> & { readonly ended: JsonStore<EndedToken> };

/** The tokens of `{config_dir}`, in the order of the file. */
export function tokenStore(place: Place, log: Log, publish = unheard): TokenStore {
  const { tokens, tokensLock } = place;
  const options: JsonStoreOptions<NamedToken> = {
    file: tokens,
    lock: tokensLock,
    what: "a list of tokens",
    list: "tokens",
    key: "name",
    parse: parseToken,
    changed(what, { name, allows: scopes, expires }) {
      if (what === "removed") publish(tokenRemoved, { name });
      else publish(what === "added" ? tokenAdded : tokenChanged, { name, scopes, expires: expires ?? null });
    },
  };
  const store = createJsonStore(options, log);
  return { ...store, ended: endedTokenStore(place, log) };
}

/** What operations on tokens use of the service. */
export interface TokenUses {
  readonly configDir: string;
  readonly log: Log;
  events(): { readonly publish: Publish };
}

/** The tokens of the host, whose changes are published. */
export const storeOf = ({ configDir, log, events }: TokenUses): TokenStore =>
  tokenStore(configFiles(configDir), log, events().publish);

/**
 * Adds a token and returns it. Only its digest is kept, so it cannot be shown again.
 *
 * @param own the host's own token, which cannot be a named token as well.
 * @throws a `conflict` failure when the name or the token is taken or there are {@link MAX_TOKENS}; `bad_input` for a token
 *   that no client could send; `unavailable` when the file cannot be read.
 */
export async function addToken(
  store: JsonStore<NamedToken>,
  { name, scope, token: given, expires_s, unless_prolonged_s }: NewToken,
  own?: string,
): Promise<string> {
  const token = given === undefined ? newToken() : checkToken(given, "token");
  // Nobody chose a token that has an id: this svc made it, or another.
  const generated = idOf(token) !== undefined;
  if (token === own) throw conflict("token: this is the host's own token, which allows everything");
  const entry = entryOf(token, lifeOf(expires_s ?? (generated ? LIFETIME_S : "never")));
  return store.change((list) => {
    if (list.has(name)) throw conflict(`name: ${name} is already taken`);
    const same = list.entries.find(
      ({ sha256, previous }) =>
        sha256 === entry.sha256 || previous.some((one) => one.sha256 === entry.sha256),
    );
    if (same) throw conflict(`token: ${same.name} already has this token`);
    if (list.entries.length >= MAX_TOKENS) throw busy(`there are already ${MAX_TOKENS} tokens`, "conflict");
    const created = new Date().toISOString();
    const first = unless_prolonged_s !== undefined && { expires: inSeconds(unless_prolonged_s) };
    list.add({ name, allows: scope, created, ...entry, ...first, generated, previous: [] });
    return token;
  });
}

const lifeOf = (expires: number | "never") => (expires === "never" ? undefined : expires);

/**
 * Sets what `change` makes of the token that has the name: a new token, or what is known of its old ones.
 *
 * @param expires_s how long the new token works (default: as long as the old one was made for).
 * @returns what `change` returns.
 * @throws a `not_found` failure when no token has the name; `unavailable` when the file cannot be read; what `change` throws.
 */
export async function changeToken<T extends { readonly kept: TokenRotation }>(
  store: TokenStore,
  name: string,
  change: (old: TokenRotation) => T,
  expires_s?: number | "never",
): Promise<T> {
  const { old, changed } = await store.change((list) => {
    const old = list.entries.find((known) => known.name === name);
    if (!old) throw noSuchToken(name);
    if (old.person) throw conflict("a session is not replaced: who has it signs in again");
    const changed = change(expires_s === undefined ? old : { ...old, lifetime_s: lifeOf(expires_s) });
    const { sha256, id, generated, expires, lifetime_s, previous } = changed.kept;
    list.update(name, { sha256, id, generated, expires, lifetime_s, previous });
    return { old, changed };
  });
  await noteEnded(store.ended, "replaced", old, changed.kept);
  return changed;
}

/** Sets what a token allows from now on. @throws `not_found` when no token has the name; `unavailable` as {@link changeToken}. */
export function changeScopes(
  store: JsonStore<NamedToken>,
  name: string,
  scopes: readonly Scope[],
): Promise<void> {
  return store.change((list) => {
    if (!list.entries.some((known) => known.name === name)) throw noSuchToken(name);
    list.update(name, { allows: [...scopes] });
  });
}

/** A token is prolonged when it has less than this left, in milliseconds: 30 days, of 90 that it has by default. */
const PROLONG_BELOW_MS = 30 * 86_400_000;

/**
 * Lets a token that ends soon work as long again as it was made for, as of now. One that has ended stays so.
 *
 * @throws `unavailable` when the file cannot be read or written.
 */
export async function prolongToken(store: JsonStore<NamedToken>, name: string): Promise<void> {
  const dueIn = (entries: readonly NamedToken[]) =>
    entries.find((token) => {
      const left = endOf(token.expires) - Date.now();
      return token.name === name && left > 0 && left < PROLONG_BELOW_MS;
    });
  if (!dueIn(store.entries())) return;
  await store.change((list) => {
    const due = dueIn(list.entries);
    if (due) list.update(name, { expires: inSeconds(due.lifetime_s ?? LIFETIME_S) });
  });
}

/** Revokes a token. @throws `not_found` when no token has the name; `unavailable` when the file cannot be read. */
export async function removeToken(store: TokenStore, name: string): Promise<void> {
  const removed = await store.change((list) => {
    const found = list.entries.find((token) => token.name === name);
    if (!found) throw noSuchToken(name);
    endIn(list, found);
    return found;
  });
  if (removed) await noteEnded(store.ended, "removed", removed);
}

/** Revokes the tokens that `which` chooses. @returns their names. @throws `unavailable` when the file cannot be read or written. */
export async function removeTokens(
  store: TokenStore,
  which: (token: NamedToken) => boolean,
): Promise<string[]> {
  // Not before the lock: a session may be about to begin, of whom nobody knew yet that they were signed out.
  const removed = await store.change((list) => {
    const found = list.entries.filter((token) => which(token) && !isEnded(token));
    for (const token of found) endIn(list, token);
    return found;
  });
  for (const token of removed) await noteEnded(store.ended, "removed", token);
  return removed.map(({ name }) => name);
}

/** Ends a token. One of the provider would begin a session again: it stays here, as one that has ended, until the provider's word for it has. */
function endIn(list: EntryList<NamedToken>, token: NamedToken): void {
  if (isBrought(token)) list.update(token.name, { expires: LONG_AGO });
  else list.remove(token.name);
}

/** When a token has ended that was ended: no clock that is set back brings it back. */
const LONG_AGO = new Date(0).toISOString();

/** Whether it was ended, and is kept so that it does not come back. */
export const isEnded = ({ expires }: Pick<NamedToken, "expires">): boolean => endOf(expires) === 0;

/** By how much a clock may be set back that was right, in milliseconds. */
export const SKEW_MS = 60_000;

/**
 * Whether it is a session that begins in the future: the clock of this host was ahead when it began, or is behind. Tokens that are no sessions count
 * all the same: a host may start with a clock that is years behind.
 */
export const isYetToBegin = (
  { person, created }: Pick<NamedToken, "person" | "created">,
  now = Date.now(),
): boolean => person !== undefined && Date.parse(created) > now + SKEW_MS;

/** Whether it is an access token of the provider, which is good for an address with a path; a page has none. */
export const isBrought = ({ person }: Pick<NamedToken, "person">): boolean =>
  person?.origin !== undefined && new URL(person.origin).pathname !== "/";

const noSuchToken = (name: string) => notFound(`no token is named ${printable(name, 64)}`);

/** Whether a token, or one that it replaced, works now. */
export function worksNow(token: NamedToken): boolean {
  const now = Date.now();
  if (isYetToBegin(token, now)) return false;
  return endOf(token.expires) > now || token.previous.some(({ until }) => endOf(until) > now);
}

/** When what ends at `time` does, in milliseconds since 1970; never where there is none. */
export const endOf = (time: string | undefined) =>
  time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time);

/**
 * Sessions of people: each is a named token that this host made when somebody signed in, so that it ends, is limited and is on record as
 * any other.
 *
 * The promise: a session ends when it was not used for the idle time, and at the end of its life however much it is used. The provider
 * and the owner of the host may end it before.
 */
import { isSameHolder } from "../../core/rights";
import { busy } from "../../lib/errors";
import type { JsonStore } from "../../lib/json-store";
import { isBrought, MAX_TOKENS, type NamedToken, removeTokens, type TokenStore } from "../named-tokens";
import { entryOf } from "../rotation";
import { digestToken, hexOf } from "../scopes";
import { idOf, newToken } from "../token";
import type { GroupRule } from "./groups";

/** Who somebody is, by the word of the provider. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  /** What people call them: a user name or an address. */
  readonly label: string;
  /** The session at the provider, where it says. */
  readonly sid: string | undefined;
}

/** How long sessions live, in seconds. */
export interface Lifetime {
  /** Without a request. */
  readonly idleS: number;
  /** However much it is used. */
  readonly lifeS: number;
}

/** The most sessions that a person has at a time; the oldest make place. */
const MAX_SESSIONS = 32;

/** The most characters of a label in a name. */
const MAX_LABEL = 64;

/** As many as svc's own tokens have characters in their ids. */
const ID_DIGITS = 8;

/** How long after its end the clocks of others may take an access token for good, in milliseconds. */
const SKEW_MS = 60_000;

const kept = (until: string) => new Date(Date.parse(until) + SKEW_MS).toISOString();

const isPast = (time: string | undefined, now: number) => time !== undefined && Date.parse(time) <= now;

/**
 * Who a person is in names: the label as far as a name has such signs, and a part of the digest of issuer and subject. Labels are
 * reassigned at providers, and may look alike; subjects do not.
 */
export function personName({ issuer, subject, label }: Omit<Person, "sid">): string {
  const digest = hexOf(digestToken(JSON.stringify([issuer, subject])));
  const plain = label.replaceAll(/[^A-Za-z0-9._@+-]/g, "_").slice(0, MAX_LABEL) || "_";
  return `oidc:${plain}~${digest.slice(0, 10)}`;
}

/** A session that has begun. */
export interface NewSession {
  readonly token: string;
  readonly name: string;
  /** When it ends if it is not used, ISO 8601. */
  readonly expires: string;
  /** When it ends however much it is used, ISO 8601. */
  readonly until: string;
}

/** How a session is used. */
export interface SessionUse {
  /** Of the page that alone may use it, or what its access token is for; undefined for a command line. */
  readonly origin?: string | undefined;
  /** An access token of the provider, which is its token: it ends with that, `until` in milliseconds since the epoch. */
  readonly access?: { readonly token: string; readonly until: number } | undefined;
  /** Called just before it begins, while nobody else begins or ends one: throws where the provider has ended it meanwhile. */
  readonly still?: () => void;
}

/** What is signed of an access token, as a digest: its signature may be written in several ways. */
const signedOf = (token: string): string => hexOf(digestToken(token.replace(/\.[^.]*$/, "")));

/** Whether that access token has had its session, in whatever text: it begins no other. */
export function hadSession(entries: readonly NamedToken[], token: string): boolean {
  const [sha256, signed] = [hexOf(digestToken(token)), signedOf(token)];
  return entries.some((one) => one.sha256 === sha256 || one.person?.signed === signed);
}

/**
 * Begins a session. What is over, of anybody, is forgotten.
 *
 * @throws a `busy` failure where there are too many tokens; `unavailable` where the file cannot be read or written.
 */
export async function beginSession(
  store: TokenStore,
  person: Person,
  { scopes, on }: Pick<GroupRule, "scopes" | "on">,
  { idleS, lifeS }: Lifetime,
  { origin, access, still }: SessionUse = {},
): Promise<NewSession> {
  const token = access?.token ?? newToken();
  const holder = personName(person);
  const now = Date.now();
  const leftS = access ? (access.until - now) / 1_000 : lifeS;
  const until = new Date(now + leftS * 1_000).toISOString();
  const entry = entryOf(token, access ? leftS : Math.min(idleS, leftS));
  const name = `${holder}/${idOf(token) ?? entry.sha256.slice(0, ID_DIGITS)}`;
  const { issuer, subject, sid } = person;
  const session: NamedToken = {
    ...{ name, allows: [...scopes], created: new Date(now).toISOString(), generated: true, previous: [] },
    ...entry,
    person: { issuer, subject, sid, origin, until, ...(access && { signed: signedOf(access.token) }) },
    on,
  };
  const isOver = (one: NamedToken) =>
    one.person && isPast(isBrought(one) ? kept(one.person.until) : one.expires, now);
  await store.change((list) => {
    // Several requests may have brought it at the same time.
    // Also one whose session was ended: it begins none again.
    if (access && hadSession(list.entries, token)) return;
    still?.();
    const over = list.entries.filter(isOver).map((one) => one.name);
    list.removeAll(over);
    const own = list.entries.filter(
      (one) => one.person && isSameHolder(one.name, holder) && !isPast(one.expires, now),
    );
    list.removeAll(own.slice(0, Math.max(0, own.length - MAX_SESSIONS + 1)).map((one) => one.name));
    if (list.entries.length >= MAX_TOKENS) throw busy(`there are already ${MAX_TOKENS} tokens`, "conflict");
    list.add(session);
  });
  return { token, name, expires: entry.expires ?? until, until };
}

/** Lets a session work for the idle time from now on, but not beyond its life. Nothing for one that has ended. */
export async function prolongSession(
  store: JsonStore<NamedToken>,
  name: string,
  idleS: number,
): Promise<void> {
  const now = Date.now();
  await store.change((list) => {
    const found = list.entries.find((token) => token.name === name);
    if (!found?.person || !found.expires || Date.parse(found.expires) <= now) return;
    const end = Math.min(now + idleS * 1_000, Date.parse(found.person.until));
    list.update(name, { expires: new Date(end).toISOString() });
  });
}

/** Ends the sessions of who the provider names: one of theirs there, or all. @returns their names. */
export async function endSessions(
  store: TokenStore,
  { issuer, subject, sid }: { readonly issuer: string; readonly subject?: string; readonly sid?: string },
): Promise<string[]> {
  // Where the provider names its session alone, the others of that session say whose it is.
  const subjects = new Set(
    store.entries().flatMap(({ person }) => (sid !== undefined && person?.sid === sid ? person.subject : [])),
  );
  return removeTokens(store, ({ person }) => {
    if (person?.issuer !== issuer) return false;
    if (subject === undefined ? !subjects.has(person.subject) : person.subject !== subject) return false;
    // A session of which the provider told no id may be that one.
    return sid === undefined || person.sid === undefined || person.sid === sid;
  });
}

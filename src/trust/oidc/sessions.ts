/**
 * Sessions of people: each is a named token that this host made when somebody signed in, so that it ends, is limited and is on record as
 * any other.
 *
 * The promise: a session ends when it was not used for the idle time, and at the end of its life however much it is used. The provider
 * and the owner of the host may end it before. One that began while the clock of this host was ahead is none once the clock is right.
 */
import { isSameHolder } from "../../core/rights";
import { busy, forbidden } from "../../lib/errors";
import type { EntryList, JsonStore } from "../../lib/json-store";
import {
  isBrought,
  isEnded,
  isYetToBegin,
  MAX_TOKENS,
  type NamedToken,
  removeTokens,
  type TokenStore,
} from "../named-tokens";
import { entryOf } from "../rotation";
import { digestToken, hexOf } from "../scopes";
import { personDigest } from "../signed-out";
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

/** The most sessions that a person has at a time, and as many of access tokens besides, which agents bring; the oldest make place. */
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
 * reassigned at providers, and may look alike; subjects do not. Where people choose theirs, nobody finds one that has the same part.
 */
export function personName({ label, ...who }: Omit<Person, "sid">): string {
  const plain = label.replaceAll(/[^A-Za-z0-9._@+-]/g, "_").slice(0, MAX_LABEL) || "_";
  return `oidc:${plain}~${personDigest(who)}`;
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

/** An access token of the provider, which is the token of its session. In milliseconds since the epoch. */
interface AccessToken {
  readonly token: string;
  /** When its session ends. */
  readonly until: number;
  /** When the provider made it, by its clock. */
  readonly issued: number;
}

/** How a session is used. */
export interface SessionUse {
  /** Of the page that alone may use it, or what its access token is for; undefined for a command line. */
  readonly origin?: string | undefined;
  /** Of a page: the digest of what it proves itself with, hexadecimal. */
  readonly page?: string | undefined;
  readonly access?: AccessToken | undefined;
  /** Called just before it begins, while nobody else begins or ends one: throws where the provider has ended it meanwhile. */
  readonly still?: () => void;
  /** Notes that access tokens of this person count no more, as far as they were made until then (milliseconds since the epoch). */
  readonly pushOut?: (until: number) => Promise<void>;
}

/** What is signed of an access token, as a digest: its signature may be written in several ways. */
const signedOf = (token: string): string => hexOf(digestToken(token.replace(/\.[^.]*$/, "")));

/** Whether that access token has had its session, in whatever text: it begins no other. */
export function hadSession(entries: readonly NamedToken[], token: string): boolean {
  const [sha256, signed] = [hexOf(digestToken(token)), signedOf(token)];
  return entries.some((one) => one.sha256 === sha256 || one.person?.signed === signed);
}

/** Whether a session is over, and needs no place any more. */
const isOver = (one: NamedToken, now: number) =>
  one.person && isPast(isBrought(one) ? kept(one.person.until) : one.expires, now);

/**
 * Begins a session. What is over, of anybody, is forgotten; those of a person that make place for it have ended.
 *
 * @returns it, and the names of those.
 * @throws a `busy` failure where there are too many tokens; `forbidden` for an access token for which newer ones leave no place;
 *   `unavailable` where the file cannot be read or written.
 */
export async function beginSession(
  store: TokenStore,
  person: Person,
  { scopes, on }: Pick<GroupRule, "scopes" | "on">,
  { idleS, lifeS }: Lifetime,
  { origin, page, access, still, pushOut }: SessionUse = {},
): Promise<NewSession & { readonly pushedOut: readonly string[] }> {
  const token = access?.token ?? newToken();
  const holder = personName(person);
  const now = Date.now();
  const leftS = access ? (access.until - now) / 1_000 : lifeS;
  const until = new Date(now + leftS * 1_000).toISOString();
  const entry = entryOf(token, access ? leftS : Math.min(idleS, leftS));
  const name = `${holder}/${idOf(token) ?? entry.sha256.slice(0, ID_DIGITS)}`;
  const { issuer, subject, sid } = person;
  const issued = access && { signed: signedOf(access.token), issued: new Date(access.issued).toISOString() };
  const session: NamedToken = {
    name,
    allows: [...scopes],
    created: new Date(now).toISOString(),
    generated: true,
    previous: [],
    ...entry,
    person: { issuer, subject, sid, origin, page, until, ...issued },
    on,
  };
  const pushedOut = await store.change(async (list) => {
    // Several requests may have brought it at the same time.
    // Also one whose session was ended: it begins none again.
    if (access && hadSession(list.entries, token)) return [];
    still?.();
    list.removeAll(list.entries.filter((one) => isOver(one, now)).map((one) => one.name));
    const own = list.entries.filter(
      (one) =>
        one.person &&
        isSameHolder(one.name, holder) &&
        !isPast(one.expires, now) &&
        isBrought(one) === (access !== undefined),
    );
    const gone = await makePlace(list, own, access, pushOut);
    if (list.entries.length >= MAX_TOKENS) throw busy(`there are already ${MAX_TOKENS} tokens`, "conflict");
    list.add(session);
    return gone;
  });
  return { token, name, expires: entry.expires ?? until, until, pushedOut };
}

/** When the provider made the access token of a session. */
const issuedOf = ({ person }: NamedToken) => Date.parse(person?.issued ?? "") || 0;

/**
 * Ends the oldest sessions of a person where there are {@link MAX_SESSIONS}: those that began first, and of access tokens those that were
 * made first. None of these begins one again, nor does one that is as old. What agents bring takes no place of what people use.
 *
 * @param own the sessions of the same kind, in the order in which they began.
 * @returns their names. @throws a `forbidden` failure for an access token that is as old as those that would go.
 */
async function makePlace(
  list: EntryList<NamedToken>,
  own: readonly NamedToken[],
  access: AccessToken | undefined,
  pushOut: SessionUse["pushOut"],
): Promise<string[]> {
  const sorted = access ? own.toSorted((one, other) => issuedOf(one) - issuedOf(other)) : own;
  const oldest = sorted.slice(0, Math.max(0, own.length - MAX_SESSIONS + 1));
  const last = oldest.at(-1);
  if (access && last) {
    if (access.issued <= issuedOf(last))
      throw forbidden(`${MAX_SESSIONS} newer access tokens of this person are in use: get another`);
    await pushOut?.(issuedOf(last));
  }
  return list.removeAll(oldest.map(({ name }) => name));
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

/**
 * Ends the sessions that began while the clock of this host was ahead: they would live for so much longer.
 *
 * @param ask asks the provider for the time, where there seem to be some: it may be this clock that is behind, and then they are good again once
 *   it is right.
 * @returns their names. @throws `unavailable` where the file cannot be read or written; what `ask` throws.
 */
export async function endUnbegun(store: TokenStore, ask: () => Promise<number>): Promise<string[]> {
  if (!store.entries().some((one) => isYetToBegin(one))) return [];
  const now = await ask();
  return removeTokens(store, (one) => isYetToBegin(one, now));
}

/** Whose sessions the provider has ended. */
export interface EndedThere {
  readonly issuer: string;
  readonly subjects: readonly string[];
  /** The session there; undefined for all of them. */
  readonly sid: string | undefined;
}

/**
 * Whom the provider means. Where it names its session alone, the sessions here of that one say whose it is.
 *
 * @throws `unavailable` where the file of the tokens cannot be read.
 */
export function endedThere(
  store: TokenStore,
  issuer: string,
  { subject, sid }: { readonly subject: string | undefined; readonly sid: string | undefined },
): EndedThere {
  const isThatOne = ({ person }: NamedToken) => person?.issuer === issuer && person.sid === sid;
  const known = () => store.entries().flatMap((one) => (isThatOne(one) ? (one.person?.subject ?? []) : []));
  return { issuer, subjects: subject === undefined ? [...new Set(known())] : [subject], sid };
}

/** Whether a token is one of those sessions. */
const isAmong =
  ({ issuer, subjects, sid }: EndedThere) =>
  ({ person }: NamedToken): boolean => {
    if (person?.issuer !== issuer || !subjects.includes(person.subject)) return false;
    // A session of which the provider told no id may be that one.
    return sid === undefined || person.sid === undefined || person.sid === sid;
  };

/** The names of those sessions that there are. @throws `unavailable` where the file of the tokens cannot be read. */
export const sessionsOf = (store: TokenStore, those: EndedThere): string[] =>
  store
    .entries()
    .filter((one) => isAmong(those)(one) && !isEnded(one))
    .map(({ name }) => name);

/** Ends those sessions. @returns their names. @throws `unavailable` where the file cannot be read or written. */
export const endSessions = (store: TokenStore, those: EndedThere): Promise<string[]> =>
  removeTokens(store, isAmong(those));

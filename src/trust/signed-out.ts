/**
 * Whose words of before count no more: `{config_dir}/signed_out.json` notes who was signed out, by the provider or here, and when.
 *
 * The promise: what the provider said of a person before that begins no session any more, whether it is a code for a command line, a
 * device, an access token that nobody has brought yet, or a sign-in under way; also after svc was started again. While the file cannot be
 * read, nobody signs in. It has digests and times, no name. It is bounded: where there are too many, what is as old as those that are
 * left out counts for nobody. What was noted while a clock was ahead keeps nobody out for longer than until the provider has said what time it is.
 */
import * as v from "valibot";
import { forbidden } from "../lib/errors";
import { createJsonStore, type EntryList, type JsonStore, parseBy } from "../lib/json-store";
import type { Log } from "../lib/log";
import { digestToken, hexOf } from "./scopes";

/** How many are kept. */
const MAX_SIGNED_OUT = 10_000;

/** How long, in milliseconds: nothing that a provider says is good for longer than a session may live, which is a week. */
const KEPT_MS = 8 * 86_400_000;

const TIME = v.pipe(v.string(), v.isoTimestamp());

const ENTRY = v.object({
  /**
   * `person` and a digest: all that is said of them; `apart`: as far as the provider names no session of its own; `access`: in access
   * tokens; `session` and a digest: all of that session there, at any time; `everybody`.
   */
  who: v.pipe(
    v.string(),
    v.regex(/^(?:(?:person|apart|access) [0-9a-f]{32}|session [0-9a-f]{64}|everybody)$/),
  ),
  /** What was said until then counts no more, ISO 8601; by the clock of the provider as far as it is known. */
  at: TIME,
});

/** An entry of the file. */
export type SignedOutEntry = v.InferOutput<typeof ENTRY>;

/** The file, and the lock file of those who change it. */
export type SignedOutPlace = { readonly signedOut: string; readonly signedOutLock: string };

/** Who somebody is at a provider. */
interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** What stands for a person in names: 128 bits of the digest of issuer and subject, hexadecimal. */
export const personDigest = ({ issuer, subject }: Identity): string =>
  hexOf(digestToken(JSON.stringify([issuer, subject]))).slice(0, 32);

/** What stands for a person in the name of a session, or of the person; undefined in any other name. */
const digestIn = (name: string): string | undefined => /^oidc:[^~]*~([0-9a-f]{32})(?:\/|$)/.exec(name)?.[1];

const sessionKey = (issuer: string, sid: string) => hexOf(digestToken(JSON.stringify([issuer, sid])));

/** Whom somebody has signed out. `at`: in milliseconds since the epoch, by the clock of the provider as far as it is known. */
export type SignedOutOne =
  /** All that is said of a person, by {@link personDigest}. */
  | { readonly person: string; readonly at: number }
  /** The same, as far as the provider names no session of its own. */
  | { readonly apart: string; readonly at: number }
  /** The same, in access tokens. */
  | { readonly access: string; readonly at: number }
  /** A session at the provider. */
  | { readonly issuer: string; readonly sid: string; readonly at: number };

function whoOf(one: SignedOutOne): string {
  if ("person" in one) return `person ${one.person}`;
  if ("apart" in one) return `apart ${one.apart}`;
  if ("access" in one) return `access ${one.access}`;
  return `session ${sessionKey(one.issuer, one.sid)}`;
}

export interface SignedOut {
  /** Resolves once it is on disk. @throws `unavailable` where the file cannot be read or written. */
  note(...who: readonly SignedOutOne[]): Promise<void>;
  /**
   * Lets what was noted for a time that is yet to come, as the clock was ahead, count as noted now.
   *
   * @param now by the clock of the provider as far as it is known, in milliseconds since the epoch.
   * @param ask asks the provider for the time, where there is such a note: a clock that is behind, or was set back, revives no word of before.
   * @throws `unavailable` where the file cannot be read or written; what `ask` throws.
   */
  bound(now: number, ask: () => Promise<number>): Promise<void>;
  /**
   * @param said.issued when the provider said it, by its clock, in milliseconds since the epoch.
   * @throws `forbidden` for what counts no more; `unavailable` where the file cannot be read.
   */
  require(
    who: Identity & { readonly sid: string | undefined },
    said: { readonly issued: number; readonly isAccessToken: boolean },
  ): void;
}

/** The entries of the file. */
export const signedOutStore = (
  { signedOut: file, signedOutLock: lock }: SignedOutPlace,
  log: Log,
): JsonStore<SignedOutEntry> =>
  createJsonStore<SignedOutEntry>(
    {
      file,
      lock,
      what: "a list of people who were signed out",
      list: "signed_out",
      key: "who",
      // Whom one that is left out names would come back.
      parse: parseBy(ENTRY),
      whole: true,
    },
    log,
  );

/** Who was signed out, as the file says. @param most how many entries are kept. */
export function createSignedOut(place: SignedOutPlace, log: Log, most = MAX_SIGNED_OUT): SignedOut {
  const store = signedOutStore(place, log);
  return {
    async note(...who) {
      if (who.length === 0) return;
      await store.change((list) => {
        for (const one of who) put(list, whoOf(one), one.at);
        forget(list, most);
      });
    },
    async bound(now, ask) {
      if (!store.entries().some(isYetToCome(now))) return;
      const right = await ask();
      await store.change((list) => {
        for (const { who } of list.entries.filter(isYetToCome(right)))
          list.replace({ who, at: new Date(right).toISOString() });
      });
    },
    require({ sid, ...who }, { issued, isAccessToken }) {
      const times = timesOf(store.entries());
      const person = personDigest(who);
      const isBefore = (key: string) => issued <= (times.get(key) ?? Number.NEGATIVE_INFINITY);
      const isOver = sid !== undefined && times.has(`session ${sessionKey(who.issuer, sid)}`);
      if (isOver || isBefore(`person ${person}`) || isBefore("everybody")) throw forbidden(SIGNED_OUT);
      if (sid === undefined && isBefore(`apart ${person}`)) throw forbidden(SIGNED_OUT);
      if (isAccessToken && isBefore(`access ${person}`)) throw forbidden(PUSHED_OUT);
    },
  };
}

/**
 * Notes that what the provider has said until now of persons begins no session any more.
 *
 * @param names of their sessions, or of themselves; no other name has anything noted.
 * @param at the time by the clock of the provider, as far as that is known, in milliseconds since the epoch.
 * @throws `unavailable` where the file cannot be read or written.
 */
export async function notePersons(
  place: SignedOutPlace,
  log: Log,
  names: readonly string[],
  at = Date.now(),
): Promise<void> {
  const persons = new Set(names.flatMap((name) => digestIn(name) ?? []));
  await createSignedOut(place, log).note(...[...persons].map((person) => ({ person, at })));
}

/** What an answer of the provider is that came before the person was signed out. */
const SIGNED_OUT = "the provider or this server has signed this person out meanwhile: begin again";

/** What an access token is where there are too many. */
const PUSHED_OUT = "newer access tokens of this person have taken its place: get another";

const known = new WeakMap<readonly SignedOutEntry[], ReadonlyMap<string, number>>();

/** The times of the entries, in milliseconds since the epoch; made once for each list, as the file is the same most of the time. */
function timesOf(entries: readonly SignedOutEntry[]): ReadonlyMap<string, number> {
  const found = known.get(entries) ?? new Map(entries.map(({ who, at }) => [who, Date.parse(at)]));
  known.set(entries, found);
  return found;
}

/** By how much clocks may differ, in milliseconds. */
const SKEW_MS = 60_000;

const isYetToCome =
  (now: number) =>
  ({ at }: SignedOutEntry): boolean =>
    Date.parse(at) > now + SKEW_MS;

/** What was said later may be noted earlier. */
function put(list: EntryList<SignedOutEntry>, who: string, at: number): void {
  const before = list.entries.find((one) => one.who === who);
  const latest = before ? Math.max(Date.parse(before.at), at) : at;
  list.replace({ who, at: new Date(latest).toISOString() });
}

/**
 * Leaves out what is over, and what is too much. What is as old counts for nobody then: this clock may have been ahead when it seemed over, and
 * what was said before must not count again once it is right.
 */
function forget(list: EntryList<SignedOutEntry>, most: number): void {
  const over = new Date(Date.now() - KEPT_MS).toISOString();
  leaveOut(
    list,
    list.entries.filter(({ who, at }) => who !== "everybody" && at < over),
  );
  const surplus = list.entries.length - most;
  if (surplus <= 0) return;
  const oldest = list.entries
    .filter(({ who }) => who !== "everybody")
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    // A place for what stands for them, where it has none yet.
    .slice(0, list.has("everybody") ? surplus : surplus + 1);
  leaveOut(list, oldest);
}

function leaveOut(list: EntryList<SignedOutEntry>, those: readonly SignedOutEntry[]): void {
  if (those.length === 0) return;
  list.removeAll(those.map(({ who }) => who));
  put(list, "everybody", Math.max(...those.map(({ at }) => Date.parse(at))));
}

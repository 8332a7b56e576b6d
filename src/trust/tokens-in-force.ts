/**
 * Which named tokens a server takes, as their file is now.
 *
 * The promise: a new token is taken at once, and a revoked one refused within a second, or at once after `service.refresh`. A file or
 * an entry that cannot be used lets nobody in.
 */
import { type Grant, isSession } from "../core/rights";
import { messageOf } from "../lib/errors";
import { watchFile } from "../lib/files";
import type { Log } from "../lib/log";
import { watchEndedTokens } from "./ended-tokens";
import { endOf, isYetToBegin, type NamedToken, type Place, tokenStore } from "./named-tokens";
import { type GrantOf, sameToken, type TokenDigest } from "./scopes";

const UNBEGUN = "the session began while the clock of this host was another: sign in again";

interface TokenEntry {
  readonly grant: Grant;
  readonly digest: TokenDigest;
  readonly generated: boolean;
  readonly until: number;
  /** What it is of. */
  readonly of: Pick<NamedToken, "person" | "created">;
  /** How it is over once it is that late. */
  readonly how: "has expired" | "was replaced";
}

/**
 * What the tokens in the file allow, as the file is now: those that svc generated, and those that it was given. A look-up
 * takes the same time however many there are.
 *
 * @param issuer the provider whose sessions count (default: none do).
 */
export function watchTokens(place: Place, log: Log, issuer?: string) {
  const store = tokenStore(place, log);
  const inForce = watchFile(
    place.tokens,
    (): ReadonlyMap<number, TokenEntry> => {
      const known = store.entries().filter(({ person }) => !person || person.issuer === issuer);
      return new Map(known.flatMap(indexed));
    },
    (error, isNew) => {
      if (isNew) log.error(`only the host's own token is in force: ${messageOf(error)}`);
      return new Map();
    },
  );
  const over = watchEndedTokens(place, log);
  const among =
    (wanted: boolean): GrantOf =>
    (sent, fresh) => {
      const found = inForce(fresh).get(keyOf(sent));
      const isIt = found && found.generated === wanted && sameToken(sent, found.digest);
      return isIt && found.until > Date.now() && !isYetToBegin(found.of) ? found.grant : undefined;
    };
  return {
    generated: among(true),
    given: among(false),
    /**
     * What became of a token that svc made and that is over, in words; undefined for any other. A token that a person chose is never
     * told from a wrong one: whoever guesses it learns nothing.
     */
    ended(sent: TokenDigest): string | undefined {
      const found = inForce().get(keyOf(sent));
      if (!found?.generated || !sameToken(sent, found.digest)) return over(sent);
      if (found.until > Date.now()) return isYetToBegin(found.of) ? UNBEGUN : undefined;
      if (found.until === 0) return over(sent) ?? "the session has ended: sign in again";
      return `the token ${found.grant.name} ${found.how} (${new Date(found.until).toISOString()})`;
    },
    /** The digest of the token that has the name now, hexadecimal; undefined where none has it. */
    digestOf: (name: string): string | undefined =>
      [...inForce(true).values()].find(({ grant }) => grant.name === name)?.grant.sha256,
  };
}

/** A token of the file and those that it replaced, by their keys. */
function indexed({
  name,
  allows: scopes,
  created,
  previous,
  person,
  on,
  ...current
}: NamedToken): Array<[number, TokenEntry]> {
  // The name of a person is never that of another.
  const since = isSession(name) ? {} : { since: Date.parse(created) };
  const { origin, page } = person ?? {};
  const limits = {
    ...(on !== undefined && { on }),
    ...(origin !== undefined && { origin }),
    ...(page !== undefined && { page }),
  };
  const now = { sha256: current.sha256, generated: current.generated, until: current.expires };
  return [now, ...previous].map(({ sha256, generated, until }, nth) => {
    const digest = Buffer.from(sha256, "hex");
    const ends = until === undefined ? {} : { ends: endOf(until) };
    const grant: Grant = { name, scopes, sha256, ...since, ...ends, ...limits };
    const how = nth === 0 ? "has expired" : "was replaced";
    const of = { person, created };
    return [keyOf(digest), { grant, digest, generated, until: endOf(until), of, how }];
  });
}

/**
 * The key of the index: 53 bits of the digest, as a number, so that a look-up makes nothing. Whoever could learn from the time of one
 * that a guess has the key of a token would know nothing of the token, and the digests are then compared whole.
 */
function keyOf(digest: TokenDigest): number {
  let key = 0;
  for (let at = 0; at < 6; at++) key = key * 256 + (digest[at] ?? 0);
  return key * 32 + ((digest[6] ?? 0) >> 3);
}

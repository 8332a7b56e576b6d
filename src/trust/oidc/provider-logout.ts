/**
 * What a logout token of the provider ends (OpenID Connect Back-Channel Logout 1.0).
 *
 * The promise: each part of it is done whatever became of the others, and what did not succeed is done when the provider sends it again.
 * The sessions end before that is on record, and in this process before that is on disk: neither a log nor a file that cannot be written keeps
 * anybody signed in.
 */
import { RecentMap } from "../../lib/buckets";
import { badInput } from "../../lib/errors";
import type { TokenStore } from "../named-tokens";
import { digestToken, hexOf } from "../scopes";
import { personDigest, type SignedOut } from "../signed-out";
import type { Provider } from "./provider";
import { endedThere, endSessions, sessionsOf } from "./sessions";

/** How many logout tokens that were used are remembered: each is good for two minutes. */
const MAX_USED = 10_000;

/** What ending sessions takes. */
export interface LogoutUses {
  readonly provider: Pick<Provider, "issuer" | "logout">;
  readonly store: TokenStore;
  readonly signedOut: Pick<SignedOut, "note">;
  /** Names of sessions that count as ended, whatever the file of the tokens says. */
  readonly ending: Set<string>;
  endWorkOf(name: string): Promise<unknown>;
}

/** Steps of which each is tried; the first that failed is thrown at the end. */
function createTries() {
  const faults: unknown[] = [];
  return {
    /** What the step returns; undefined where it failed. */
    try: <T>(step: () => T | Promise<T>): Promise<T | undefined> =>
      (async () => step())().catch((error) => {
        faults.push(error);
        return undefined;
      }),
    /** @throws what the first step threw that failed. */
    end(): void {
      if (faults.length > 0) throw faults[0];
    },
  };
}

/**
 * Ends what a logout token of the provider names, once.
 *
 * @returns a function of the token, and of what puts that on record. It returns how many sessions have ended, and throws `bad_input` for a
 *   token that is not valid, or came before; what failed.
 */
export function endingByProvider({ provider, store, signedOut, ending, endWorkOf }: LogoutUses) {
  const usedTokens = new RecentMap<true>(MAX_USED);
  /** Sessions that have ended, and what they have started has not. */
  const unfinished = new Set<string>();
  const { issuer } = provider;
  return async (token: string, announce: (subject: string) => Promise<void>): Promise<number> => {
    const { jti, subject, sid, at } = await provider.logout(token);
    const key = hexOf(digestToken(jti));
    if (usedTokens.get(key)) throw badInput("form: this logout token came before");
    usedTokens.set(key, true);
    const tries = createTries();
    const known = await tries.try(() => endedThere(store, issuer, { subject, sid }));
    const those = known ?? { issuer, subjects: subject === undefined ? [] : [subject], sid };
    const persons = those.subjects.map((one) => personDigest({ issuer, subject: one }));
    // First: what the provider said before begins none while they end.
    await tries.try(() =>
      signedOut.note(
        ...(sid === undefined ? [] : [{ issuer, sid, at }]),
        ...persons.map((one) => (sid === undefined ? { person: one, at } : { apart: one, at })),
      ),
    );
    const named = (await tries.try(() => sessionsOf(store, those))) ?? [];
    for (const name of named) ending.add(name);
    const ended = await tries.try(() => endSessions(store, those));
    if (ended) for (const name of named) ending.delete(name);
    for (const name of ended ?? named) unfinished.add(name);
    await Promise.all(
      [...unfinished].map((name) =>
        tries.try(async () => {
          await endWorkOf(name);
          unfinished.delete(name);
        }),
      ),
    );
    const whose = sid === undefined ? "of all sessions of a person" : "of a session";
    await tries.try(() => announce(`oidc.provider_logout ${whose}`));
    try {
      tries.end();
    } catch (error) {
      // The provider may send it again.
      usedTokens.delete(key);
      throw error;
    }
    return ended?.length ?? 0;
  };
}

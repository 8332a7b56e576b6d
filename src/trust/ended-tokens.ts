/**
 * Named tokens that are over, because they were removed or replaced: `{config_dir}/ended_tokens.json` notes their digests, so that who
 * still sends one hears what became of it.
 *
 * The promise: only tokens that svc made are noted, which nobody guesses; what the file says lets nobody in.
 */
import * as v from "valibot";
import { SHA256 } from "../core/fields";
import { isSession, NAME_TEXT, SESSION_NAME } from "../core/rights";
import { watchFile } from "../lib/files";
import { createJsonStore, type JsonStore, parseBy } from "../lib/json-store";
import type { Log } from "../lib/log";
import type { TokenRotation } from "./rotation";
import { hexOf, type TokenDigest } from "./scopes";

/** How many are kept: the newest. */
const MAX_ENDED = 256;

const ENDED_TOKEN = v.object({
  /** Digest of the token, hexadecimal. */
  sha256: SHA256,
  name: v.union([NAME_TEXT, SESSION_NAME]),
  how: v.picklist(["removed", "replaced"]),
  at: v.pipe(v.string(), v.isoTimestamp()),
});

/** A token that is over. */
export type EndedToken = v.InferOutput<typeof ENDED_TOKEN>;

/** The file, and the lock file of those who change it. */
export type EndedPlace = { readonly endedTokens: string; readonly tokensLock: string };

/** The tokens of the file, the oldest first. */
export const endedTokenStore = ({ endedTokens, tokensLock }: EndedPlace, log: Log): JsonStore<EndedToken> =>
  createJsonStore<EndedToken>(
    {
      file: endedTokens,
      lock: tokensLock,
      what: "a list of tokens that are over",
      list: "tokens",
      key: "sha256",
      parse: parseBy(ENDED_TOKEN),
      setsAside: true,
    },
    log,
  );

/**
 * Notes that a token is over, with those that it had replaced, but for what `still` has. Never throws: the token is over whether or not
 * that can be noted.
 */
export async function noteEnded(
  store: JsonStore<EndedToken>,
  how: EndedToken["how"],
  { name, ...old }: TokenRotation & { readonly name: string },
  still?: TokenRotation,
): Promise<void> {
  const kept = new Set([still?.sha256, ...(still?.previous ?? []).map(({ sha256 }) => sha256)]);
  const over = [...old.previous, old].filter(({ generated, sha256 }) => generated && !kept.has(sha256));
  if (over.length === 0) return;
  const at = new Date().toISOString();
  await store
    .change((list) => {
      for (const { sha256 } of over) {
        list.remove(sha256);
        list.add({ sha256, name, how, at });
      }
      for (const { sha256 } of list.entries.slice(0, -MAX_ENDED)) list.remove(sha256);
    })
    .catch(() => {});
}

/** What became of a token that is over, in words; undefined for one that is not known. A look-up takes the same time for each. */
export function watchEndedTokens(place: EndedPlace, log: Log): (sent: TokenDigest) => string | undefined {
  const store = endedTokenStore(place, log);
  const known = watchFile<ReadonlyMap<string, EndedToken>>(
    place.endedTokens,
    () => new Map(store.entries().map((one) => [one.sha256, one])),
    () => new Map(),
  );
  return (sent) => {
    const found = known(true).get(hexOf(sent));
    if (!found) return undefined;
    return isSession(found.name)
      ? `the session has ended (${found.at}): sign in again`
      : `the token ${found.name} was ${found.how} (${found.at})`;
  };
}

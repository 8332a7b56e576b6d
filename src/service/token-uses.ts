/**
 * The named tokens as the other features see them: how one ended, and those that this host makes for desks.
 */
import * as v from "valibot";
import { allows, isSecretScope, isSession, SCOPES } from "../core/rights";
import type { DeskTokens } from "../host/join/enter";
import { unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import { once } from "../lib/once";
import type { ConfigFiles } from "../lib/paths";
import type { NamedToken, TokenStore } from "../trust/named-tokens";

/**
 * How a named token ended: `was revoked` or `has expired`; null for one in force.
 *
 * @param since ISO 8601: a token of that name that was made later is another one.
 */
type HowEnded = (name: string, since?: string) => "was revoked" | "has expired" | null;

export interface TokenUses {
  /** Names of sessions that count as ended in this process, whatever the file says: their end is wanted, and not on disk yet. */
  readonly ending: Set<string>;
  /** As the file is now. While it is missing or broken, no token is known to have ended, nor is one whose entry is broken. */
  endings(): Promise<HowEnded>;
  /**
   * The same for plans, which go on when somebody resumes them: a session of a person that nobody has ended has expired, also once it is
   * forgotten, as all are that are over when the next one begins, of anybody.
   */
  endingsForPlans(): Promise<HowEnded>;
  /** @throws `unavailable` while the file, or the entry of that token, cannot be read: then nothing begins on its behalf. */
  requireKnown(name: string): Promise<void>;
  /** Lets a token that its desk uses over a link, and does not replace, work as long again. @throws as `prolongToken`. */
  prolong(name: string): Promise<void>;
  forDesks(): Promise<DeskTokens>;
}

/** How long a token lasts that a host sends to a desk, until the desk has answered, in seconds: what was killed meanwhile removes none. */
const JOINING_S = 3_600;

/** Whether somebody has ended the session, as far as that is noted. Never throws. */
function wasEnded({ ended, ...store }: TokenStore, session: string): boolean {
  try {
    // An access token of the provider is kept as long as its session could begin again.
    if (store.entries().some(({ name }) => name === session)) return true;
    return ended.entries().some(({ name }) => name === session);
  } catch {
    return false;
  }
}

/** @param endWorkOf stops what a token that was removed has started. */
export function createTokenUses(
  files: ConfigFiles,
  log: Log,
  endWorkOf: (name: string) => Promise<unknown>,
): TokenUses {
  const namedTokens = once(async () => {
    const { isEnded, tokenStore, worksNow } = await import("../trust/named-tokens");
    return { store: tokenStore(files, log), isEnded, worksNow };
  });
  const uses: TokenUses = {
    ending: new Set(),
    async endingsForPlans(): Promise<HowEnded> {
      const [{ store }, howEnded] = await Promise.all([namedTokens(), uses.endings()]);
      return (name, since) => {
        const how = howEnded(name, since);
        return how === "was revoked" && isSession(name) && !wasEnded(store, name) ? "has expired" : how;
      };
    },
    async endings(): Promise<HowEnded> {
      const { store, isEnded, worksNow } = await namedTokens();
      let known: ReadonlyMap<string, NamedToken> | undefined;
      return (name, since) => {
        if (uses.ending.has(name)) return "was revoked";
        try {
          // Most of the time nothing runs that a token started, and nobody asks.
          known ??= new Map(store.entries().map((token) => [token.name, token]));
          if (!known.has(name) && !store.isGone(name)) return null;
        } catch {
          return null;
        }
        const found = known.get(name);
        if (
          !found ||
          isEnded(found) ||
          (since !== undefined && Date.parse(found.created) > Date.parse(since))
        )
          return "was revoked";
        return worksNow(found) ? null : "has expired";
      };
    },
    async requireKnown(name: string): Promise<void> {
      const { store } = await namedTokens();
      if (store.entries().some((token) => token.name === name) || store.isGone(name)) return;
      throw unavailable(
        `the entry of the token ${name} in tokens.json cannot be used: \`svc token list\` says why`,
      );
    },
    async prolong(name: string): Promise<void> {
      const [{ store }, { prolongToken }] = await Promise.all([
        namedTokens(),
        import("../trust/named-tokens"),
      ]);
      await prolongToken(store, name);
    },
    async forDesks(): Promise<DeskTokens> {
      const [{ store }, named, { inSeconds }, { NEW_TOKEN }] = await Promise.all([
        namedTokens(),
        import("../trust/named-tokens"),
        import("../trust/rotation"),
        import("../trust/token-fields"),
      ]);
      const { addToken, changeScopes, LIFETIME_S, prolongToken, removeToken } = named;
      const find = (name: string) => store.entries().find((token) => token.name === name);
      return {
        async add(scopes) {
          let name = "desk";
          for (let nth = 2; find(name); nth++) name = `desk-${nth}`;
          const about = v.parse(NEW_TOKEN, { name, scope: [...scopes] });
          const token = await addToken(store, { ...about, unless_prolonged_s: JOINING_S });
          return { name, token, expires: inSeconds(LIFETIME_S) };
        },
        kept: (name) => prolongToken(store, name),
        scopes(name) {
          const allowed = find(name)?.allows;
          return (
            (allowed && [
              ...SCOPES.filter((scope) => allowed.includes(scope)),
              ...allowed.filter(isSecretScope),
            ]) ??
            null
          );
        },
        async limit(name, scopes) {
          const former = find(name)?.allows ?? [];
          await changeScopes(store, name, scopes);
          if (former.some((one) => !allows({ name, scopes }, one))) await endWorkOf(name);
        },
        async remove(name) {
          if (!find(name)) return;
          await removeToken(store, name);
          await endWorkOf(name);
        },
      };
    },
  };
  return uses;
}

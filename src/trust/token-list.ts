/**
 * The named tokens as a person sees them: names, ids, scopes and days, never a token.
 */
import * as v from "valibot";
import { SCOPE } from "../core/rights";
import type { Log } from "../lib/log";
import type { ConfigFiles } from "../lib/paths";
import { endOf, isEnded, type NamedToken, SKEW_MS, tokenStore } from "./named-tokens";
import { oldUntil } from "./rotation";
import { readTokenUse } from "./token-use";

export const LISTED_TOKEN = v.object({
  name: v.string(),
  /** The part of it that is no secret: `svct_<id>_…`; null in one that has none. */
  id: v.nullable(v.string()),
  scopes: v.array(SCOPE),
  created: v.string(),
  /** When it ends, ISO 8601; null: never. */
  expires: v.nullable(v.string()),
  /** The day on which a server took it last, in UTC; null when that is not known. */
  last_used: v.nullable(v.string()),
  /** When the last of the tokens that it replaced ends; null when none is in force. */
  old_until: v.nullable(v.string()),
});

type ListedToken = v.InferOutput<typeof LISTED_TOKEN>;

/** The named tokens, for whoever lists them. */
export interface TokenList {
  /** @throws `unavailable` when the file is broken or cannot be read. */
  list(): ListedToken[];
  /** The names of those that end later than they were made for: the clock of this host was ahead when they were made, replaced or prolonged. */
  endingLate(now: number): string[];
  /** The day on which the owner's token last came from beyond loopback; null for never. */
  ownerFromElsewhere(): string | null;
}

/** The named tokens and their use, as the files are now. */
export function createTokenList(files: ConfigFiles, log: Log): TokenList {
  const store = tokenStore(files, log);
  return {
    list() {
      const { days } = readTokenUse(files.tokenUse);
      const tokens = store.entries().filter((token) => !isEnded(token));
      return tokens.map(({ name, id = null, allows, created, expires = null, previous }) => {
        const day = days.get(name);
        // A token of before may have had the name.
        const last_used = day !== undefined && day >= created.slice(0, 10) ? day : null;
        return { name, id, scopes: allows, created, expires, last_used, old_until: oldUntil({ previous }) };
      });
    },
    endingLate(now) {
      const isLate = ({ expires, lifetime_s }: NamedToken) =>
        lifetime_s !== undefined && endOf(expires) > now + lifetime_s * 1_000 + SKEW_MS;
      const tokens = store.entries().filter((token) => token.person === undefined && isLate(token));
      return tokens.map(({ name }) => name);
    },
    ownerFromElsewhere: () => readTokenUse(files.tokenUse).ownerFromElsewhere,
  };
}

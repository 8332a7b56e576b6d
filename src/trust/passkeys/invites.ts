/**
 * Codes with which somebody registers a first passkey (`svc serve --passkey-invite`): the owner of the host gives one to a person by another
 * way than the token.
 *
 * The promise: a code is for one holder, and good once within {@link INVITE_S}.
 */
import { isSameHolder } from "../../core/rights";
import { RecentMap } from "../../lib/buckets";
import { digestToken, hexOf } from "../scopes";

/** How long a code is good, in seconds. */
export const INVITE_S = 3_600;

const MAX_INVITES = 1_000;

/** The codes that are good. */
export interface Invites {
  /** A new code: 20 letters and digits, 100 random bits. */
  make(holder: string | null): string;
  /** Whether it is one for this holder: it is none any more after that. */
  take(code: string, holder: string | null): boolean;
}

/** Without what looks like something else: I, L, O, U (Crockford's base 32). */
const SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export function createInvites(): Invites {
  /** By the digest of the code; the end by the monotonic clock. */
  const codes = new RecentMap<{ readonly holder: string | null; readonly until: number }>(MAX_INVITES);
  const keyOf = (code: string) => hexOf(digestToken(code.toUpperCase().replaceAll(/[^0-9A-Z]/g, "")));
  return {
    make(holder) {
      const bytes = crypto.getRandomValues(new Uint8Array(20));
      const code = Array.from(bytes, (byte) => SIGNS[byte % SIGNS.length]).join("");
      codes.set(keyOf(code), { holder, until: performance.now() + INVITE_S * 1_000 });
      return code.replaceAll(/.{5}(?=.)/g, "$&-");
    },
    take(code, holder) {
      const key = keyOf(code);
      const found = codes.get(key);
      if (!found || !isSameHolder(found.holder, holder)) return false;
      codes.delete(key);
      return performance.now() < found.until;
    },
  };
}

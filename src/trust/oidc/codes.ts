/**
 * Codes that go through a browser to who waits for the end of a sign-in, a page or a command line: whoever sees one can do nothing with it.
 */
import { RecentMap } from "../../lib/buckets";
import { forbidden } from "../../lib/errors";
import { digestToken, hexOf } from "../scopes";

/** How long a code is good, in milliseconds. */
const CODE_MS = 60_000;

/** How many codes wait at a time. */
const MAX_CODES = 1_000;

export interface Codes<T> {
  /** A new code, good once, for who proves itself for the challenge (S256, RFC 7636). */
  add(what: T, challenge: string): string;
  /** What the code stands for. @throws `forbidden` for one that is over, or was made for another. */
  take(code: string, verifier: string): T;
}

/** @param who waits, in words. */
export function createCodes<T>(who: string): Codes<T> {
  const codes = new RecentMap<{ readonly what: T; readonly challenge: string; readonly until: number }>(
    MAX_CODES,
  );
  return {
    add(what, challenge) {
      const code = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
      codes.set(hexOf(digestToken(code)), { what, challenge, until: performance.now() + CODE_MS });
      return code;
    },
    take(code, verifier) {
      const key = hexOf(digestToken(code));
      const found = codes.get(key);
      codes.delete(key);
      const proof = Buffer.from(digestToken(verifier)).toString("base64url");
      if (!found || found.until < performance.now() || proof !== found.challenge)
        throw forbidden(`code: expected one that came to ${who} within the last minute`);
      return found.what;
    },
  };
}

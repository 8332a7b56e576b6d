/**
 * Which token allows what (`core/rights.ts`), by the digests of tokens.
 */
import { type Grant, OWNER } from "../core/rights";

/**
 * What a token allows; undefined for a token that is not in force.
 *
 * @param fresh whether to read the tokens again now if their files have changed (default: within a second).
 */
export type GrantOf = (token: TokenDigest, fresh?: boolean) => Grant | undefined;

/** The tokens in force. */
export interface TokensInForce {
  /** Those that a person may have chosen: the host's own, and named ones that were given. Lockout protects them. */
  readonly guessable: GrantOf;
  /** Those that svc made itself: nobody guesses 192 random bits, so lockout does not touch them. */
  readonly generated: GrantOf;
  /** What became of a generated token that is over, in words; undefined for any other. */
  readonly ended?: (token: TokenDigest) => string | undefined;
}

/** SHA-256 of a token: digests of equal length can be compared in constant time whatever was sent. */
export type TokenDigest = Uint8Array;

/** The grant of the host's own token, which allows everything. @param digest returns the digest of the token in force. */
export function ownerToken(digest: (fresh?: boolean) => TokenDigest): GrantOf {
  let known: { readonly digest: TokenDigest; readonly grant: Grant } | undefined;
  return (sent, fresh) => {
    const inForce = digest(fresh);
    if (!sameToken(sent, inForce)) return undefined;
    if (known?.digest !== inForce) known = { digest: inForce, grant: { ...OWNER, sha256: hexOf(inForce) } };
    return known.grant;
  };
}

const SHA256_BYTES = 32;

/** Of a token as it was sent. Those in force are ASCII. */
export function digestToken(token: string): TokenDigest {
  const digest = new Uint8Array(SHA256_BYTES);
  Bun.SHA256.hash(token, digest);
  return digest;
}

/** A digest as files have it: hexadecimal. */
export const hexOf = (digest: TokenDigest): string => Buffer.from(digest).toString("hex");

/** Whether two digests are equal; takes the same time wherever they differ. */
export function sameToken(one: TokenDigest, other: TokenDigest): boolean {
  return crypto.timingSafeEqual(one, other);
}

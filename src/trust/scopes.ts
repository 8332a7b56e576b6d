/**
 * What a token allows: the scopes (`operation.ts`) of the operations that its holder may use.
 */
import type { Scope } from "../core/operation";

export interface Grant {
  /** What the token is called on record; null for the host's own. */
  readonly name: string | null;
  readonly scopes: readonly Scope[];
}

/** What a token stands for; undefined for one that is not in force. */
export type GrantOf = (token: TokenDigest) => Grant | undefined;

/** SHA-256 of a token: digests of equal length can be compared in constant time whatever was sent. */
export type TokenDigest = Uint8Array;

const OWNER: Grant = { name: null, scopes: ["admin"] };

/** The host's own token, which allows everything. @param digest gives that of the one in force; called at every request. */
export const ownerToken =
  (digest: () => TokenDigest): GrantOf =>
  (sent) =>
    sameToken(sent, digest()) ? OWNER : undefined;

export function digestToken(token: string): TokenDigest {
  return new Bun.CryptoHasher("sha256").update(Buffer.from(token, "latin1")).digest();
}

/** In a time that tells nothing of where they differ. */
export function sameToken(one: TokenDigest, other: TokenDigest): boolean {
  return crypto.timingSafeEqual(one, other);
}

/** Whether an operation of this scope may be used: each scope includes only itself, `admin` all. */
export function allows({ scopes }: Grant, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes("admin");
}

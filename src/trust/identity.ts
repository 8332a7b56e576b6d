/**
 * The identity of a host: an Ed25519 key (`host_key`), with which it proves who it is, and the id that follows from it. The key
 * of a desk (`desk_key`), with which it signs jobs, is one of the same kind.
 */
export {
  isSignedBy,
  openSigningKey,
  readSigningKey,
  type SigningKey,
  signingKey,
} from "../lib/signing-key";

/** The id of the host whose identity key this is: the first half of its SHA-256 as 32 hexadecimal digits. */
export function hostIdOf(publicKey: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(Buffer.from(publicKey, "base64url")).digest();
  return Buffer.from(digest.subarray(0, 16)).toString("hex");
}

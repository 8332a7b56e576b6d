/**
 * Ed25519 keys in files, each for one purpose: the identity of a host, the jobs of a desk, the audit log, a witness.
 *
 * The promise: a key is made once, whichever processes want it first, and never in place of one that is missing or broken; its
 * private half is in no message and no answer.
 */
import { makeKey } from "./key-file";
import { readTrustFile, unusable } from "./trust-files";

/** A private key that signs; the key itself stays inside. */
export interface SigningKey {
  /** 32 bytes (RFC 8032) as 43 characters of base64url. */
  readonly publicKey: string;
  /** The signature of `message`: 64 bytes as 86 characters of base64url. */
  sign(message: string): string;
}

/**
 * The key in `file`, which is made (0600) where there is none and never was.
 *
 * @throws `unavailable` when it is missing, cannot be read or written, or holds something else.
 */
export function openSigningKey(file: string): SigningKey {
  return readSigningKey(file) ?? makeSigningKey(file);
}

/** The key in `file`; undefined when there is none. @throws as {@link openSigningKey}. */
export function readSigningKey(file: string): SigningKey | undefined {
  const pem = readTrustFile(file);
  if (pem === undefined) return undefined;
  const key = signingKey(pem.toString());
  if (key) return key;
  throw unusable(file, "is not an Ed25519 key");
}

/** PKCS #8 (RFC 5958) as PEM. */
const PEM = /^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END PRIVATE KEY-----\s*$/;

/**
 * Looks at the key in `file`, which is made where there is none and never was, without what reads keys, so that a start loads none of it.
 *
 * @throws as {@link openSigningKey}; a file of the right form may still be no key.
 */
export function requireSigningKey(file: string): void {
  const pem = readTrustFile(file);
  if (pem === undefined) makeSigningKey(file);
  else if (!PEM.test(pem.toString().replaceAll("\r\n", "\n"))) throw unusable(file, "is not an Ed25519 key");
}

/** The key that `pem` is; undefined for anything else. */
export function signingKey(pem: string): SigningKey | undefined {
  const { createPrivateKey, createPublicKey, sign } = nodeCrypto();
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== "ed25519") return undefined;
    const { x = "" } = createPublicKey(key).export({ format: "jwk" });
    return {
      publicKey: x,
      sign: (message) => sign(null, Buffer.from(message), key).toString("base64url"),
    };
  } catch {
    return undefined;
  }
}

function makeSigningKey(file: string): SigningKey {
  const { generateKeyPairSync } = nodeCrypto();
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return makeKey(file, pem, readSigningKey);
}

/** Whether `signature`, base64url, is that of `message` by the key of which this is the public half. Never throws. */
export function isSignedBy(publicKey: string, message: string | Uint8Array, signature: string): boolean {
  const { createPublicKey, verify } = nodeCrypto();
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(
      null,
      typeof message === "string" ? Buffer.from(message) : message,
      key,
      Buffer.from(signature, "base64url"),
    );
  } catch {
    return false;
  }
}

/** As {@link isSignedBy}, but on another thread: verifying is the slowest part of what a witness does. Never rejects. */
export function isSignedBySoon(publicKey: string, message: string, signature: string): Promise<boolean> {
  const { createPublicKey, verify } = nodeCrypto();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    const bytes = Buffer.from(signature, "base64url");
    verify(null, Buffer.from(message), key, bytes, (error, isGood) => resolve(!error && isGood));
  } catch {
    resolve(false);
  }
  return promise;
}

/** Loaded on first use: an idle server needs none of it. */
const nodeCrypto = () => process.getBuiltinModule("node:crypto");

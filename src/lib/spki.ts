/**
 * Pins: what a server's certificate must have, whatever its name, its dates and who signed it.
 *
 * `spki:` and 43 characters of base64url is the SHA-256 of the public key (SubjectPublicKeyInfo in DER, RFC 7469 section 2.4):
 * it survives a renewed certificate. `sha256:` and 64 hexadecimal digits is the SHA-256 of one certificate.
 */

import type { X509Certificate } from "node:crypto";
import { isIP } from "./is-ip";
import { orElse } from "./or-else";

/** The pin of the public key of a certificate, DER or PEM. @throws when it is no certificate. */
export function spkiPin(certificate: Uint8Array | string): string {
  const { createHash, X509Certificate } = process.getBuiltinModule("node:crypto");
  const { publicKey } = new X509Certificate(certificate);
  const spki = publicKey.export({ type: "spki", format: "der" });
  return `spki:${createHash("sha256").update(spki).digest("base64url")}`;
}

/** The pin of a certificate itself, DER. */
const certificatePin = (certificate: Uint8Array) =>
  `sha256:${new Bun.CryptoHasher("sha256").update(certificate).digest("hex")}`;

/** Whether a certificate, DER, is the one that `pin` asks for, or has its key. What is no certificate does not. */
export function hasPin(certificate: Uint8Array, pin: string): boolean {
  if (!pin.startsWith("spki:")) return certificatePin(certificate) === pin;
  return orElse(() => spkiPin(certificate) === pin, false);
}

/** What {@link parsePin} accepts, in words. */
export const PIN_FORM = "spki: and 43 characters of base64url, or sha256: and 64 hexadecimal digits";

/** The last of 43 characters holds four bits of the hash, and two that are zero. */
const SPKI = /^spki:([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])=?$/;
const CERTIFICATE = /^sha256:((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})$/i;

/** A pin as it is stored and compared: hexadecimal digits small and without colons. Undefined for what is none. */
export function parsePin(text: string): string | undefined {
  const [, key] = SPKI.exec(text) ?? [];
  if (key !== undefined) return `spki:${key}`;
  const [, digits] = CERTIFICATE.exec(text) ?? [];
  return digits === undefined ? undefined : `sha256:${digits.replaceAll(":", "").toLowerCase()}`;
}

/** Whether a certificate is for a host name or address, by its `subjectAltName` alone. */
export function isFor(certificate: X509Certificate, name: string): boolean {
  // Bun's `checkIP` throws for what is no address, where node's returns undefined.
  const found = isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name, { subject: "never" });
  return found !== undefined;
}

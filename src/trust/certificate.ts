/**
 * Self-signed certificates for TLS: X.509 version 3 (RFC 5280) for an ECDSA P-256 key, which browsers accept (not Ed25519).
 *
 * They are for pins, and for clients that are given the certificate itself: it is no authority, so its key signs no other.
 */
import type { KeyObject } from "node:crypto";
import ipaddr from "ipaddr.js";

/** Apple's limit for a certificate of a server, less a day (support.apple.com/103769). */
const VALID_DAYS = 397;

/** The date may lie behind that of its clients. */
const BACKDATED_DAYS = 1;

const DAY_MS = 86_400_000;

/** The longest common name (RFC 5280 appendix A.1, ub-common-name). */
const MAX_COMMON_NAME = 64;

/** Not loaded with the module: idle processes need none of it. */
const crypto = () => process.getBuiltinModule("node:crypto");

/** A new private key, as PEM (PKCS #8). */
export function makeKey(): string {
  const { privateKey } = crypto().generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/**
 * The private key in a PEM text.
 *
 * @throws when it is none, or not one of P-256.
 */
export function parseKey(pem: string): KeyObject {
  const key = crypto().createPrivateKey(pem);
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("not a key of P-256");
  return key;
}

/**
 * A certificate for the key, as PEM, from now on.
 *
 * @param name the subject.
 * @param names host names and addresses that it is for; those that no certificate can hold are left out.
 */
export function makeCertificate(key: KeyObject, name: string, names: Iterable<string>, now: Date): string {
  const { createPublicKey, randomBytes, sign } = crypto();
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const subject = sequence(set(sequence(oid("2.5.4.3"), der(0x0c, name.slice(0, MAX_COMMON_NAME)))));
  const signature = sequence(oid("1.2.840.10045.4.3.2"));
  // Positive, and 20 bytes at most (RFC 5280 section 4.1.2.2).
  const serial = Buffer.concat([Buffer.of(0x40), randomBytes(15)]);
  const validFrom = new Date(now.getTime() - BACKDATED_DAYS * DAY_MS);
  const validUntil = new Date(now.getTime() + (VALID_DAYS - BACKDATED_DAYS) * DAY_MS);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    signature,
    subject,
    sequence(time(validFrom), time(validUntil)),
    subject,
    publicKey,
    der(
      0xa3,
      sequence(
        // Basic constraints: no authority.
        extension("2.5.29.19", true, sequence()),
        // Key usage: digital signatures.
        extension("2.5.29.15", true, der(0x03, Buffer.of(7, 0x80))),
        // Extended key usage: server and client of TLS.
        extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"), oid("1.3.6.1.5.5.7.3.2"))),
        extension(
          "2.5.29.17",
          false,
          sequence(...Array.from(new Set(names)).filter(isCertifiable).map(alternativeName)),
        ),
      ),
    ),
  );
  const signed = sequence(body, signature, der(0x03, Buffer.of(0), sign("sha256", body, key)));
  const lines = signed.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** A value in DER: tag, the shortest form of the length, content (X.690 section 10.1). */
function der(tag: number, ...content: ReadonlyArray<Uint8Array | string>): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  if (bytes.length < 0x80) return Buffer.concat([Buffer.of(tag, bytes.length), bytes]);
  const digits = bytes.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, bytes]);
}

const sequence = (...content: Uint8Array[]) => der(0x30, ...content);
const set = (...content: Uint8Array[]) => der(0x31, ...content);

/** An object identifier (X.690 section 8.19). */
function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const digits = (value: number): number[] =>
    value < 0x80 ? [value] : [...digits(Math.floor(value / 0x80)).map((one) => one | 0x80), value % 0x80];
  return der(0x06, Uint8Array.from([40 * first + second, ...rest.flatMap(digits)]));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280 section 4.1.2.5). */
function time(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/[-:T]|\..*/g, "")}Z`;
  return digits < "2050" ? der(0x17, digits.slice(2)) : der(0x18, digits);
}

const extension = (id: string, critical: boolean, value: Buffer) =>
  sequence(oid(id), ...(critical ? [der(0x01, Buffer.of(0xff))] : []), der(0x04, value));

/** An address or a DNS name (RFC 5280 section 4.2.1.6). */
const alternativeName = (name: string): Buffer =>
  isAddress(name) ? der(0x87, Uint8Array.from(ipaddr.process(name).toByteArray())) : der(0x82, name);

const isAddress = (name: string) => ipaddr.IPv4.isValidFourPartDecimal(name) || ipaddr.IPv6.isValid(name);

/** Whether a certificate can be for `name`: an address that is not the unspecified one, or a host name. */
export const isCertifiable = (name: string): boolean =>
  isAddress(name)
    ? ipaddr.process(name).range() !== "unspecified"
    : /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(name);

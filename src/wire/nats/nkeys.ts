/**
 * NKeys: Ed25519 keys in the text form of NATS (github.com/nats-io/nkeys): base32 of a prefix, the key and a CRC-16.
 *
 * node's own crypto signs with them: the JavaScript of the NATS libraries takes 30 milliseconds for a signature.
 */
import type { KeyObject } from "node:crypto";
import { orElse } from "../../lib/or-else";
import { isSignedBy } from "../../trust/identity";

/** What a key is of: an operator, an account (and who signs for one), a user. */
const PREFIXES = { O: 14 << 3, A: 0, U: 20 << 3 } as const;

const SEED = 18 << 3;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The DER of an Ed25519 private key, up to its 32 bytes (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** A key that signs. */
export interface NKey {
  /** The public key: 56 characters. */
  readonly id: string;
  /** The private key: 58 characters. */
  readonly seed: string;
  /** The signature, 64 bytes. */
  sign(bytes: Uint8Array): Buffer;
}

/** A new key. */
export function newNKey(kind: keyof typeof PREFIXES): NKey {
  const prefix = PREFIXES[kind];
  const raw = process.getBuiltinModule("node:crypto").randomBytes(32);
  return nkey(encode(Buffer.of(SEED | (prefix >> 5), (prefix & 31) << 3, ...raw)));
}

/** The key of a seed. @throws an Error that quotes nothing of what is no seed. */
export function nkey(seed: string): NKey {
  const bytes = decode(seed);
  if (bytes?.length !== 34 || ((bytes[0] ?? 0) & 0xf8) !== SEED) throw new Error("not the seed of an NKey");
  const [first = 0, second = 0] = bytes;
  const prefix = ((first & 7) << 5) | (second >> 3);
  const { createPrivateKey, createPublicKey, sign } = process.getBuiltinModule("node:crypto");
  const key: KeyObject = createPrivateKey({
    key: Buffer.concat([PKCS8, bytes.subarray(2)]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    id: encode(Buffer.of(prefix, ...Buffer.from(x, "base64url"))),
    seed,
    sign: (message) => sign(null, message, key),
  };
}

/** Whether the key with this public half has signed `message`. @param signature 86 characters of base64url. */
export function isSignedByNKey(id: string, message: string, signature: string): boolean {
  const raw = decode(id);
  return raw?.length === 33 && isSignedBy(raw.subarray(1).toString("base64url"), message, signature);
}

/** Whether `text` is the seed of a key of this kind. */
export function isSeed(text: string, kind: keyof typeof PREFIXES): boolean {
  return orElse(() => isPublic(nkey(text).id, kind), false);
}

/** Whether `text` is a public key of this kind. */
export function isPublic(text: string, kind: keyof typeof PREFIXES): boolean {
  const bytes = decode(text);
  return bytes?.length === 33 && bytes[0] === PREFIXES[kind];
}

function encode(bytes: Uint8Array): string {
  const checksum = crc16(bytes);
  const bits = Array.from([...bytes, checksum & 0xff, checksum >> 8], (byte) =>
    byte.toString(2).padStart(8, "0"),
  ).join("");
  return bits.replaceAll(/.{1,5}/g, (five) => ALPHABET[Number.parseInt(five.padEnd(5, "0"), 2)] ?? "");
}

/** The bytes before the checksum; undefined where it is another. */
function decode(text: string): Buffer | undefined {
  if (!/^[A-Z2-7]{8,64}$/.test(text)) return undefined;
  const bits = Array.from(text, (digit) => ALPHABET.indexOf(digit).toString(2).padStart(5, "0")).join("");
  const bytes = Buffer.from(Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2)));
  const body = bytes.subarray(0, -2);
  return encode(body) === text ? body : undefined;
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

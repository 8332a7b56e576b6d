/** What follows from the seed of a simulated fleet: random numbers, and who its hosts are. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { hostIdOf } from "../../src/trust/identity";

/** Numbers from 0 to 1, the same ones for the same seed and name: sfc32 (PractRand), seeded with a SHA-256. */
export function seeded(seed: string | number, name: string): () => number {
  const digest = new Bun.CryptoHasher("sha256").update(`${seed}\n${name}`).digest();
  let [a, b, c, count] = [0, 4, 8, 12].map((at) => digest.readInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  return () => {
    const sum = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
}

/** Exactly that share of the numbers below `count`. */
export function shareOf(count: number, share: number, random: () => number): Set<number> {
  const numbers = Array.from({ length: count }, (_, nth) => nth);
  const wanted = Math.round(count * share);
  for (let at = 0; at < wanted; at++) {
    const other = at + Math.floor(random() * (count - at));
    [numbers[at], numbers[other]] = [numbers[other] ?? 0, numbers[at] ?? 0];
  }
  return new Set(numbers.slice(0, wanted));
}

/** `10%` as 0.1. @throws for anything else. */
export function parseShare(text: string): number {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent === undefined || Number(percent) > 100) {
    throw new Error(`expected a share such as 10% but found ${text}`);
  }
  return Number(percent) / 100;
}

/** An address of 127/8 for each host. */
export const addressOf = (nth: number) =>
  `127.${1 + Math.floor(nth / 40_000)}.${Math.floor(nth / 200) % 200}.${(nth % 200) + 1}`;

export const labelOf = (nth: number) => `sim-${nth}`;

/** The id of the records of jobs of a host. */
export const recordsOf = (nth: number) => `records-${nth}`;

/** PKCS #8 of an Ed25519 key (RFC 8410), up to its 32 bytes. */
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The identity of a host. */
export function identityOf(seed: string | number, nth: number) {
  const secret = new Bun.CryptoHasher("sha256").update(`${seed}\nidentity ${nth}`).digest();
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, secret]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: x,
    hostId: hostIdOf(x),
    sign: (message: string) => sign(null, Buffer.from(message), key).toString("base64url"),
  };
}

/** What stands for the identity of a host in an address book, where nobody proves that it has it. */
export function memberOf(seed: string | number, nth: number) {
  const digest = new Bun.CryptoHasher("sha256").update(`${seed}\nmember ${nth}`);
  const host_key = digest.digest("base64url");
  return { host_id: hostIdOf(host_key), host_key };
}

/** What stands for the NKey of a host in subjects, where nobody proves that it has it. */
export function natsIdOf(seed: string | number, nth: number): string {
  const digest = new Bun.CryptoHasher("sha512").update(`${seed}\nnats ${nth}`).digest();
  return `U${Array.from(digest.subarray(0, 55), (byte) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[byte % 32]).join("")}`;
}

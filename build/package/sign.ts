/**
 * Signing the files of a release with a secret key of minisign that has no password (`minisign -G -W`).
 *
 * The promise: the secret key is read from a file, whose path is in `SVC_RELEASE_SECRET_KEY`, and is in no message.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf, systemCode } from "../../src/lib/errors";
import {
  decode,
  digestOf,
  globalMessage,
  type PublicKey,
  parsePublicKey,
  SIGNATURE_EXTENSION,
} from "../../src/wire/release/minisign";

/** A secret key, and its public half. */
export interface SecretKey {
  readonly publicKey: PublicKey;
  readonly key: KeyObject;
}

/** https://jedisct1.github.io/minisign/#secret-key-format */
const SECRET_KEY_BYTES = 158;

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The key in a secret key file of minisign. @throws when it cannot be read, has a password, or is damaged. */
export function readSecretKey(path: string): SecretKey {
  const [, line] = readText(path, "SVC_RELEASE_SECRET_KEY").split(/\r?\n/);
  const bytes = decode(line, SECRET_KEY_BYTES);
  if (bytes?.toString("latin1", 0, 2) !== "Ed") throw new Error(`${path} is not a secret key of minisign`);
  if (bytes.readUInt16LE(2) !== 0) {
    throw new Error(`${path} has a password, which a build cannot ask for: make a key with minisign -G -W`);
  }
  const [id, seed, stored] = [bytes.subarray(54, 62), bytes.subarray(62, 94), bytes.subarray(94, 126)];
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  if (x !== stored.toString("base64url"))
    throw new Error(`${path} is damaged: its two halves do not belong together`);
  const text = Buffer.concat([Buffer.from("Ed"), id, stored]).toString("base64");
  return { key, publicKey: parsePublicKey(text) };
}

/**
 * Signs `file`: writes its signature beside it.
 *
 * @param trustedComment one line, which the signature covers.
 * @returns the path of the signature.
 */
export async function signFile(secret: SecretKey, file: string, trustedComment: string): Promise<string> {
  if (/[\r\n]/.test(trustedComment)) throw new Error("a trusted comment is one line");
  const bytes = sign(null, await digestOf(file), secret.key);
  const head = Buffer.concat([
    Buffer.from("ED"),
    Buffer.from(secret.publicKey.text, "base64").subarray(2, 10),
  ]);
  const lines = [
    "untrusted comment: signature of a release of svc",
    Buffer.concat([head, bytes]).toString("base64"),
    `trusted comment: ${trustedComment}`,
    sign(null, globalMessage({ bytes, trustedComment }), secret.key).toString("base64"),
  ];
  await Bun.write(`${file}${SIGNATURE_EXTENSION}`, `${lines.join("\n")}\n`);
  return `${file}${SIGNATURE_EXTENSION}`;
}

/** The key that signs this build's files; undefined where `SVC_RELEASE_SECRET_KEY` is not set. @throws as {@link readSecretKey}. */
export function secretKeyOfBuild(env: NodeJS.ProcessEnv = process.env): SecretKey | undefined {
  return env.SVC_RELEASE_SECRET_KEY ? readSecretKey(env.SVC_RELEASE_SECRET_KEY) : undefined;
}

/**
 * The public key that is put into the binaries of this build, as `minisign -P` takes it; empty where there is none.
 * `SVC_RELEASE_PUBLIC_KEY` has it, or the path of its file; else it is that of the secret key.
 *
 * @throws as {@link readSecretKey}, and when the two keys do not belong together.
 */
export function publicKeyOfBuild(env: NodeJS.ProcessEnv = process.env): string {
  const own = secretKeyOfBuild(env)?.publicKey.text;
  const given = env.SVC_RELEASE_PUBLIC_KEY;
  if (!given) return own ?? "";
  let text: string;
  try {
    text = parsePublicKey(given).text;
  } catch (error) {
    throw new Error(`SVC_RELEASE_PUBLIC_KEY: ${messageOf(error)}`);
  }
  if (own !== undefined && own !== text) {
    throw new Error("SVC_RELEASE_PUBLIC_KEY is not the public key of SVC_RELEASE_SECRET_KEY");
  }
  return text;
}

function readText(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${name}: ${path} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
}

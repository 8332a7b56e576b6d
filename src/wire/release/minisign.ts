/**
 * Signatures of minisign (https://jedisct1.github.io/minisign/#signature-format): Ed25519 over the BLAKE2b-512 hash of a file,
 * and a second signature that covers the first one and its trusted comment.
 *
 * The promise: a trusted comment is returned only once both signatures hold, and a file of any size is read in small pieces.
 */
import { createReadStream } from "node:fs";
import { badInput, rejected, systemCode } from "../../lib/errors";
import { isSignedBy } from "../../lib/signing-key";

/** The extension that minisign gives to the signature of a file. */
export const SIGNATURE_EXTENSION = ".minisig";

/** No signature or key of minisign is longer: its trusted comment has at most 8,192 bytes. */
export const MAX_SIGNATURE_BYTES = 16_384;

/** Which key signed: 8 bytes, written as minisign writes them, 16 hexadecimal digits. */
type KeyId = string;

/** The public half of a key. */
export interface PublicKey {
  readonly id: KeyId;
  /** Ed25519, 43 characters of base64url. */
  readonly key: string;
  /** As minisign writes it, and `-P` takes it: 56 characters of base64. */
  readonly text: string;
}

/** A signature, of which nothing has been verified. */
export interface Signature {
  readonly id: KeyId;
  /** 64 bytes, over the hash of the file. */
  readonly bytes: Buffer;
  /** Anybody's claim, until {@link verify} has returned it. */
  readonly trustedComment: string;
  /** 64 bytes, over {@link bytes} and {@link trustedComment}. */
  readonly global: Buffer;
  /** As it was written. */
  readonly text: string;
}

const PUBLIC_KEY_BYTES = 42;
const SIGNATURE_BYTES = 74;
const GLOBAL_BYTES = 64;
const UNTRUSTED = "untrusted comment:";
const TRUSTED = "trusted comment: ";

/**
 * The public key in the text of a `.pub` file of minisign, or in its second line alone.
 *
 * @throws a `bad_input` failure for anything else.
 */
export function parsePublicKey(text: string): PublicKey {
  const lines = linesOf(text);
  const line = lines[0]?.startsWith(UNTRUSTED) ? lines[1] : lines[0];
  const bytes = decode(line, PUBLIC_KEY_BYTES);
  if (!bytes || algorithmOf(bytes) !== "Ed") {
    throw badInput(
      "not a public key of minisign: expected its .pub file, or the line of 56 characters in it",
    );
  }
  return {
    id: keyId(bytes.subarray(2, 10)),
    key: bytes.subarray(10).toString("base64url"),
    text: bytes.toString("base64"),
  };
}

/**
 * The signature in the text of a `.minisig` file.
 *
 * @throws a `rejected` failure for anything else, and for the legacy form, which signs the file itself and not its hash.
 */
export function parseSignature(text: string): Signature {
  const [untrusted = "", first, comment = "", second, ...more] = linesOf(text);
  const bytes = decode(first, SIGNATURE_BYTES);
  const global = decode(second, GLOBAL_BYTES);
  const isComplete = untrusted.startsWith(UNTRUSTED) && comment.startsWith(TRUSTED) && more.length === 0;
  if (!isComplete || !bytes || !global) throw rejected("the signature is not one of minisign");
  if (algorithmOf(bytes) === "Ed") {
    throw rejected("the signature has minisign's legacy form: sign the file again, without -l");
  }
  if (algorithmOf(bytes) !== "ED") throw rejected("the signature is of an algorithm that svc does not know");
  return {
    id: keyId(bytes.subarray(2, 10)),
    bytes: bytes.subarray(10),
    trustedComment: comment.slice(TRUSTED.length),
    global,
    text,
  };
}

/**
 * Verifies that `signature` is that of `file` by `publicKey`.
 *
 * @param file a path, or the bytes of the file in pieces.
 * @returns the trusted comment, which the key has signed too.
 * @throws a `rejected` failure when it is not, a `bad_input` failure when the file cannot be read.
 */
export async function verify(
  publicKey: PublicKey,
  signature: Signature,
  file: string | AsyncIterable<Uint8Array>,
): Promise<string> {
  requireKey(publicKey, signature);
  if (!isSignedBy(publicKey.key, await digestOf(file), signature.bytes.toString("base64url"))) {
    throw rejected("the signature does not match the file: the file or the signature was changed");
  }
  return verifyComment(publicKey, signature);
}

/**
 * Verifies that `publicKey` has signed the trusted comment for this signature: before the file is there, it says of what version and target
 * one is that may come.
 *
 * @returns the trusted comment.
 * @throws a `rejected` failure when it has not.
 */
export function verifyComment(publicKey: PublicKey, signature: Signature): string {
  requireKey(publicKey, signature);
  if (!isSignedBy(publicKey.key, globalMessage(signature), signature.global.toString("base64url"))) {
    throw rejected("the trusted comment of the signature was changed");
  }
  return signature.trustedComment;
}

function requireKey({ id }: PublicKey, signature: Signature): void {
  if (signature.id !== id) throw rejected(`the file is signed by the key ${signature.id}, expected ${id}`);
}

/** What the global signature is over. */
export const globalMessage = ({
  bytes,
  trustedComment,
}: Pick<Signature, "bytes" | "trustedComment">): Buffer =>
  Buffer.concat([bytes, Buffer.from(trustedComment)]);

/** The BLAKE2b-512 hash of a file. @throws a `bad_input` failure when it cannot be read. */
export async function digestOf(file: string | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const hash = new Bun.CryptoHasher("blake2b512");
  try {
    for await (const piece of typeof file === "string" ? createReadStream(file) : file) hash.update(piece);
  } catch (error) {
    if (typeof file !== "string" || systemCode(error) === undefined) throw error;
    throw badInput(`${file} cannot be read (${systemCode(error)})`);
  }
  return hash.digest();
}

/** As minisign prints it: the bytes as a little-endian number. */
const keyId = (bytes: Uint8Array): KeyId => Buffer.from(bytes).reverse().toString("hex").toUpperCase();

/** Without the empty line at the end; with the line ends of Windows too. */
const linesOf = (text: string): string[] => text.replace(/\r?\n$/, "").split(/\r?\n/);

const algorithmOf = (bytes: Buffer) => bytes.toString("latin1", 0, 2);

/** The `length` bytes that `text` is in base64; undefined for anything else. */
export function decode(text: string | undefined, length: number): Buffer | undefined {
  const trimmed = text?.trim() ?? "";
  const bytes = Buffer.from(trimmed, "base64");
  return bytes.length === length && bytes.toString("base64") === trimmed ? bytes : undefined;
}

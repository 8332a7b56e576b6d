/**
 * A file with secrets that the command line writes and reads: private, and sealed under a passphrase where asked.
 *
 * A sealed file is an armored age file (https://age-encryption.org/v1, scrypt and ChaCha20-Poly1305): `age -d` opens it too.
 * `-` is standard output or input.
 */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { field } from "../core/fields";
import { badInput, rejected, systemCode } from "../lib/errors";
import { writeNamedFile } from "../lib/files";
import { readSecret } from "../lib/secret";

/** The environment variable that may hold the passphrase. */
export const PASSPHRASE = "SVC_PASSPHRASE";

/** The field of `--passphrase-file`. */
export const PASSPHRASE_FIELD = field(
  v.optional(v.string()),
  `File with the passphrase (else ${PASSPHRASE}, else a prompt)`,
);

/**
 * The passphrase in `file`, else in the variable, else from a prompt.
 *
 * @param confirm whether a prompt asks twice.
 */
export const passphraseOf = (file: string | undefined, confirm: boolean): Promise<string> =>
  readSecret({ name: "passphrase", file, flag: "--passphrase-file", variable: PASSPHRASE, confirm });

/**
 * A bundle that `writer` has written, unchecked.
 *
 * @throws a `rejected` failure when it is not JSON in UTF-8.
 */
export function bundleIn(bytes: Uint8Array, writer: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw rejected(`bundle rejected: expected what \`${writer}\` writes`);
  }
}

/**
 * Writes `text` to `file` (0600), sealed when there is a passphrase.
 *
 * @throws a `bad_input` failure when `file` cannot be written, or something other than a regular file is there.
 */
export async function writeSealable(
  file: string,
  text: string,
  passphrase: string | undefined,
): Promise<void> {
  const content = passphrase === undefined ? `${text}\n` : await seal(text, passphrase);
  if (file === "-") await Bun.write(Bun.stdout, content);
  else writeNamedFile(file, content, "file");
}

/**
 * The bytes of `file`, opened when it is sealed.
 *
 * @param passphrase called when the file is sealed.
 * @param mustBeSealed whether a file that is not sealed is refused: anybody could have written it.
 * @throws a `bad_input` failure when it cannot be read; `rejected` when it cannot be opened.
 */
export async function readSealable(
  file: string,
  passphrase: () => Promise<string>,
  mustBeSealed = false,
): Promise<Uint8Array> {
  const bytes = readBytes(file);
  if (mustBeSealed && !isSealed(bytes)) {
    throw rejected("bundle rejected: it is not sealed, but a passphrase was given");
  }
  return isSealed(bytes) ? Buffer.from(await unseal(bytes, await passphrase())) : bytes;
}

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? 0 : file);
  } catch (error) {
    throw badInput(`file: ${file} cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}

const ARMOR = "-----BEGIN AGE ENCRYPTED FILE-----";
const BINARY = "age-encryption.org/v1";

/** Whether `bytes` is an age file, armored or not. */
export function isSealed(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 64)).toString("latin1").trimStart();
  return head.startsWith(ARMOR) || head.startsWith(BINARY);
}

/** `text` as an armored age file. Takes about a second and 300 MB, as scrypt does by design. */
export async function seal(text: string, passphrase: string): Promise<string> {
  const { armor, Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  return armor
    .encode(await encrypter.encrypt(text))
    .trimEnd()
    .concat("\n");
}

/**
 * The text that was sealed.
 *
 * @throws a `rejected` failure when the passphrase is wrong or the file is damaged.
 */
export async function unseal(bytes: Uint8Array, passphrase: string): Promise<string> {
  const { armor, Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  try {
    const text = Buffer.from(bytes).toString("latin1");
    const sealed = text.trimStart().startsWith(ARMOR) ? armor.decode(text) : bytes;
    return await decrypter.decrypt(sealed, "text");
  } catch {
    throw rejected("bundle: it cannot be opened: the passphrase is wrong or the file is damaged");
  }
}

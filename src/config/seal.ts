/**
 * Sealing a bundle under a passphrase, since it holds tokens: an armored age file (https://age-encryption.org/v1,
 * scrypt and ChaCha20-Poly1305), which `age -d` opens too.
 */
import { rejected } from "../lib/errors";

const ARMOR = "-----BEGIN AGE ENCRYPTED FILE-----";
const BINARY = "age-encryption.org/v1";

/** Whether `bytes` is an age file, armored or not. */
export function isSealed(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 64)).toString("latin1").trimStart();
  return head.startsWith(ARMOR) || head.startsWith(BINARY);
}

/** `text` as an armored age file, with a line feed at its end. Takes about a second and 300 MB, as scrypt is to. */
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

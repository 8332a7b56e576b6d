/**
 * The tokens that svc generates: `svct_<id>_<secret><checksum>`.
 *
 * The prefix lets secret scanners recognise a leaked one (`svct_[0-9A-Za-z]{8}_[0-9A-Za-z_-]{49}`), the id says which it is
 * without its secret, and the checksum reveals a mistyped one before anything is looked up.
 */
import { checksumOf } from "../lib/checksum";

const PREFIX = "svct_";
const ID_LENGTH = 8;
const SECRET_BYTES = 32;
const CHECKSUM_LENGTH = 6;

const FORM = /^svct_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{49}$/;

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A new token for a client: 256 random bits. */
export function newToken(): string {
  const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString("base64url");
  const text = `${PREFIX}${newId()}_${secret}`;
  return text + checksumOf(text);
}

/** The id in a token of this form; undefined in any other, such as one of 0.1.0 or one that a person chose. */
export const idOf = (token: string): string | undefined => FORM.exec(token)?.[1];

/** Whether a token begins as one that svc generated and is none: mistyped, or cut off. */
export function isMistyped(token: string): boolean {
  if (!token.startsWith(PREFIX)) return false;
  return !FORM.test(token) || checksumOf(token.slice(0, -CHECKSUM_LENGTH)) !== token.slice(-CHECKSUM_LENGTH);
}

/** Random letters and digits: bytes that would favour some of the 62 are left out. */
function newId(): string {
  let id = "";
  while (id.length < ID_LENGTH) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < 4 * BASE62.length) id += BASE62[byte % BASE62.length];
  }
  return id;
}

/**
 * Join strings: `svcj1.<base64url host:port>.<spki>.<id>.<secret>.<checksum>`, all that a host needs to join a desk.
 */

import { checksumOf } from "../../lib/checksum";
import { badInput } from "../../lib/errors";

export interface JoinString {
  /** `host:port` of the desk. */
  readonly address: string;
  /** The pin of the desk's TLS key: `spki:…`. */
  readonly pin: string;
  readonly id: string;
  /** 43 characters of base64url: 256 random bits. */
  readonly secret: string;
}

const PREFIX = "svcj1";

/** A name, an IPv4 address or an IPv6 address in brackets, and a port. */
const ADDRESS = /^(?:[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})$/;

/** What {@link isAddress} accepts, in words. */
export const ADDRESS_FORM = "HOST:PORT, an IPv6 address in brackets";

/** Whether `text` is an address that a join string can name. */
export function isAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[2] ?? 0);
  return port > 0 && port < 65_536 && URL.canParse(`https://${text}`);
}

export function formatJoinString({ address, pin, id, secret }: JoinString): string {
  const where = Buffer.from(address).toString("base64url");
  const body = [PREFIX, where, pin.replace(/^spki:/, ""), id, secret].join(".");
  return `${body}.${checksumOf(body)}`;
}

const FORM =
  /^(svcj1\.([A-Za-z0-9_-]{4,350})\.([A-Za-z0-9_-]{43})\.([a-z2-7]{8})\.([A-Za-z0-9_-]{43}))\.([A-Za-z0-9_-]{6})$/;

/** @throws a `bad_input` failure that quotes nothing of `text`. */
export function parseJoinString(text: string): JoinString {
  const trimmed = text.trim();
  if (!trimmed.startsWith(`${PREFIX}.`)) {
    throw badInput(`this is no join string: expected the line that \`svc join-token\` prints, ${PREFIX}.…`);
  }
  const [, body = "", where = "", key, id = "", secret = "", checksum] = FORM.exec(trimmed) ?? [];
  if (body === "" || checksumOf(body) !== checksum) {
    throw badInput("this join string is cut off or mistyped: copy the whole line");
  }
  const address = Buffer.from(where, "base64url").toString();
  if (!isAddress(address)) throw badInput("this join string names no address of a desk: make another one");
  return { address, pin: `spki:${key}`, id, secret };
}

/** 40 random bits as 8 characters of base32 (RFC 4648 section 6, in lower case): safe as an argument. */
export function newId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => letters[byte & 31]).join("");
}

export const newSecret = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

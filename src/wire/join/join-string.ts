/**
 * Join strings: `svcj1.<base64url host:port>.<spki>.<id>.<secret>.<checksum>`, all that a host needs to join a desk; and standby strings,
 * `svcs1.…`, all that another machine needs to follow a desk as its standby.
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

/** What each kind of string begins with. */
const PREFIXES = { join: "svcj1", standby: "svcs1" } as const;

/** What a string is for. */
type Kind = keyof typeof PREFIXES;

const PRINTED_BY: Readonly<Record<Kind, string>> = { join: "svc join-token", standby: "svc standby allow" };

/** A name, an IPv4 address or an IPv6 address in brackets, and a port. */
const ADDRESS = /^(?:[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})$/;

/** What {@link isAddress} accepts, in words. */
export const ADDRESS_FORM = "HOST:PORT, an IPv6 address in brackets";

/** Whether `text` is an address that a join string can name. */
export function isAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[2] ?? 0);
  return port > 0 && port < 65_536 && URL.canParse(`https://${text}`);
}

export const formatJoinString = (parts: JoinString): string => format("join", parts);

/** The string with which another machine follows this desk. */
export const formatStandbyString = (parts: JoinString): string => format("standby", parts);

function format(kind: Kind, { address, pin, id, secret }: JoinString): string {
  const where = Buffer.from(address).toString("base64url");
  const body = [PREFIXES[kind], where, pin.replace(/^spki:/, ""), id, secret].join(".");
  return `${body}.${checksumOf(body)}`;
}

const FORM =
  /^(svc[js]1\.([A-Za-z0-9_-]{4,350})\.([A-Za-z0-9_-]{43})\.([a-z2-7]{8})\.([A-Za-z0-9_-]{43}))\.([A-Za-z0-9_-]{6})$/;

/** @throws a `bad_input` failure that quotes nothing of `text`. */
export const parseJoinString = (text: string): JoinString => parse("join", text);

/** @throws a `bad_input` failure that quotes nothing of `text`. */
export const parseStandbyString = (text: string): JoinString => parse("standby", text);

function parse(kind: Kind, text: string): JoinString {
  const trimmed = text.trim();
  const prefix = PREFIXES[kind];
  if (!trimmed.startsWith(`${prefix}.`)) {
    throw badInput(
      `this is no ${kind} string: expected the line that \`${PRINTED_BY[kind]}\` prints, ${prefix}.…`,
    );
  }
  const [, body = "", where = "", key, id = "", secret = "", checksum] = FORM.exec(trimmed) ?? [];
  if (body === "" || checksumOf(body) !== checksum) {
    throw badInput(`this ${kind} string is cut off or mistyped: copy the whole line`);
  }
  const address = Buffer.from(where, "base64url").toString();
  if (!isAddress(address)) throw badInput(`this ${kind} string names no address of a desk: make another one`);
  return { address, pin: `spki:${key}`, id, secret };
}

/** 40 random bits as 8 characters of base32 (RFC 4648 section 6, in lower case): safe as an argument. */
export function newId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => letters[byte & 31]).join("");
}

export const newSecret = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

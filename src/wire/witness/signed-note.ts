/**
 * Signed notes (https://c2sp.org/signed-note): a text and lines of signatures, each by a named key; and the keys that verify
 * them.
 *
 * Two kinds of signatures are known: Ed25519 over the text (0x01), and the cosignature of a witness, which says when
 * (0x04, https://c2sp.org/tlog-cosignature). Lines of other keys and kinds are kept and prove nothing.
 */
import { badInput, rejected } from "../../lib/errors";
import { isSignedBy, isSignedBySoon, type SigningKey } from "../../lib/signing-key";

/** The first byte of a verifier key. */
export const SIGNATURE = 0x01;
export const COSIGNATURE = 0x04;

/** A key that verifies the signatures of one kind by one name. */
export interface VerifierKey {
  readonly name: string;
  readonly type: typeof SIGNATURE | typeof COSIGNATURE;
  /** The four bytes before each of its signatures, as 8 hexadecimal digits. */
  readonly id: string;
  /** Ed25519, 43 characters of base64url. */
  readonly publicKey: string;
}

interface NoteSignature {
  readonly name: string;
  /** As {@link VerifierKey.id}. */
  readonly id: string;
  /** What follows the id. */
  readonly bytes: Buffer;
  /** The whole line, with its end. */
  readonly line: string;
}

export interface SignedNote {
  /** With its last line end, as it is signed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

interface VerifiedSignature {
  readonly name: string;
  /** When a witness cosigned, in seconds since 1970; null for a plain signature. */
  readonly time: number | null;
}

/** More signatures make a note useless (the specification asks for at least 16). */
const MAX_SIGNATURES = 64;

const ID_BYTES = 4;
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

/** A name without spaces and `+`. U+0085 is a space for others, but not for ECMAScript. */
const NAME = /^[^\s\u0085+]+$/u;

const LINE = /^\u2014 ([^\s\u0085+]+) ([A-Za-z0-9+/]+={0,2})$/u;

const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;

/** @throws a `bad_input` failure for what is no signed note. */
export function parseNote(note: string): SignedNote {
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n") || !note.isWellFormed() || CONTROL.test(note)) throw noNote();
  const lines = note.slice(end + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES)
    throw badInput(`note: expected at most ${MAX_SIGNATURES} signatures, but found ${lines.length}`);
  return { text: note.slice(0, end + 1), signatures: lines.map(parseLine) };
}

const noNote = () => badInput("note: expected a signed note: a text, an empty line, and lines of signatures");

function parseLine(line: string): NoteSignature {
  const [, name, encoded] = LINE.exec(line) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (name === undefined || bytes === undefined || bytes.length <= ID_BYTES) throw noNote();
  return {
    name,
    id: bytes.subarray(0, ID_BYTES).toString("hex"),
    bytes: bytes.subarray(ID_BYTES),
    line: `${line}\n`,
  };
}

/** The note of a text and the lines of its signatures. */
export const noteOf = (text: string, lines: Iterable<string>): string => `${text}\n${[...lines].join("")}`;

/** The bytes of `text`, in the base64 of RFC 4648, section 4; undefined for what is not exactly that. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** The verifier key of a name and a public key, 43 characters of base64url. @throws a `bad_input` failure for an unfit name. */
export function verifierKey(name: string, type: VerifierKey["type"], publicKey: string): VerifierKey {
  if (!isName(name)) throw badInput("key: expected a name without spaces and +");
  const digest = Bun.SHA256.hash(Buffer.concat([Buffer.from(`${name}\n`), material(type, publicKey)]), "hex");
  return { name, type, id: digest.slice(0, ID_BYTES * 2), publicKey };
}

const isName = (name: string) => NAME.test(name) && name.isWellFormed() && !CONTROL.test(name);

const material = (type: number, publicKey: string) =>
  Buffer.concat([Buffer.of(type), Buffer.from(publicKey, "base64url")]);

/** `key` as text, `NAME+ID+KEY`: what another program takes to verify with. */
export const formatVerifierKey = ({ name, type, id, publicKey }: VerifierKey): string =>
  `${name}+${id}+${toBase64(material(type, publicKey))}`;

/**
 * The verifier key that `text` is.
 *
 * @param field what the key was given as, for the message.
 * @throws a `bad_input` failure for what is no verifier key of a known kind.
 */
export function parseVerifierKey(text: string, field = "key"): VerifierKey {
  const [, name = "", id = "", encoded = ""] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/s.exec(text) ?? [];
  const bytes = fromBase64(encoded);
  const type = bytes?.[0];
  if (bytes?.length !== 33 || !isName(name) || (type !== SIGNATURE && type !== COSIGNATURE)) {
    const what = "a verifier key of Ed25519: NAME+ID+KEY, as `svc audit key` and `svc witness key` print it";
    throw badInput(`${field}: expected ${what}`);
  }
  const key = verifierKey(name, type, bytes.subarray(1).toString("base64url"));
  if (key.id !== id)
    throw badInput(`${field}: expected the id ${key.id} for this name and key, but found ${id}`);
  return key;
}

/** The name of the audit log of a host whose key this is, 43 characters of base64url: another key makes another log. */
export const logName = (publicKey: string): string =>
  `svc.host/${Bun.SHA256.hash(Buffer.from(publicKey, "base64url"), "hex").slice(0, 16)}`;

/**
 * What the key of a log signs to say that it is the log of the host with this id: else another host could show it as its own.
 * It is no checkpoint.
 */
export const ownerText = (hostId: string): string => `svc-audit-log-of-v1\n${hostId}\n`;

/** The line of the signature of `text` by `key`, in the name of `name`. */
export const signNote = (text: string, name: string, key: SigningKey): string =>
  lineOf(verifierKey(name, SIGNATURE, key.publicKey), Buffer.from(key.sign(text), "base64url"));

/** The line of a cosignature of the checkpoint `text`. @param time in seconds since 1970, whole. */
export function cosignNote(text: string, name: string, key: SigningKey, time: number): string {
  const stamp = Buffer.alloc(TIME_BYTES);
  stamp.writeBigUInt64BE(BigInt(time));
  const signature = Buffer.from(key.sign(cosigned(time, text)), "base64url");
  return lineOf(verifierKey(name, COSIGNATURE, key.publicKey), Buffer.concat([stamp, signature]));
}

const cosigned = (time: number | bigint, text: string) => `cosignature/v1\ntime ${time}\n${text}`;

const lineOf = ({ name, id }: VerifierKey, bytes: Uint8Array) =>
  `\u2014 ${name} ${toBase64(Buffer.concat([Buffer.from(id, "hex"), bytes]))}\n`;

interface Claim extends VerifiedSignature {
  readonly publicKey: string;
  readonly message: string;
  /** 86 characters of base64url. */
  readonly signature: string;
}

/**
 * The signature of `note` by `key`; undefined when it has none. Of several, the latest.
 *
 * @throws a `rejected` failure for a false signature in the name of this key: then refuse the whole note.
 */
export function verifiedBy(note: SignedNote, key: VerifierKey): VerifiedSignature | undefined {
  let latest: VerifiedSignature | undefined;
  for (const claim of claimsOf(note, key)) {
    const { publicKey, message, signature } = claim;
    latest = laterOf(latest, claim, isSignedBy(publicKey, message, signature));
  }
  return latest;
}

/** As {@link verifiedBy}, with the work on another thread. */
export async function verifiedSoon(
  note: SignedNote,
  key: VerifierKey,
): Promise<VerifiedSignature | undefined> {
  let latest: VerifiedSignature | undefined;
  for (const claim of claimsOf(note, key)) {
    const { publicKey, message, signature } = claim;
    latest = laterOf(latest, claim, await isSignedBySoon(publicKey, message, signature));
  }
  return latest;
}

/** The lines of `note` that are in the name of `key`, each once: verifying is slow, and whoever sends a note may repeat a line. */
export function linesOf({ signatures }: SignedNote, { name, id }: VerifierKey): string[] {
  const own = signatures.filter((one) => one.name === name && one.id === id);
  return [...new Set(own.map(({ line }) => line))];
}

function claimsOf(note: SignedNote, key: VerifierKey): Claim[] {
  const lines = linesOf(note, key);
  const own = lines.flatMap((line) => note.signatures.find((signature) => signature.line === line) ?? []);
  return own.map((signature) => claimOf(note.text, signature, key));
}

/** The latest time that `Date` has, in seconds since 1970. */
const MAX_TIME = 8_640_000_000_000n;

function claimOf(text: string, { bytes }: NoteSignature, { name, type, publicKey }: VerifierKey): Claim {
  const stamped = type === COSIGNATURE ? TIME_BYTES : 0;
  const time = stamped && bytes.length >= stamped ? bytes.readBigUInt64BE() : 0n;
  if (bytes.length !== stamped + SIGNATURE_BYTES || time > MAX_TIME) throw falseSignature(name);
  return {
    name,
    publicKey,
    time: stamped ? Number(time) : null,
    message: stamped ? cosigned(time, text) : text,
    signature: bytes.subarray(stamped).toString("base64url"),
  };
}

function laterOf(
  latest: VerifiedSignature | undefined,
  { name, time }: Claim,
  isGood: boolean,
): VerifiedSignature {
  if (!isGood) throw falseSignature(name);
  return latest && (latest.time ?? 0) >= (time ?? 0) ? latest : { name, time };
}

const falseSignature = (name: string) => rejected(`the signature of ${name} is not that of this note`);

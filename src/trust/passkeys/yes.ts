/**
 * A yes that a passkey has signed, as it is kept with its row of the audit log: whoever has the row can check it, without svc and without
 * the host.
 *
 * The promise: the challenge that the passkey has signed is the SHA-256 of a text that says what is allowed, and has one form. What is
 * read here was signed by that key, at that name, after the authenticator had made sure of its person.
 */
import * as v from "valibot";
import { type Failure, rejected } from "../../lib/errors";
import { valueIn } from "../../lib/value-in";
import { bytesText, CREDENTIAL_ID } from "./bytes";

const PLAIN = v.union([v.string(), v.number(), v.boolean(), v.null()]);

/** What exactly is allowed, by name. */
export type Terms = Readonly<Record<string, string | number | boolean | null>>;

const STATEMENT = v.strictObject({
  svc: v.literal("passkey yes"),
  version: v.literal(1),
  /** The server that asks, as a URI. */
  host: v.string(),
  /** Random: no two questions have the same. */
  question: v.string(),
  /** Who is asked: a person, a named token, or null for the host's own. */
  holder: v.nullable(v.string()),
  /** The name of the server in its address. */
  rp_id: v.string(),
  /** Until when an answer counts, ISO 8601. */
  expires: v.string(),
  /** The operation that goes on with a yes. */
  what: v.string(),
  terms: v.record(v.string(), PLAIN),
});

/** What a person is asked to sign. */
export type Statement = v.InferOutput<typeof STATEMENT>;

/** The text of a statement: JSON without white space, the fields in the order of the type, the terms in that of their operation. */
export const statementText = ({
  svc,
  version,
  host,
  question,
  holder,
  rp_id,
  expires,
  what,
  terms,
}: Statement): string =>
  JSON.stringify({ svc, version, host, question, holder, rp_id, expires, what, terms });

/** The challenge that stands for a text: its SHA-256 in base64url. */
export const challengeOf = (text: string): string => sha256(Buffer.from(text)).toString("base64url");

function sha256(bytes: Uint8Array): Buffer {
  return Buffer.from(new Bun.CryptoHasher("sha256").update(bytes).digest());
}

const KEPT = v.strictObject({
  credential: CREDENTIAL_ID,
  /** The public key: SubjectPublicKeyInfo (RFC 5280), DER. */
  key: bytesText(4_096),
  authenticator_data: bytesText(8_192),
  client_data: bytesText(8_192),
  signature: bytesText(2_048),
  text: v.pipe(v.string(), v.maxLength(20_000)),
});

/** What is kept of a yes. */
export type KeptYes = v.InferOutput<typeof KEPT>;

/** A yes in one word, for a row of the audit log: JSON in base64url. */
export const keptText = ({ credential, key, authenticator_data, client_data, signature, text }: KeptYes) =>
  Buffer.from(JSON.stringify({ credential, key, authenticator_data, client_data, signature, text })).toString(
    "base64url",
  );

/** A yes that was checked. */
export interface SignedYes extends KeptYes {
  readonly statement: Statement;
  /** The page at which it was given. */
  readonly origin: string;
}

const CLIENT_DATA = v.object({
  type: v.literal("webauthn.get"),
  challenge: v.string(),
  origin: v.string(),
  crossOrigin: v.optional(v.boolean()),
});

/** User present, and user verified (WebAuthn section 6.1). */
const FLAGS = 0x05;

const unsigned = (why: string): Failure => rejected(`the yes is not signed as it should be: ${why}`);

/**
 * The yes in a word of a row.
 *
 * @throws a `rejected` failure where it is none, or is not signed by the key in it. Whose key that is, the log says.
 */
export function verifyYes(word: string): SignedYes {
  const kept = valueIn(KEPT, Buffer.from(word, "base64url").toString());
  if (!kept || keptText(kept) !== word) throw unsigned("it has another form");
  const statement = valueIn(STATEMENT, kept.text);
  if (!statement || statementText(statement) !== kept.text) throw unsigned("its text has another form");
  const clientData = Buffer.from(kept.client_data, "base64url");
  const client = valueIn(CLIENT_DATA, clientData.toString());
  if (!client || client.crossOrigin === true) throw unsigned("no page of svc has asked for it");
  if (client.challenge !== challengeOf(kept.text)) throw unsigned("another text was signed");
  if (URL.parse(client.origin)?.hostname !== statement.rp_id)
    throw unsigned("it was given at another address");
  const data = Buffer.from(kept.authenticator_data, "base64url");
  if (data.length < 37 || !data.subarray(0, 32).equals(sha256(Buffer.from(statement.rp_id))))
    throw unsigned("it was given for another address");
  if (((data[32] ?? 0) & FLAGS) !== FLAGS) throw unsigned("the authenticator did not verify its person");
  const message = Buffer.concat([data, sha256(clientData)]);
  if (!isSignedBy(kept.key, message, kept.signature)) throw unsigned("the signature is not that of the key");
  return { ...kept, statement, origin: client.origin };
}

/** How far a clock may be set while a person answers, in milliseconds. */
const CLOCK_MS = 3_600_000;

/**
 * Whether a row of that time is too late for the yes: whoever has the host could put one of before into a new row.
 *
 * @param at ISO 8601.
 */
export const isLate = ({ expires }: Pick<Statement, "expires">, at: string): boolean =>
  !(Date.parse(at) <= Date.parse(expires) + CLOCK_MS);

/** Whether the key has signed `message`: ECDSA on P-256, Ed25519, or RSA with PKCS #1; no other key counts. */
function isSignedBy(key: string, message: Uint8Array, signature: string): boolean {
  // Loaded on first use: an idle server needs none of it.
  const { createPublicKey, verify } = process.getBuiltinModule("node:crypto");
  try {
    const known = createPublicKey({ key: Buffer.from(key, "base64url"), format: "der", type: "spki" });
    const bytes = Buffer.from(signature, "base64url");
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = known;
    if (type === "ed25519") return verify(null, message, known, bytes);
    const isKnown = type === "rsa" || (type === "ec" && details?.namedCurve === "prime256v1");
    return isKnown && verify("sha256", message, known, bytes);
  } catch {
    return false;
  }
}

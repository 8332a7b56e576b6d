/**
 * DSSE envelopes (https://github.com/secure-systems-lab/dsse, v1.0.2) with one Ed25519 signature.
 *
 * The promise: an envelope that is read has one meaning. Repeated keys, other spellings of the same JSON and base64 that is not canonical
 * are refused, so that no two programs read two things in it.
 */
import * as v from "valibot";
import { badInput, rejected } from "../../lib/errors";
import { boundOf, excessIn } from "../../lib/json-bounds";
import { isSignedBy, type SigningKey } from "../../lib/signing-key";
import { fromBase64, toBase64 } from "../witness/signed-note";

/** The payload of in-toto statements. */
export const PAYLOAD_TYPE = "application/vnd.in-toto+json";

/** The largest envelope, in characters. */
export const MAX_ENVELOPE = 64 * 1024 * 1024;

export const ENVELOPE = v.strictObject({
  payloadType: v.pipe(v.string(), v.maxLength(200)),
  /** Base64. */
  payload: v.pipe(v.string(), v.maxLength(MAX_ENVELOPE)),
  signatures: v.strictTuple([
    v.strictObject({
      /** The id of the host whose key it is: a hint. */
      keyid: v.pipe(v.string(), v.maxLength(100)),
      sig: v.pipe(v.string(), v.maxLength(200)),
    }),
  ]),
});

export type Envelope = v.InferOutput<typeof ENVELOPE>;

/** What is signed: the pre-authentication encoding of `payload`. */
function encoded(type: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** The envelope of `statement`, an in-toto statement, signed by the key of the host with that id. */
export function sealed(statement: object, key: SigningKey, keyid: string): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  // Both are UTF-8, so that the text has the same bytes.
  const sig = Buffer.from(key.sign(encoded(PAYLOAD_TYPE, payload).toString()), "base64url");
  return {
    payloadType: PAYLOAD_TYPE,
    payload: toBase64(payload),
    signatures: [{ keyid, sig: toBase64(sig) }],
  };
}

/** An envelope in a file. */
export const envelopeText = (envelope: Envelope): string => `${JSON.stringify(envelope)}\n`;

/**
 * What an envelope holds, before anybody has looked at its signature.
 *
 * @param maxValues the most values and names in it: what is in base64 escapes the bound on the answer that brings it.
 * @throws a `bad_input` failure where that is no JSON, or has more of them.
 */
export function payloadOf({ payloadType, payload }: Envelope, maxValues = Number.POSITIVE_INFINITY): unknown {
  if (payloadType !== PAYLOAD_TYPE)
    throw badInput(`file: expected the payload type ${PAYLOAD_TYPE}, but found another`);
  const bytes = fromBase64(payload);
  const text = bytes?.toString();
  if (!bytes || text === undefined || !Buffer.from(text).equals(bytes)) throw noReceipt();
  const excess = excessIn(bytes, maxValues);
  if (excess) throw badInput(`file: expected a receipt of ${boundOf(excess, maxValues)}`);
  return onlyMeaning(text);
}

/** @throws a `rejected` failure unless the key, 43 characters of base64url, has signed the envelope. */
export function requireSigned({ payloadType, payload, signatures }: Envelope, publicKey: string): void {
  const signature = fromBase64(signatures[0].sig)?.toString("base64url") ?? "";
  const bytes = encoded(payloadType, Buffer.from(payload, "base64"));
  if (!isSignedBy(publicKey, bytes, signature))
    throw rejected("the key of its host has not signed what is in it");
}

/** Whether `text` is `plain`, which has no white space outside of its texts, but for white space outside of them. */
function isPlain(text: string, plain: string): boolean {
  let [at, isInside, isEscaped] = [0, false, false];
  // It has been parsed: what is no sign of JSON is white space.
  const skipSpace = () => {
    while (text.charCodeAt(at) <= SPACE) at++;
  };
  for (let nth = 0; nth < plain.length; nth++) {
    if (!isInside) skipSpace();
    const code = plain.charCodeAt(nth);
    if (text.charCodeAt(at++) !== code) return false;
    if (code === QUOTE && !isEscaped) isInside = !isInside;
    isEscaped = code === BACKSLASH && !isEscaped;
  }
  skipSpace();
  return at === text.length;
}

const [SPACE, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c];

/**
 * `text` as JSON, where it is the only way to write what it says, besides white space: a key that is there twice, or a number in another
 * form, would be read otherwise by another program.
 */
export function onlyMeaning(text: string): unknown {
  try {
    const value = JSON.parse(text);
    if (isPlain(text, JSON.stringify(value))) return value;
  } catch {
    throw noReceipt();
  }
  throw badInput("file: expected JSON without repeated keys, in its plain form");
}

/** @returns the failure for a file that is no receipt. */
export const noReceipt = () =>
  badInput("file: expected a receipt, as `svc runs proof` and `svc plan proof` write it");

/**
 * DSSE envelopes (https://github.com/secure-systems-lab/dsse, v1.0.2) with one Ed25519 signature.
 *
 * The promise: an envelope that is read has one meaning. Repeated keys, other spellings of the same JSON and base64 that is not canonical
 * are refused, so that no two programs read two things in it.
 */
import * as v from "valibot";
import { badInput, rejected } from "../../lib/errors";
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

/** What an envelope holds, before anybody has looked at its signature. @throws a `bad_input` failure where that is no JSON. */
export function payloadOf({ payloadType, payload }: Envelope): unknown {
  if (payloadType !== PAYLOAD_TYPE)
    throw badInput(`file: expected the payload type ${PAYLOAD_TYPE}, but found another`);
  const bytes = fromBase64(payload);
  const text = bytes?.toString();
  if (!bytes || text === undefined || !Buffer.from(text).equals(bytes)) throw noReceipt();
  return onlyMeaning(text);
}

/** @throws a `rejected` failure unless the key, 43 characters of base64url, has signed the envelope. */
export function requireSigned({ payloadType, payload, signatures }: Envelope, publicKey: string): void {
  const signature = fromBase64(signatures[0].sig)?.toString("base64url") ?? "";
  const bytes = encoded(payloadType, Buffer.from(payload, "base64"));
  if (!isSignedBy(publicKey, bytes, signature))
    throw rejected("the key of its host has not signed what is in it");
}

/** `json` without white space outside of its texts, which may have millions of characters: more than one match of a pattern can have. */
function withoutSpace(json: string): string {
  const parts: string[] = [];
  for (let at = 0; at < json.length; ) {
    const begin = json.indexOf('"', at);
    const outside = begin < 0 ? json.slice(at) : json.slice(at, begin);
    const end = begin < 0 ? json.length : endOfText(json, begin);
    parts.push(outside.replaceAll(/[ \t\r\n]+/g, ""), begin < 0 ? "" : json.slice(begin, end));
    at = end;
  }
  return parts.join("");
}

/** Where the text ends that begins at `begin`. @param json can be parsed. */
function endOfText(json: string, begin: number): number {
  for (let end = begin; ; ) {
    end = json.indexOf('"', end + 1);
    let escapes = 0;
    while (json.charAt(end - 1 - escapes) === "\\") escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
}

/**
 * `text` as JSON, where it is the only way to write what it says, besides white space: a key that is there twice, or a number in another
 * form, would be read otherwise by another program.
 */
export function onlyMeaning(text: string): unknown {
  try {
    const value = JSON.parse(text);
    if (JSON.stringify(value) === withoutSpace(text)) return value;
  } catch {
    throw noReceipt();
  }
  throw badInput("file: expected JSON without repeated keys, in its plain form");
}

/** @returns the failure for a file that is no receipt. */
export const noReceipt = () =>
  badInput("file: expected a receipt, as `svc runs proof` and `svc plan proof` write it");

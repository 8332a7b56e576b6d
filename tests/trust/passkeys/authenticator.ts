/** An authenticator in software: what a security key and its browser answer, written by hand (WebAuthn, CBOR of RFC 8949, COSE of RFC 9052). */
import type { Creation } from "../../../src/trust/passkeys/passkeys";
import type { NewPasskey } from "../../../src/trust/passkeys/webauthn";

/** The address of the pages of tests. */
export const ORIGIN = "http://localhost:9939";

/** What a server asks for. */
export interface Question {
  readonly question: string;
  readonly challenge: string;
  readonly rp_id: string;
  readonly text: string;
}

/** What an authenticator, or a page, does otherwise than it should. */
interface Odd {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  /** Whether it has made sure of its person (default: true). */
  readonly verified?: boolean;
  /** What it says instead of its next count. */
  readonly counter?: number;
  readonly crossOrigin?: boolean;
}

const text = (bytes: Uint8Array | ArrayBuffer): string =>
  Buffer.from(new Uint8Array(bytes)).toString("base64url");
const sha256 = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const utf8 = (one: string) => new Uint8Array(Buffer.from(one));

/** The head of an item: its major type and a number below 65,536. */
function head(major: number, value: number): number[] {
  if (value < 24) return [(major << 5) | value];
  return value < 256 ? [(major << 5) | 24, value] : [(major << 5) | 25, value >> 8, value & 255];
}

type Cbor = string | number | Uint8Array | ReadonlyMap<Cbor, Cbor>;

function cbor(value: Cbor): number[] {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return [...head(3, Buffer.byteLength(value)), ...utf8(value)];
  if (value instanceof Uint8Array) return [...head(2, value.length), ...value];
  return [...head(5, value.size), ...[...value].flatMap(([key, one]) => [...cbor(key), ...cbor(one)])];
}

/** A whole number of a signature as DER has it. */
function derInteger(bytes: Uint8Array): number[] {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = [...bytes.slice(first)];
  const whole = (short[0] ?? 0) > 127 ? [0, ...short] : short;
  return [2, whole.length, ...whole];
}

/** A signature of WebCrypto, r and s, as authenticators have it. */
function derSignature(raw: Uint8Array): Uint8Array {
  const both = [...derInteger(raw.slice(0, 32)), ...derInteger(raw.slice(32))];
  return new Uint8Array([0x30, both.length, ...both]);
}

/** A security key with one credential. */
export interface Authenticator {
  /** The id of the credential, base64url. */
  readonly id: string;
  /** The body of `POST /passkeys/add`. */
  create(begun: Creation, odd?: Odd): Promise<NewPasskey & { readonly question: string }>;
  /** The value of the header `svc-passkey`. */
  touch(question: Question, odd?: Odd): Promise<string>;
}

export async function createAuthenticator(): Promise<Authenticator> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const credential = crypto.getRandomValues(new Uint8Array(16));
  const id = text(credential);
  let count = 0;

  const dataOf = async (rpId: string, flags: number, counter: number, more: readonly number[] = []) => {
    const counted = [counter >> 24, counter >> 16, counter >> 8, counter].map((byte) => byte & 255);
    return new Uint8Array([...(await sha256(utf8(rpId))), flags, ...counted, ...more]);
  };
  const clientOf = (type: string, challenge: string, { origin = ORIGIN, crossOrigin = false }: Odd) =>
    utf8(JSON.stringify({ type, challenge, origin, crossOrigin }));

  return {
    id,
    async create({ question, challenge, rp_id }, odd = {}) {
      const key = new Map<Cbor, Cbor>()
        .set(1, 2)
        .set(3, -7)
        .set(-1, 1)
        .set(-2, point.slice(1, 33))
        .set(-3, point.slice(33));
      const attested = [...new Uint8Array(16), 0, credential.length, ...credential, ...cbor(key)];
      const flags = odd.verified === false ? 0x41 : 0x45;
      const authData = await dataOf(odd.rpId ?? rp_id, flags, count, attested);
      const attestation = new Map<Cbor, Cbor>()
        .set("fmt", "none")
        .set("attStmt", new Map())
        .set("authData", authData);
      return {
        ...{ question, id, transports: ["usb"] },
        attestation_object: text(new Uint8Array(cbor(attestation))),
        client_data: text(clientOf("webauthn.create", odd.challenge ?? challenge, odd)),
      };
    },
    async touch({ question, challenge, rp_id }, odd = {}) {
      count += 1;
      const client = clientOf("webauthn.get", odd.challenge ?? challenge, odd);
      const flags = odd.verified === false ? 0x01 : 0x05;
      const data = await dataOf(odd.rpId ?? rp_id, flags, odd.counter ?? count);
      const message = new Uint8Array([...data, ...(await sha256(client))]);
      const raw = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, message);
      const answer = {
        ...{ question, id, authenticator_data: text(data), client_data: text(client) },
        signature: text(derSignature(new Uint8Array(raw))),
      };
      return Buffer.from(JSON.stringify(answer)).toString("base64url");
    },
  };
}

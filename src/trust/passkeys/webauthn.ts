/**
 * What authenticators answer (https://www.w3.org/TR/webauthn-3/), checked by `@simplewebauthn/server`, which is loaded when somebody first
 * uses a passkey.
 *
 * The promise: no certificate in an answer is looked at, so nothing that it names is asked for; attestations other than none are refused.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { badInput, type Failure, forbidden, messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Place } from "./place";
import type { Passkey } from "./store";

/** The keys that passkeys may have: Ed25519, ECDSA on P-256, RSA with PKCS #1, in the order in which they are asked for (COSE). */
export const ALGORITHMS = [-8, -7, -257];

/** What is asked, and where. */
interface PlacedChallenge extends Place {
  readonly challenge: string;
}

/** What a browser sends of a new passkey, in base64url. */
export interface NewPasskey {
  readonly id: string;
  readonly attestation_object: string;
  readonly client_data: string;
  readonly transports: readonly string[];
}

/** What a browser sends of a touch, in base64url. */
export interface Touch {
  readonly id: string;
  readonly authenticator_data: string;
  readonly client_data: string;
  readonly signature: string;
}

const library = async () => {
  const [server, helpers] = await Promise.all([
    import("@simplewebauthn/server"),
    import("@simplewebauthn/server/helpers"),
  ]);
  return { ...server, helpers };
};

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, "base64url"));

const refused = (error: unknown): Failure =>
  forbidden(`the answer of the passkey does not count: ${printable(messageOf(error), 300)}`);

/** The passkey in the answer to a wish for a new one. @throws `forbidden` for an answer that is not good. */
export async function readNew(
  { id, attestation_object, client_data, transports }: NewPasskey,
  { challenge, origins, rpId }: PlacedChallenge,
): Promise<Pick<Passkey, "id" | "key" | "counter" | "synced" | "transports">> {
  const { verifyRegistrationResponse, helpers } = await library();
  const response: RegistrationResponseJSON = {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: { clientDataJSON: client_data, attestationObject: attestation_object },
  };
  try {
    const attested = helpers.decodeAttestationObject(bytesOf(attestation_object));
    const isPlain =
      attested.get("fmt") === "none" ||
      (attested.get("fmt") === "packed" && !attested.get("attStmt").get("x5c"));
    if (!isPlain) throw badInput("expected no attestation: none was asked for");
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw badInput("its signature is not good");
    const { credential, credentialBackedUp: synced } = registrationInfo;
    if (credential.id !== id) throw badInput("it names another passkey");
    const key = Buffer.from(credential.publicKey).toString("base64url");
    return { id, key, counter: credential.counter, synced, transports: [...transports] };
  } catch (error) {
    throw refused(error);
  }
}

/** The counter after a touch. @throws `forbidden` for one that is not good, or whose counter did not go on. */
export async function readTouch(
  { id, authenticator_data, client_data, signature }: Touch,
  { key, counter, transports }: Pick<Passkey, "key" | "counter" | "transports">,
  { challenge, origins, rpId }: PlacedChallenge,
): Promise<number> {
  const { verifyAuthenticationResponse } = await library();
  const response: AuthenticationResponseJSON = {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: { clientDataJSON: client_data, authenticatorData: authenticator_data, signature },
  };
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      credential: { id, publicKey: bytesOf(key), counter, transports: [...transports] },
      requireUserVerification: true,
    });
    if (!verified) throw badInput("its signature is not good");
    return authenticationInfo.newCounter;
  } catch (error) {
    throw refused(error);
  }
}

/** A public key (COSE) as SubjectPublicKeyInfo, which every tool reads: DER in base64url. @throws `forbidden` for one that is not known. */
export async function spkiOf(key: string): Promise<string> {
  const { helpers } = await library();
  const { createPublicKey } = process.getBuiltinModule("node:crypto");
  try {
    const known = helpers.decodeCredentialPublicKey(bytesOf(key));
    const { COSEKEYS, isCOSEPublicKeyEC2, isCOSEPublicKeyOKP, isCOSEPublicKeyRSA } = helpers.cose;
    const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString("base64url");
    const jwkOf = () => {
      if (isCOSEPublicKeyEC2(known)) {
        const [x, y] = [text(known.get(COSEKEYS.x)), text(known.get(COSEKEYS.y))];
        return { kty: "EC", crv: "P-256", x, y };
      }
      if (isCOSEPublicKeyOKP(known)) return { kty: "OKP", crv: "Ed25519", x: text(known.get(COSEKEYS.x)) };
      if (isCOSEPublicKeyRSA(known))
        return { kty: "RSA", n: text(known.get(COSEKEYS.n)), e: text(known.get(COSEKEYS.e)) };
      throw badInput("its key is of another kind");
    };
    const der = createPublicKey({ key: jwkOf(), format: "jwk" }).export({ type: "spki", format: "der" });
    return der.toString("base64url");
  } catch (error) {
    throw refused(error);
  }
}

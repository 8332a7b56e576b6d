/**
 * Saying yes with a passkey: what the server refuses with a question is sent once more, with the answer of an authenticator.
 */
import { ApiError } from "./api-error.js";

/**
 * What the server wants signed.
 *
 * @typedef {object} Question
 * @property {string} question
 * @property {string} challenge in base64url, as the ids
 * @property {string} rp_id
 * @property {{ id: string, transports: AuthenticatorTransport[] }[]} credentials
 */

/** How long a browser waits for a touch, in milliseconds: a little less than the server. */
const TOUCH_MS = 240_000;

/**
 * Sends a request, and once more with a passkey where the server asks for one.
 *
 * @template T
 * @param {(headers: Record<string, string>) => Promise<T>} send
 * @returns {Promise<T>}
 * @throws what `send` throws; an error that says why nothing was signed
 */
export async function signed(send) {
  try {
    return await send({});
  } catch (error) {
    const question = questionIn(error);
    if (!question) throw error;
    return send({ "svc-passkey": await touch(question) });
  }
}

/** @param {unknown} error @returns {Question | undefined} */
function questionIn(error) {
  const asked = error instanceof ApiError ? error.body.passkey : undefined;
  return typeof asked === "object" && asked !== null ? /** @type {Question} */ (asked) : undefined;
}

/** The answer for the header. @param {Question} asked */
async function touch({ question, challenge, rp_id, credentials }) {
  const made = await withAuthenticator((store) =>
    store.get({
      publicKey: {
        challenge: bytesOf(challenge),
        rpId: rp_id,
        allowCredentials: credentials.map(({ id, transports }) => ({
          ...{ type: /** @type {const} */ ("public-key"), id: bytesOf(id), transports },
        })),
        userVerification: "required",
        timeout: TOUCH_MS,
      },
    }),
  );
  const response = /** @type {AuthenticatorAssertionResponse} */ (made.response);
  const answer = {
    ...{ question, id: textOf(made.rawId) },
    authenticator_data: textOf(response.authenticatorData),
    client_data: textOf(response.clientDataJSON),
    signature: textOf(response.signature),
  };
  return textOf(new TextEncoder().encode(JSON.stringify(answer)).buffer);
}

/**
 * Has an authenticator make a passkey.
 *
 * @param {import("./wire").Answer<"passkeys/begin">} begun
 * @returns {Promise<import("./wire").Body<"passkeys/add">>}
 */
export async function createPasskey({ question, challenge, rp_id, user, algorithms, exclude }) {
  const type = /** @type {const} */ ("public-key");
  const made = await withAuthenticator((store) =>
    store.create({
      publicKey: {
        challenge: bytesOf(challenge),
        rp: { id: rp_id, name: "svc" },
        user: { id: bytesOf(user.id), name: user.name, displayName: user.name },
        pubKeyCredParams: algorithms.map((alg) => ({ type, alg })),
        excludeCredentials: exclude.map((id) => ({ type, id: bytesOf(id) })),
        authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
        attestation: "none",
        timeout: TOUCH_MS,
      },
    }),
  );
  const response = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  return {
    ...{ question, id: textOf(made.rawId) },
    attestation_object: textOf(response.attestationObject),
    client_data: textOf(response.clientDataJSON),
    transports: response.getTransports?.() ?? [],
  };
}

/**
 * @param {(store: CredentialsContainer) => Promise<Credential | null>} use
 * @returns {Promise<PublicKeyCredential>}
 */
async function withAuthenticator(use) {
  // Browsers leave it out of pages that others on the way can change.
  if (!navigator.credentials || typeof PublicKeyCredential === "undefined")
    throw new Error(
      "This browser has no passkeys here: they need https and a name, or http://localhost on the host itself.",
    );
  try {
    const made = await use(navigator.credentials);
    if (made) return /** @type {PublicKeyCredential} */ (made);
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    if (name === "InvalidStateError") throw new Error("This authenticator has a passkey of yours already.");
    if (name === "SecurityError")
      throw new Error("This browser gives no passkey to this address: it needs https and a name.");
    if (name !== "NotAllowedError") throw error;
  }
  throw new Error(
    "Nothing was signed: the passkey was not touched in time, or you have closed the question.",
  );
}

/** @param {string} text in base64url */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));

/** @param {ArrayBuffer} bytes @returns {string} in base64url without padding */
const textOf = (bytes) =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

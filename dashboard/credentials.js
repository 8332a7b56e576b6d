/**
 * What a page shows who it is with: the token of its tab, or the session of its browser and the proof of its origin.
 */

/** Where the proof of this origin is: all its tabs have one session. */
export const PROOF_KEY = "svc-page";

/** The port of this page: the names of its cookies have it, as cookies of a host are for all its ports. */
const portOf = () => location.port || (location.protocol === "https:" ? "443" : "80");
export const markOf = () => `${location.protocol === "https:" ? "__Host-" : ""}svc-signed-in-${portOf()}`;

/** What the name of a session begins with. */
const SESSION = "oidc:";

/** Which session this browser has, by a cookie that is no secret. @param {string} cookies */
export const markIn = (cookies) =>
  cookies
    .split("; ")
    .find((one) => one.startsWith(`${markOf()}=`))
    ?.slice(markOf().length + 1) || undefined;

/** @param {string} token @returns {[name: string, value: string]} */
export const credentialsOf = (token) =>
  token.includes(" ") ? ["svc-page", `${portOf()} ${proofOf()}`] : ["authorization", `Bearer ${token}`];

/** What this origin proves itself with; null where nobody has begun to sign in. */
export const proofOf = () => localStorage.getItem(PROOF_KEY);

/** @param {Uint8Array} bytes */
export const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** The name of a person without what tells one session from another; undefined for a token. @param {string | null} name */
export const personIn = (name) =>
  name?.startsWith(SESSION) ? name.slice(SESSION.length).replace(/~[^~]*$/, "") : undefined;

/**
 * Distinguishes tokens without revealing them: 32 bits (FNV-1a), and only pages of this server can listen.
 *
 * @param {string} token
 */
export function fingerprint(token) {
  let hash = 0x811c9dc5;
  for (const unit of new TextEncoder().encode(token)) hash = Math.imul(hash ^ unit, 0x01000193) >>> 0;
  return hash.toString(16);
}

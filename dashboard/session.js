/**
 * Who is signed in on this page: with the token of this tab, or by the session of this browser.
 *
 * The token is kept in sessionStorage until the tab is closed, and sent in a header, never in a URL. A session is a cookie that no page
 * reads; what the server takes it with is a header that no page elsewhere can send, with a proof in the localStorage of this origin: the
 * cookie alone goes to every port of the host. A wrong token is dropped at once, so that it leads to no lockout.
 */
import { ApiError, endedWords } from "./api-error.js";
import { base64url, credentialsOf, markIn, markOf, PROOF_KEY, proofOf } from "./credentials.js";

const STORAGE_KEY = "svc-token";

/**
 * What the token of this tab allows, and its name.
 *
 * @typedef {import("./wire").Answer<"token">} Rights
 * @typedef {"metrics" | "read" | "screen" | "audit" | "sync" | "operate" | "admin"} Scope
 */

/**
 * Sends one request with a token, or with none where that is empty; `body` makes it a POST.
 *
 * @typedef {(path: string, token: string, body?: unknown) => Promise<any>} Send
 */

/**
 * Fires `signin` with the {@link Rights} in its `detail`, or null where they are not known; and `signout` with the reason in its
 * `detail` (empty if the user signed out).
 */
export class Session extends EventTarget {
  #base;
  #send;
  /** Whether this page has seen that somebody is signed in, and of no end since. */
  #isIn;
  /** The address at which the person whose session ended last signs out at the provider too. @type {Promise<string | null>} */
  ended = Promise.resolve(null);

  /** @param {URL} base of the API @param {Send} send */
  constructor(base, send) {
    super();
    this.#base = base;
    this.#send = send;
    this.#isIn = this.token !== null;
  }

  /** The token; for a session, what tells it from others, which is no token: it has a space. */
  get token() {
    const id = markIn(document.cookie);
    return sessionStorage.getItem(STORAGE_KEY) ?? (id === undefined ? null : `session ${id}`);
  }

  /** Whether this page has a session in place of a token. */
  get hasCookie() {
    return this.token?.includes(" ") === true;
  }

  /** The header that says who asks. @returns {[name: string, value: string] | null} */
  get credentials() {
    const { token } = this;
    return token === null ? null : credentialsOf(token);
  }

  /** Where people sign in; null where nobody can, or the server does not say. */
  async provider() {
    const answer = await fetch(new URL("oidc", this.#base)).catch(() => null);
    const { issuer } = Object(answer?.ok ? await answer.json().catch(() => ({})) : {});
    return typeof issuer === "string" ? issuer : null;
  }

  /** The address at which this browser begins to sign in, which names the digest of the proof of this page. */
  async signInAddress() {
    const address = new URL("oidc/login", this.#base);
    // Over http beyond this machine, where the server refuses it.
    if (!isSecureContext) return address.href;
    const proof = proofOf() ?? base64url(crypto.getRandomValues(new Uint8Array(32)));
    localStorage.setItem(PROOF_KEY, proof);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(proof));
    address.searchParams.set("page", base64url(new Uint8Array(digest)));
    return address.href;
  }

  /**
   * Begins the session of this browser, which has come back from the provider.
   *
   * @param {string} code
   * @throws {ApiError}
   */
  async begin(code) {
    await this.#send("oidc/page", "", { code, verifier: proofOf() ?? "" });
    sessionStorage.removeItem(STORAGE_KEY);
    if (this.token === null) throw new ApiError("failed", "This browser keeps no cookies of this page.");
    this.#enter(null);
  }

  /**
   * Keeps the token if the server accepts it.
   *
   * @param {string} token
   * @throws {ApiError}
   */
  async signIn(token) {
    // Not valid in a header, so not a token; the server would count it as a guess.
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new ApiError("unauthorized", "A token has only visible ASCII characters.");
    const rights = await this.#send("token", token);
    sessionStorage.setItem(STORAGE_KEY, token);
    this.#enter(rights);
  }

  /**
   * Signs in with a one-time code of `svc dashboard`.
   *
   * @param {string} code
   * @throws {ApiError}
   */
  async redeem(code) {
    const { token } = await this.#send("sign-in", "", { code });
    await this.signIn(token);
  }

  /** @param {Rights | null} rights */
  #enter(rights) {
    this.#isIn = true;
    this.dispatchEvent(new CustomEvent("signin", { detail: rights }));
  }

  /** The token for a request. It may be that of a session which another tab has begun. @throws {ApiError} where there is none */
  use() {
    const { token } = this;
    if (token === null) {
      this.noticeEnd();
      throw new ApiError("unauthorized", "Signed out.");
    }
    this.#isIn = true;
    return token;
  }

  /** @param {string} [reason] */
  signOut(reason = "") {
    const wasToken = !this.hasCookie;
    if (!wasToken) this.#endCookie(reason === "");
    sessionStorage.removeItem(STORAGE_KEY);
    this.#isIn = false;
    this.dispatchEvent(new CustomEvent("signout", { detail: reason }));
    // Of the session of this browser, which the token of this tab had hidden.
    if (wasToken && this.token !== null) this.#enter(null);
  }

  /**
   * Signs this page out where its session is gone: the cookie goes with its time, and when another tab signs out.
   *
   * @returns whether it has
   */
  noticeEnd() {
    const isGone = this.#isIn && this.token === null;
    if (isGone) this.signOut(endedWords(" ", ""));
    return isGone;
  }

  /** @param {boolean} isAsked whether the person asks for it; else it has ended already */
  #endCookie(isAsked) {
    const [name, value] = credentialsOf(" ");
    localStorage.removeItem(PROOF_KEY);
    // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not in every browser
    document.cookie = `${markOf()}=; Path=/; Max-Age=0${location.protocol === "https:" ? "; Secure" : ""}; SameSite=Strict`;
    if (!isAsked) return;
    const headers = { "content-type": "application/json", [name]: value };
    const init = { method: "POST", headers, body: "{}", keepalive: true };
    this.ended = fetch(new URL("oidc/logout", this.#base), init)
      .then((answer) => answer.json())
      .then(({ provider }) => provider ?? null)
      .catch(() => null);
  }
}

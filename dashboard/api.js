/**
 * The client of the REST API, with the token of this tab, or the session of this browser.
 *
 * The token is kept in sessionStorage until the tab is closed, and sent in a header, never in a URL. A session is a cookie that no page
 * reads; what the server takes it with is a header that no page elsewhere can send, with a proof in the localStorage of this origin: the
 * cookie alone goes to every port of the host. A wrong token is dropped at once, and nothing is sent while the server asks to wait: neither
 * leads to a lockout.
 */

import { ApiError, endedWords, limited, refusedWords, unreachable } from "./api-error.js";
import { base64url, credentialsOf, markIn, markOf, PROOF_KEY, proofOf } from "./credentials.js";
import { FORGET_AFTER, SharedAnswers } from "./shared-answers.js";

const STORAGE_KEY = "svc-token";

/** Milliseconds since the last good answer after which requests go one at a time, and for which they then wait. */
const DOUBT_AFTER = 2_000;

/** Milliseconds without any good answer after which a waiting request reports trouble. */
const SLOW_AFTER = 10_000;

/** Milliseconds after which a request is given up; the slowest diagnostic check may take a minute. */
const GIVE_UP_AFTER = 75_000;

/** Seconds to wait after a 429 that does not say how many. */
const WAIT_S = 5;

/** @typedef {import("./wire").GetPath} GetPath */
/** @typedef {import("./wire").PostPath} PostPath */

/**
 * @template [T=unknown]
 * @typedef {import("./shared-answers.js").DatedAnswer<T>} DatedAnswer
 */

/**
 * What the token of this tab allows, and its name.
 *
 * @typedef {import("./wire").Answer<"token">} Rights
 * @typedef {"metrics" | "read" | "screen" | "audit" | "sync" | "operate" | "admin"} Scope
 */

/**
 * Fires `signin`; `signout` with the reason in its `detail` (empty if the user signed out); `answered` for an answer of
 * any kind; and `trouble` with the {@link ApiError} in its `detail` when there is no answer or the server asks to wait.
 */
export class Api extends EventTarget {
  /** The base of the API paths, relative to this file, so that a proxy may put the server below a path. */
  base = new URL("../", import.meta.url);
  /** Nothing is sent before then; like the next, in milliseconds of the monotonic clock. */
  #silentUntil = 0;
  #goodAt = Number.NEGATIVE_INFINITY;
  /** @type {Promise<unknown> | null} */
  #probe = null;
  #answers = new SharedAnswers((path) => this.#askInTurn(path));
  /** Null while they are not known. @type {Rights | null} */
  #rights = null;
  /** Whether this page has seen that somebody is signed in, and of no end since. */
  #isIn = false;

  constructor() {
    super();
    if (this.token !== null) this.#enter(this.token);
  }

  /** @param {string} token */
  #enter(token) {
    this.#isIn = true;
    this.#answers.meet(token);
  }

  /** The token; for a session, what tells it from others, which is no token: it has a space. */
  get token() {
    const id = markIn(document.cookie);
    return sessionStorage.getItem(STORAGE_KEY) ?? (id === undefined ? null : `session ${id}`);
  }

  /** Whether this page has a session in place of a token. */
  get hasSession() {
    return this.token?.includes(" ") === true;
  }

  /** The address at which this browser begins to sign in, which names the digest of the proof of this page. */
  async signInAddress() {
    const address = new URL("oidc/login", this.base);
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
  async beginSession(code) {
    await this.#send("oidc/page", "", postOf({ code, verifier: proofOf() ?? "" }));
    sessionStorage.removeItem(STORAGE_KEY);
    const { token } = this;
    if (token === null) throw new ApiError("failed", "This browser keeps no cookies of this page.");
    this.#rights = null;
    this.#enter(token);
    this.dispatchEvent(new Event("signin"));
  }

  /** The header that says who asks. @returns {[name: string, value: string] | null} */
  get credentials() {
    const { token } = this;
    return token === null ? null : credentialsOf(token);
  }

  /** Where people sign in; null where nobody can, or the server does not say. */
  async provider() {
    const answer = await fetch(new URL("oidc", this.base)).catch(() => null);
    const { issuer } = Object(answer?.ok ? await answer.json().catch(() => ({})) : {});
    return typeof issuer === "string" ? issuer : null;
  }

  /** The address at which the person whose session ended last signs out at the provider too. @type {Promise<string | null>} */
  ended = Promise.resolve(null);

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
    this.#rights = await this.#send("token", token);
    sessionStorage.setItem(STORAGE_KEY, token);
    this.#enter(token);
    this.dispatchEvent(new Event("signin"));
  }

  /**
   * Signs in with a one-time code of `svc dashboard`.
   *
   * @param {string} code
   * @throws {ApiError}
   */
  async redeem(code) {
    const { token } = await this.#send("sign-in", "", postOf({ code }));
    await this.signIn(token);
  }

  /** @param {string} [reason] */
  signOut(reason = "") {
    if (this.hasSession) this.#endSession(reason === "");
    sessionStorage.removeItem(STORAGE_KEY);
    this.#answers.leave();
    this.#isIn = false;
    this.#rights = null;
    this.#goodAt = Number.NEGATIVE_INFINITY;
    this.dispatchEvent(new CustomEvent("signout", { detail: reason }));
  }

  /** Signs this page out where its session is gone: the cookie goes with its time, and when another tab signs out. */
  noticeEnd() {
    if (this.#isIn && this.token === null) this.signOut(endedWords(" ", ""));
  }

  /** @param {boolean} isAsked whether the person asks for it; else it has ended already */
  #endSession(isAsked) {
    const [name, value] = credentialsOf(" ");
    const init = { ...postOf({}), keepalive: true };
    const headers = { ...init.headers, [name]: value };
    localStorage.removeItem(PROOF_KEY);
    // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not in every browser
    document.cookie = `${markOf()}=; Path=/; Max-Age=0${location.protocol === "https:" ? "; Secure" : ""}; SameSite=Strict`;
    if (!isAsked) return;
    this.ended = fetch(new URL("oidc/logout", this.base), { ...init, headers })
      .then((answer) => answer.json())
      .then(({ provider }) => provider ?? null)
      .catch(() => null);
  }

  /** What the token allows; null while the server does not say. */
  async rights() {
    const { token } = this;
    const found = this.#rights ?? (await this.get("token", { maxAge: FORGET_AFTER }).catch(() => null))?.body;
    // Not after signing in with another token.
    if (found && this.token === token) this.#rights = found;
    return this.#rights;
  }

  /**
   * The body at `path`. Panels and tabs that want the same share one request.
   *
   * @template {GetPath} Path
   * @param {Path} path without a leading slash
   * @param {{ maxAge: number }} options the greatest age of an answer, in milliseconds
   * @returns {Promise<DatedAnswer<import("./wire").Answer<Path>>>}
   * @throws {ApiError}
   */
  get(path, { maxAge }) {
    return /** @type {Promise<DatedAnswer<import("./wire").Answer<Path>>>} */ (
      this.#answers.get(path, maxAge)
    );
  }

  /**
   * The body at `path`, always asked anew and not kept: for large or current answers.
   *
   * @template {GetPath} Path
   * @param {Path} path without a leading slash
   * @returns {Promise<import("./wire").Answer<Path>>}
   * @throws {ApiError}
   */
  ask(path) {
    return this.#ask(path);
  }

  /**
   * A file.
   *
   * @param {string} path without a leading slash
   * @returns {Promise<Blob>}
   * @throws {ApiError}
   */
  blob(path) {
    return this.#ask(path, undefined, (response) => response.blob());
  }

  /**
   * @template {PostPath} Path
   * @param {Path} path without a leading slash
   * @param {import("./wire").Body<Path>} body
   * @param {AbortSignal} [signal] gives it up, here and at the server
   * @param {Record<string, string>} [headers] more of them
   * @returns {Promise<import("./wire").Answer<Path>>}
   * @throws {ApiError}
   */
  post(path, body, signal, headers = {}) {
    const init = postOf(body);
    return this.#ask(path, {
      ...{ ...init, headers: { ...init.headers, ...headers } },
      ...(signal && { signal }),
    });
  }

  /**
   * The lines of a streamed answer, each parsed as JSON.
   *
   * @template {PostPath} Path
   * @param {Path} path without a leading slash
   * @param {import("./wire").Body<Path>} body
   * @param {AbortSignal} signal ends it, here and at the server
   * @returns {AsyncGenerator<import("./wire").Answer<Path>>}
   * @throws {ApiError}
   */
  async *lines(path, body, signal) {
    let rest = "";
    for await (const text of this.pieces(path, { ...postOf(body), signal })) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) yield JSON.parse(line);
    }
  }

  /**
   * The text of a streamed answer, as it comes.
   *
   * @param {string} path without a leading slash
   * @param {RequestInit & { signal: AbortSignal }} init
   * @returns {AsyncGenerator<string>}
   * @throws {ApiError}
   */
  async *pieces(path, init) {
    const response = await this.#ask(path, init, async (answered) => answered);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (reader) {
      const { done, value } = await reader.read().catch(() => {
        if (init.signal.aborted) throw new ApiError("failed", "Cancelled.");
        throw unreachable("The connection to the server was lost.");
      });
      if (done) return;
      yield value;
    }
  }

  /**
   * Runs one command.
   *
   * @param {string} command
   * @param {Record<string, unknown>} [args]
   * @returns {Promise<unknown>} what it returned
   * @throws {ApiError} `failed` also when the command failed
   */
  async run(command, args = {}) {
    const report = await this.post("execute", { actions: [[command, args]] });
    const [outcome] = report.outcomes;
    if (!outcome?.ok) throw new ApiError("failed", outcome?.error ?? `${command} did not run.`);
    return outcome.result;
  }

  /**
   * For repeated requests. If the token became invalid, each would count as a guess; so after a while without a good
   * answer one request goes ahead and the others wait for it, but not for long, since a token is refused at once.
   * Reports trouble when the server stays silent, and gives up in the end.
   *
   * @param {string} path
   */
  async #askInTurn(path) {
    const until = performance.now() + DOUBT_AFTER;
    while (this.#probe && this.#sinceGood() > DOUBT_AFTER && performance.now() < until) {
      await Promise.race([this.#probe, new Promise((resolve) => setTimeout(resolve, DOUBT_AFTER))]);
    }
    const slow = setTimeout(() => {
      if (this.#sinceGood() > SLOW_AFTER)
        this.#troubled(unreachable("The server has not answered for 10 s."));
    }, SLOW_AFTER);
    const answer = this.#ask(path, { signal: AbortSignal.timeout(GIVE_UP_AFTER) });
    const probe = answer.catch(() => {});
    this.#probe = probe;
    probe.then(() => {
      clearTimeout(slow);
      if (this.#probe === probe) this.#probe = null;
    });
    return answer;
  }

  #sinceGood() {
    return performance.now() - this.#goodAt;
  }

  /**
   * @template [T=any]
   * @param {string} path
   * @param {RequestInit} [init]
   * @param {(response: Response) => Promise<T>} [read]
   */
  async #ask(path, init, read) {
    const { token } = this;
    if (token === null) {
      this.noticeEnd();
      throw new ApiError("unauthorized", "Signed out.");
    }
    // A session may have come from another tab.
    this.#isIn = true;
    try {
      return await this.#send(path, token, init, read);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "unauthorized" && this.token === token)
        this.signOut(endedWords(token, error.message));
      throw error;
    }
  }

  /**
   * @template [T=any]
   * @param {string} path
   * @param {string} token
   * @param {RequestInit} [init]
   * @param {(response: Response) => Promise<T>} [read] of a good answer
   */
  async #send(path, token, init = {}, read = (response) => response.json()) {
    const wait = Math.ceil((this.#silentUntil - performance.now()) / 1_000);
    if (wait > 0) throw limited(wait);
    const headers = new Headers(init.headers);
    headers.set(...credentialsOf(token));
    const response = await fetch(new URL(path, this.base), { ...init, headers }).catch(() => {
      if (init.signal?.reason?.name === "AbortError") throw new ApiError("failed", "Cancelled.");
      throw this.#troubled(unreachable());
    });
    if (response.status === 401) throw new ApiError("unauthorized", await refusedWords(response));
    // The limit of streams is none of requests, and has no time.
    if (response.status === 429 && (path !== "events" || response.headers.has("retry-after"))) {
      // A proxy may send a date (RFC 9110 section 10.2.3), which is no use if the clock of the browser is wrong.
      const seconds = Number(response.headers.get("retry-after")) || WAIT_S;
      this.#silentUntil = performance.now() + seconds * 1_000;
      throw this.#troubled(limited(seconds));
    }
    const brokeOff = () => {
      throw this.#troubled(unreachable("The connection to the server was lost."));
    };
    const answer = response.ok ? await read(response).catch(brokeOff) : null;
    const body = response.ok ? {} : await response.json().catch(brokeOff);
    this.#goodAt = performance.now();
    this.dispatchEvent(new Event("answered"));
    if (response.ok) return /** @type {T} */ (answer);
    const message = String(body.error ?? `HTTP ${response.status}`);
    throw new ApiError("failed", message, { status: response.status, body });
  }

  /** @param {ApiError} error */
  #troubled(error) {
    this.dispatchEvent(new CustomEvent("trouble", { detail: error }));
    return error;
  }
}

/** @param {unknown} body */
const postOf = (body) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

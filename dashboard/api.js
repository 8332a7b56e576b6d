/**
 * The client of the REST API: what pages ask of the server, and what they have it do.
 *
 * Who asks is in `session.js`, and when nothing is sent in `silence.js`: neither a wrong token nor a 429 leads to a lockout. Every
 * answer is given up after a silence (`patience.js`), so that no page waits for ever.
 */
import { ApiError, endedWords, ofAct, refusedWords, unreachable } from "./api-error.js";
import { credentialsOf } from "./credentials.js";
import { fileOf, Patience } from "./patience.js";
import { Session } from "./session.js";
import { FORGET_AFTER, SharedAnswers } from "./shared-answers.js";
import { Silence } from "./silence.js";

/** Milliseconds of silence after which an answer is given up; the slowest diagnostic check may take a minute. */
const WITHIN_MS = 75_000;

/** For what goes through all of a log, or asks many hosts. @satisfies {SendOptions} */
export const TAKES_LONG = { withinMs: 600_000 };

/** @typedef {import("./wire").GetPath} GetPath */
/** @typedef {import("./wire").PostPath} PostPath */
/** @typedef {import("./session.js").Rights} Rights */
/** @typedef {import("./session.js").Scope} Scope */

/**
 * @template [T=unknown]
 * @typedef {import("./shared-answers.js").DatedAnswer<T>} DatedAnswer
 */

/**
 * @typedef {object} SendOptions
 * @property {AbortSignal} [signal] gives it up, here and at the server
 * @property {number | null} [withinMs] milliseconds within which the answer begins, and then is here, or of a file goes on; null
 *   where it may take as long as it does, and the page says what it waits for
 */

/**
 * @typedef {object} PostOptions
 * @property {Record<string, string>} [headers] more of them
 * @property {boolean} [changes] whether it changes something (default: yes): then an error says that it may have been done
 */

export class Api {
  /** The base of the API paths, relative to this file, so that a proxy may put the server below a path. */
  base = new URL("../", import.meta.url);
  silence = new Silence();
  session = new Session(this.base, (path, token, body) =>
    this.#send(path, token, body === undefined ? {} : postOf(body)),
  );
  #answers = new SharedAnswers((path) => this.silence.inTurn(() => this.#ask(path)));
  /** Null while they are not known. @type {Rights | null} */
  #rights = null;

  constructor() {
    const { session, silence } = this;
    const meet = () => {
      if (session.token !== null) this.#answers.meet(session.token);
    };
    meet();
    session.addEventListener("signin", (event) => {
      this.#rights = event instanceof CustomEvent ? event.detail : null;
      meet();
    });
    session.addEventListener("signout", () => {
      this.#answers.leave();
      this.#rights = null;
      silence.forget();
    });
  }

  /** What the token allows; null while the server does not say. */
  async rights() {
    const { token } = this.session;
    const found = this.#rights ?? (await this.get("token", { maxAge: FORGET_AFTER }).catch(() => null))?.body;
    // Not after signing in with another token.
    if (found && this.session.token === token) this.#rights = found;
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
   * @param {SendOptions} [options]
   * @returns {Promise<import("./wire").Answer<Path>>}
   * @throws {ApiError}
   */
  ask(path, options) {
    return this.#ask(path, {}, options);
  }

  /**
   * A file.
   *
   * @param {string} path without a leading slash
   * @param {SendOptions} [options]
   * @returns {Promise<Blob>}
   * @throws {ApiError}
   */
  blob(path, options) {
    return this.#ask(path, {}, options, fileOf);
  }

  /**
   * @template {PostPath} Path
   * @param {Path} path without a leading slash
   * @param {import("./wire").Body<Path>} body
   * @param {SendOptions & PostOptions} [options]
   * @returns {Promise<import("./wire").Answer<Path>>}
   * @throws {ApiError}
   */
  async post(path, body, { headers = {}, changes = true, ...options } = {}) {
    const init = postOf(body);
    try {
      return await this.#ask(path, { ...init, headers: { ...init.headers, ...headers } }, options);
    } catch (error) {
      throw changes ? ofAct(error) : error;
    }
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
    for await (const text of this.pieces(path, postOf(body), signal)) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) yield JSON.parse(line);
    }
  }

  /**
   * The text of a streamed answer, as it comes.
   *
   * @param {string} path without a leading slash
   * @param {RequestInit} init
   * @param {AbortSignal} signal ends it, here and at the server
   * @returns {AsyncGenerator<string>}
   * @throws {ApiError}
   */
  async *pieces(path, init, signal) {
    const options = { signal, withinMs: null };
    const response = await this.#ask(path, init, options, async (answered) => answered);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (reader) {
      const { done, value } = await reader.read().catch(() => {
        throw endOf(signal) ?? unreachable("The connection to the server was lost.");
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
   * @param {SendOptions} [options]
   * @returns {Promise<unknown>} what it returned
   * @throws {ApiError} `failed` also when the command failed
   */
  async run(command, args = {}, options = {}) {
    const report = await this.post("execute", { actions: [[command, args]] }, options);
    const [outcome] = report.outcomes;
    if (!outcome?.ok) throw new ApiError("failed", outcome?.error ?? `${command} did not run.`);
    return outcome.result;
  }

  /**
   * @template [T=any]
   * @param {string} path
   * @param {RequestInit} [init]
   * @param {SendOptions} [options]
   * @param {(response: Response, heard: () => void) => Promise<T>} [read]
   */
  async #ask(path, init, options, read) {
    const { session } = this;
    const token = session.use();
    try {
      return await this.#send(path, token, init, options, read);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "unauthorized" && session.token === token)
        session.signOut(endedWords(token, error.message));
      throw error;
    }
  }

  /**
   * @template [T=any]
   * @param {string} path
   * @param {string} token
   * @param {RequestInit} [init]
   * @param {SendOptions} [options]
   * @param {(response: Response, heard: () => void) => Promise<T>} [read] of a good answer
   */
  async #send(path, token, init = {}, options = {}, read = (response) => response.json()) {
    const { silence } = this;
    silence.keep();
    const { signal: given, withinMs = WITHIN_MS } = options;
    const patience = withinMs === null ? null : new Patience(withinMs);
    const signal = AbortSignal.any([given, patience?.signal].filter((one) => one !== undefined));
    /** @param {string} [words] */
    const lost = (words) => {
      throw endOf(signal, patience) ?? silence.troubled(unreachable(words));
    };
    const headers = new Headers(init.headers);
    headers.set(...credentialsOf(token));
    const request = fetch(new URL(path, this.base), { ...init, headers, signal });
    const response = await request.catch(() => lost());
    const heard = () => patience?.heard();
    heard();
    if (response.status === 401) throw new ApiError("unauthorized", await refusedWords(response));
    // The limit of streams is none of requests, and has no time.
    if (response.status === 429 && (path !== "events" || response.headers.has("retry-after")))
      throw silence.begin(response);
    const brokeOff = () => lost("The connection to the server was lost.");
    const answer = response.ok ? await read(response, heard).catch(brokeOff) : null;
    const body = response.ok ? {} : await response.json().catch(brokeOff);
    silence.answered();
    if (response.ok) return /** @type {T} */ (answer);
    const message = String(body.error ?? `HTTP ${response.status}`);
    throw new ApiError("failed", message, { status: response.status, body });
  }
}

/**
 * Why a request was given up; null where it was not.
 *
 * @param {AbortSignal} signal
 * @param {Patience | null} [patience] that its answer had
 */
function endOf({ aborted }, patience = null) {
  if (!aborted) return null;
  return patience?.signal.aborted ? patience.error() : new ApiError("failed", "Cancelled.");
}

/** @param {unknown} body */
const postOf = (body) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

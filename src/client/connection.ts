/**
 * The carrier over HTTP and HTTPS: one connection at a time, for one request after the other.
 *
 * Promises. Only the server of the address gets the token: no redirect is followed, no proxy of the environment is used, and
 * over https nothing is sent before the certificate has passed. Deadlines cover everything from looking up the name to the
 * last byte of the response. The size of a response is checked as it arrives; nothing is decompressed.
 * A change whose answer was lost is sent again only to a server that does it once all the same (`again.ts`).
 */
import { type IncomingMessage, type RequestOptions, request as send } from "node:http";
import { deadline } from "../lib/deadline";
import { systemCode } from "../lib/errors";
import { isLoopback } from "../lib/loopback";
import { type Answer, askAgain, repeatsIn } from "./again";
import {
  type Carrier,
  type Deadline,
  deadlineIn,
  type Limits,
  MAX_REFUSAL_BYTES,
  notSvc,
  type Opened,
  RemoteError,
  type RemoteServer,
  type Request,
  type Response,
} from "./carrier";
import { CLOSED, Dialler, dialError } from "./dial";
import { takeTurn } from "./pace";
import { takeSlot } from "./slots";

/** The largest head of a response. */
const MAX_HEAD_BYTES = 16_384;

/** The most interim responses (1xx) before one. */
const MAX_INTERIM = 20;

/** It says what the server answered, which monitors look for. */
const NOT_ASKED = "HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks)";

/**
 * The carrier to `server`, once a named token may ask it (`pace.ts`) and this process may have one more connection (`slots.ts`).
 * Deadlines begin after that.
 *
 * @param signal the caller's: cancels the wait, and the request under way.
 * @param client in whose share it counts (`shareOf`): the named token of this host for which it is; null for the owner.
 * @param requests how many it is for.
 * @throws a `cancelled` {@link RemoteError} when it is aborted before.
 */
export async function carrierTo(
  server: RemoteServer,
  signal?: AbortSignal,
  client: string | null = null,
  requests = 1,
): Promise<Carrier> {
  const { url, via } = server;
  if (client !== null) await takeTurn(client, via ? url : new URL(url).origin, requests, signal);
  const giveBack = await takeSlot(signal, client);
  try {
    if (!via && !/^https?:/i.test(url))
      throw new RemoteError("unreachable", `no way to ${url} from here`, false);
    const carrier = via ? await via(url, signal, client) : connectionTo(server, signal);
    return {
      ask: (request, limits) => carrier.ask(request, limits),
      open: (path, until, silentMs) => carrier.open(path, until, silentMs),
      pin: () => carrier.pin(),
      [Symbol.dispose]() {
        carrier[Symbol.dispose]();
        giveBack();
      },
    };
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** The carrier to `server` over HTTP or HTTPS; takes no slot. @param signal cancels the request under way. */
export function connectionTo(server: RemoteServer, signal?: AbortSignal): Carrier {
  const { token, refusals } = server;
  const url = new URL(server.url);
  const base = url.pathname.replace(/\/+$/, "");
  let agent: Dialler | undefined;
  const close = () => {
    agent?.destroy();
    agent = undefined;
  };
  const optionsFor = ({ method, path, body }: Request, accept = "application/json", key?: string) => {
    if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
    if (refusals?.has(server)) throw new RemoteError("unauthorized", NOT_ASKED, false);
    // On a connection that the server is about to close, it would be unclear whether a change arrived.
    if (method === "POST") close();
    agent ??= new Dialler(url, server);
    const headers = {
      Host: url.host,
      Accept: accept,
      ...(key !== undefined && { "Idempotency-Key": `"${key}"` }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
    };
    return { agent, method, path: `${base}${path}`, headers, maxHeaderSize: MAX_HEAD_BYTES };
  };
  let knowsRepeats = false;
  const askOnce = async (request: Request, limits: Limits, key?: string): Promise<Answer> => {
    const { response, wasStale } = exchange(
      optionsFor(request, undefined, key),
      request.body,
      limits,
      signal,
    );
    try {
      const answer = withoutToken(await response, token);
      if (answer.status === 401) await refusals?.add(server);
      knowsRepeats = answer.knowsRepeats;
      return answer;
    } catch (error) {
      close();
      const isLost = error instanceof RemoteError && error.fault === "unreachable";
      if (wasStale() && isLost) return askOnce(request, limits);
      throw withTlsHint(error, url);
    }
  };
  const ask = async (request: Request, limits: Limits): Promise<Response> => {
    const key = request.method === "POST" && !request.once && knowsRepeats ? crypto.randomUUID() : undefined;
    try {
      return await askOnce(request, limits, key);
    } catch (error) {
      const isLost = error instanceof RemoteError && error.fault === "unreachable" && error.sent;
      if (key === undefined || !isLost) throw error;
      return askAgain(() => askOnce(request, limits, key), error, limits, signal);
    }
  };
  const open = async (path: string, until: Deadline, silentMs: number): Promise<Opened> => {
    // A connection of its own: it is not free for another request before it ends.
    close();
    const options = optionsFor({ method: "GET", path }, "text/event-stream, application/json");
    try {
      const response = await openExchange(options, until, signal);
      const { statusCode: status = 0, headers } = response;
      const [type = ""] = (headers["content-type"] ?? "").split(";");
      const opened = {
        status,
        isRelayed: isRelayed(headers),
        type: type.trim().toLowerCase(),
        pieces: piecesOf(response, silentMs, signal),
      };
      if (status === 200) return { ...opened, body: new Uint8Array() };
      if (status === 401) await refusals?.add(server);
      const whole = await within(until, signal, () => true, readAll(response, MAX_REFUSAL_BYTES));
      return { ...opened, body: withoutToken(whole, token).body };
    } catch (error) {
      close();
      throw withTlsHint(error, url);
    }
  };
  return {
    ask,
    open,
    pin: () => agent?.pin,
    [Symbol.dispose]: close,
  };
}

const isRelayed = (headers: IncomingMessage["headers"]) => headers["svc-relayed"] === "1";

/** `error`, which says what to do where the server at an http address beyond this machine may speak TLS since an update. */
function withTlsHint(error: unknown, { protocol, hostname, host }: URL): unknown {
  if (protocol !== "http:" || isLoopback(hostname) || !(error instanceof RemoteError)) return error;
  const { fault, message, sent } = error;
  if (message !== CLOSED && message !== notSvc().message) return error;
  const hint = `it may speak TLS now: \`svc admin set LABEL --url https://${host} --trust-first\``;
  return new RemoteError(fault, `${message}: ${hint}`, sent);
}

/** People get to see an error: a server or proxy that quotes the request quotes the token. */
function withoutToken(answer: Answer, token: string | undefined): Answer {
  if (answer.status === 200 || !token) return answer;
  const text = Buffer.from(answer.body).toString("latin1").replaceAll(token, "***");
  return { ...answer, body: Buffer.from(text, "latin1") };
}

/** What went wrong with a connection, as a {@link RemoteError}. */
function faultOf(error: unknown, sent: boolean): RemoteError {
  if (error instanceof RemoteError) return error;
  // Codes of the parser: the response is not HTTP.
  if (systemCode(error)?.startsWith("HPE_")) return notSvc();
  return new RemoteError("unreachable", dialError(error), sent);
}

/** What `work` resolves to. @throws a {@link RemoteError}, also when it is late or `signal` is aborted first. */
export const within = <T>(
  { at, ms }: Deadline,
  signal: AbortSignal | undefined,
  sent: () => boolean,
  work: Promise<T>,
): Promise<T> =>
  deadline(work, {
    ms: Math.max(0, at - performance.now()),
    late() {
      throw new RemoteError("timeout", `timeout after ${ms / 1_000} s`, sent());
    },
    signal,
    aborted() {
      throw new RemoteError("cancelled", "cancelled", sent());
    },
  });

/** A request without a body, and its response as soon as its head is here. */
function openExchange(options: RequestOptions, until: Deadline, signal: AbortSignal | undefined) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  send(options)
    .on("response", resolve)
    .on("upgrade", () => reject(notSvc()))
    .on("error", (error) => reject(faultOf(error, true)))
    .end();
  return within(until, signal, () => true, promise);
}

async function* piecesOf(response: IncomingMessage, silentMs: number, signal: AbortSignal | undefined) {
  const coming = response[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await within(deadlineIn(silentMs), signal, () => true, coming.next());
      if (next.done) return;
      yield next.value as Uint8Array;
    }
  } catch (error) {
    throw faultOf(error, true);
  } finally {
    response.destroy();
  }
}

/** One request and its response. `wasStale`: a connection that had been used before brought no response. */
function exchange(
  options: RequestOptions,
  body: string | undefined,
  { deadline: until, answerWithinMs, maxBytes }: Limits,
  signal: AbortSignal | undefined,
) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const written = Promise.withResolvers<void>();
  let sent = false;
  let answered = false;
  let interim = 0;

  const failed = (error: unknown) => reject(faultOf(error, sent));
  const inTime = <T>(by: Deadline, work: Promise<T>) => within(by, signal, () => sent, work);

  const asked = send(options)
    .on("socket", () => {
      // From here on, the request may arrive.
      sent = true;
    })
    .on("finish", written.resolve)
    .on("response", (response) => {
      answered = true;
      readAll(response, maxBytes).then(resolve, failed);
    })
    .on("information", () => {
      interim++;
      if (interim > MAX_INTERIM) reject(notSvc());
    })
    // A switch to another protocol, which was not requested.
    .on("upgrade", () => reject(notSvc()))
    .on("error", failed)
    .end(body);
  const response = async () => {
    if (answerWithinMs === undefined) return inTime(until, promise);
    await inTime(until, Promise.race([written.promise, promise]));
    return inTime(deadlineIn(answerWithinMs), promise);
  };
  return { response: response(), wasStale: () => asked.reusedSocket && !answered };
}

/** @throws a {@link RemoteError} when it is larger than `maxBytes`; the system error when the connection breaks. */
function readAll(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const declared = Number(response.headers["content-length"] ?? 0);
  if (declared > maxBytes) reject(tooLarge(maxBytes));
  const body = new Bun.ArrayBufferSink();
  let bytes = 0;
  response
    .on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > maxBytes) reject(tooLarge(maxBytes));
      else body.write(piece);
    })
    .on("end", () => {
      const { statusCode: status = 0, headers } = response;
      const retryAfterS = Number(headers["retry-after"]);
      resolve({
        ...{ status, body: new Uint8Array(body.end()), ...repeatsIn(status, headers) },
        isRelayed: isRelayed(headers),
        ...(retryAfterS > 0 && { retryAfterS }),
      });
    })
    .on("error", reject);
  return promise;
}

/** The answer is larger than it may be. */
export const tooLarge = (maxBytes: number) =>
  new RemoteError("answer", `answer larger than ${maxBytes / 1_048_576} MiB`, true);

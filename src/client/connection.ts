/**
 * The carrier over HTTP and HTTPS: one connection at a time, for one request after the other.
 *
 * Promises. Only the server of the address gets the token: no redirect is followed, no proxy of the environment is used, and
 * over https nothing is sent before the certificate has passed. Deadlines cover everything from looking up the name to the
 * last byte of the response. The size of a response is checked as it arrives; nothing is decompressed.
 */
import { type IncomingMessage, type RequestOptions, request as send } from "node:http";
import { deadline } from "../lib/deadline";
import { systemCode } from "../lib/errors";
import { isLoopback } from "../lib/loopback";
import {
  type Carrier,
  type Deadline,
  deadlineIn,
  type Limits,
  notSvc,
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
  if (client !== null) await takeTurn(client, new URL(server.url).origin, requests, signal);
  const giveBack = await takeSlot(signal, client);
  const { token, refusals } = server;
  const url = new URL(server.url);
  const base = url.pathname.replace(/\/+$/, "");
  let agent: Dialler | undefined;
  const close = () => {
    agent?.destroy();
    agent = undefined;
  };
  const ask = async (request: Request, limits: Limits): Promise<Response> => {
    const { method, path, body } = request;
    if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
    if (refusals?.has(server)) throw new RemoteError("unauthorized", NOT_ASKED, false);
    // A change is sent once. On a connection that the server is about to close, it would be unclear whether it arrived.
    if (method === "POST") close();
    agent ??= new Dialler(url, server);
    const headers = {
      Host: url.host,
      Accept: "application/json",
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
    };
    const options = { agent, method, path: `${base}${path}`, headers, maxHeaderSize: MAX_HEAD_BYTES };
    const { response, wasStale } = exchange(options, body, limits, signal);
    try {
      const answer = withoutToken(await response, token);
      if (answer.status === 401) await refusals?.add(server);
      return answer;
    } catch (error) {
      close();
      const isLost = error instanceof RemoteError && error.fault === "unreachable";
      if (wasStale() && isLost) return ask(request, limits);
      throw withTlsHint(error, url);
    }
  };
  return {
    ask,
    pin: () => agent?.pin,
    [Symbol.dispose]() {
      close();
      giveBack();
    },
  };
}

/** `error`, which says what to do where the server at an http address beyond this machine may speak TLS since an update. */
function withTlsHint(error: unknown, { protocol, hostname, host }: URL): unknown {
  if (protocol !== "http:" || isLoopback(hostname) || !(error instanceof RemoteError)) return error;
  const { fault, message, sent } = error;
  if (message !== CLOSED && message !== notSvc().message) return error;
  const hint = `it may speak TLS now: \`svc admin set LABEL --url https://${host} --trust-first\``;
  return new RemoteError(fault, `${message}: ${hint}`, sent);
}

/** People get to see an error: a server or proxy that quotes the request quotes the token. */
function withoutToken({ status, body }: Response, token: string | undefined): Response {
  if (status === 200 || !token) return { status, body };
  const text = Buffer.from(body).toString("latin1").replaceAll(token, "***");
  return { status, body: Buffer.from(text, "latin1") };
}

/** One request and its response. `wasStale`: a connection that had been used before brought no response. */
function exchange(
  options: RequestOptions,
  body: string | undefined,
  { deadline: until, answerWithinMs, maxBytes }: Limits,
  signal: AbortSignal | undefined,
) {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const written = Promise.withResolvers<void>();
  let sent = false;
  let answered = false;
  let interim = 0;

  const failed = (error: unknown) => {
    if (error instanceof RemoteError) reject(error);
    // Codes of the parser: the response is not HTTP.
    else if (systemCode(error)?.startsWith("HPE_")) reject(notSvc());
    else reject(new RemoteError("unreachable", dialError(error), sent));
  };
  const within = <T>({ at, ms }: Deadline, work: Promise<T>): Promise<T> =>
    deadline(work, {
      ms: Math.max(0, at - performance.now()),
      late() {
        throw new RemoteError("timeout", `timeout after ${ms / 1_000} s`, sent);
      },
      signal,
      aborted() {
        throw new RemoteError("cancelled", "cancelled", sent);
      },
    });

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
    if (answerWithinMs === undefined) return within(until, promise);
    await within(until, Promise.race([written.promise, promise]));
    return within(deadlineIn(answerWithinMs), promise);
  };
  return { response: response(), wasStale: () => asked.reusedSocket && !answered };
}

/** @throws a {@link RemoteError} when it is larger than `maxBytes`; the system error when the connection breaks. */
function readAll(response: IncomingMessage, maxBytes: number): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
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
    .on("end", () => resolve({ status: response.statusCode ?? 0, body: new Uint8Array(body.end()) }))
    .on("error", reject);
  return promise;
}

const tooLarge = (maxBytes: number) =>
  new RemoteError("answer", `answer larger than ${maxBytes / 1_048_576} MiB`, true);

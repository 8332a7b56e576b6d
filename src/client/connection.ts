/**
 * The carrier over HTTP and HTTPS: one connection at a time, for one request after the other.
 *
 * Promises. Only the server of the address gets the token: no redirect is followed, no proxy of the environment is used, and
 * over https nothing is sent before the certificate has passed. Deadlines cover everything from looking up the name to the
 * last byte of the response. The size of a response is checked as it arrives; nothing is decompressed.
 * A change whose answer was lost is sent again only to a server that does it once all the same (`again.ts`).
 */
import { outgoingTraceparent } from "../core/trace-context";
import { isLoopback } from "../lib/loopback";
import { ownTurn } from "../lib/turn";
import { type Answer, askAgain } from "./again";
import {
  type Carrier,
  type Deadline,
  type Limits,
  MAX_REFUSAL_BYTES,
  notSvc,
  RemoteError,
  type RemoteServer,
  type Request,
  type Response,
  type ResponseStream,
} from "./carrier";
import { takeSlot } from "./connection-slots";
import { CLOSED } from "./dial";
import { type AnswerIntake, answerRoom } from "./intake";
import { type Line, openLine } from "./line";
import { openRequest, sendRequest } from "./line-request";
import { takeTurn } from "./pace";

/** It says what the server answered, which monitors look for. */
const NOT_ASKED = "HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks)";

/** From this size on, an answer is handed over in a turn of its own: to read it takes the event loop some 10 ms for a mebibyte. */
const LARGE_BYTES = 262_144;

/**
 * The carrier to `server`, once a named token may ask it (`pace.ts`) and this process may have one more connection (`connection-slots.ts`).
 * Deadlines begin after that.
 *
 * @param signal the caller's: cancels the wait, and the request under way.
 * @param client in whose share it counts (`shareOf`): the named token of this host for which it is; null for the owner.
 * @param requests how many it is for.
 * @param room where its answers count until they have been handed over; by default, they count until they are here.
 * @throws a `cancelled` {@link RemoteError} when it is aborted before.
 */
export async function carrierTo(
  server: RemoteServer,
  signal?: AbortSignal,
  client: string | null = null,
  requests = 1,
  room?: AnswerIntake,
): Promise<Carrier> {
  const { url, via } = server;
  if (client !== null) await takeTurn(client, via ? url : new URL(url).origin, requests, signal);
  const giveBack = await takeSlot(url, signal, client);
  try {
    if (!via && !/^https?:/i.test(url))
      throw new RemoteError("unreachable", `no way to ${url} from here`, false);
    const carrier = via ? await via(url, signal, client) : connectionTo(server, signal);
    return {
      async ask(request, limits) {
        const taking = room ?? answerRoom(client);
        let isKept = false;
        try {
          const response = await carrier.ask(request, { ...limits, taking });
          taking.complete();
          if (response.body.length >= LARGE_BYTES) await ownTurn();
          isKept = room !== undefined;
          return response;
        } finally {
          if (!isKept) taking[Symbol.dispose]();
        }
      },
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
  const { token, refusals, trust, identity, kept } = server;
  const url = new URL(server.url);
  const base = url.pathname.replace(/\/+$/, "");
  let line: Line | undefined;
  let pin: string | undefined;
  const close = () => {
    line?.close();
    line = undefined;
  };
  const where = kept && digestOf(JSON.stringify([url.origin, trust, identity?.cert]));
  /** What was left by another carrier, and has brought nothing to this one. */
  let untried: Line | undefined;
  const leave = () => {
    if (line && kept && where !== undefined) kept.give(where, line);
    else close();
    line = undefined;
  };
  const lineFor = ({ method }: Pick<Request, "method">): Line => {
    if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
    if (refusals?.has(server)) throw new RemoteError("unauthorized", NOT_ASKED, false);
    // On a connection that the server is about to close, it would be unclear whether a change arrived.
    if (method === "POST" || !line?.isFree()) close();
    if (method === "GET" && where !== undefined && !line) line = untried = kept?.take(where);
    line ??= openLine(url, server);
    return line;
  };
  const textOf = ({ method, path, body }: Request, accept = "application/json", key?: string) => {
    const traceparent = outgoingTraceparent();
    const fields = {
      Host: url.host,
      Accept: accept,
      ...(key !== undefined && { "Idempotency-Key": `"${key}"` }),
      ...(traceparent !== undefined && { traceparent }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && {
        "Content-Type": "application/json",
        "Content-Length": `${Buffer.byteLength(body)}`,
      }),
    };
    return requestText(method, `${base}${path}`, fields, body);
  };
  let knowsRepeats = false;
  const askOnce = async (request: Request, limits: Limits, key?: string): Promise<Answer> => {
    const current = lineFor(request);
    // A way in between may have forgotten the connection, whose packets are lost since: half of the time is left for a new one.
    const isUntried = current === untried;
    untried = undefined;
    const headWithinMs = isUntried ? (limits.deadline.at - performance.now()) / 2 : undefined;
    const within = headWithinMs === undefined ? limits : { ...limits, headWithinMs };
    const { response, wasStale } = sendRequest(current, textOf(request, undefined, key), within, signal);
    try {
      const answer = withoutToken(await response, token);
      pin = current.pin();
      if (answer.status === 401) await refusals?.add(server);
      knowsRepeats = answer.knowsRepeats;
      return answer;
    } catch (error) {
      close();
      const fault = error instanceof RemoteError ? error.fault : undefined;
      const isLost = fault === "unreachable" || (isUntried && fault === "timeout");
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
  const open = async (path: string, until: Deadline, silentMs: number): Promise<ResponseStream> => {
    // A connection of its own: it is not free for another request before it ends.
    close();
    const request = { method: "GET", path } as const;
    const current = lineFor(request);
    const text = textOf(request, "text/event-stream, application/json");
    try {
      const { status, type, pieces, whole } = await openRequest(current, text, until, signal);
      pin = current.pin();
      const opened = { status, type, pieces: pieces(silentMs) };
      if (status === 200) return { ...opened, body: new Uint8Array() };
      if (status === 401) await refusals?.add(server);
      return { ...opened, body: withoutToken(await whole(MAX_REFUSAL_BYTES), token).body };
    } catch (error) {
      close();
      throw withTlsHint(error, url);
    }
  };
  return {
    ask,
    open,
    pin: () => pin,
    [Symbol.dispose]: leave,
  };
}

/** The key of a kept connection: a text that names all it depends on may have many kilobytes. */
const digestOf = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("base64");

/** A request as it goes out. @throws a `TypeError` for what would be read as more than one line. */
export function requestText(
  method: string,
  target: string,
  fields: Readonly<Record<string, string>>,
  body = "",
): string {
  let text = `${method} ${target} HTTP/1.1\r\n`;
  for (const name in fields) text += `${name}: ${fields[name]}\r\n`;
  const isClean =
    /^[\x21-\x7e]+$/.test(target) && Object.values(fields).every((value) => VISIBLE.test(value));
  if (!isClean) throw new TypeError("a request has a character that no head may have");
  return `${text}\r\n${body}`;
}

const VISIBLE = /^[\x20-\x7e]*$/;

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

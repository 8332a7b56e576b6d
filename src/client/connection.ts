/**
 * A line to another server: one connection at a time, over which it is asked one thing after the other.
 *
 * Promises. The token goes to the server of the address and to nobody else: no redirect is followed, no proxy of the
 * environment is used, and over https nothing is sent before the certificate has passed. Deadlines cover everything from
 * looking up the name to the last byte of the answer. What the server sends is bounded as it arrives, and not decompressed.
 */
import { Agent, type IncomingMessage, type RequestOptions, request as send } from "node:http";
import { connect, Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { messageOf, systemCode } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { notSvc, RemoteError, type RemoteFault } from "./error";
import { lookup } from "./lookup";

/** The largest head of a response. */
const MAX_HEAD_BYTES = 16_384;

/** The most interim responses (1xx) before one. */
const MAX_INTERIM = 20;

/** A server that speaks the REST API. */
export interface RemoteServer {
  /** http or https, perhaps with a path; no trailing slash. */
  readonly url: string;
  /** The bearer token: visible ASCII. */
  readonly token: string | undefined;
  readonly trust: Trust;
}

/**
 * What makes the certificate of an https server good: `system`, one of the usual authorities vouches for its name; `ca`,
 * one of these PEM certificates does; `pin`, it is the one with this SHA-256 (64 hex digits), whatever its name and dates;
 * `any`, it is not looked at.
 */
export type Trust =
  | { readonly kind: "system" | "any" }
  | { readonly kind: "ca"; readonly pem: string }
  | { readonly kind: "pin"; readonly sha256: string };

export interface Request {
  readonly method: "GET" | "POST";
  /** Path and query, below the address of the server. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
}

export interface Response {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface Limits {
  /** By when, and how that is told. */
  readonly deadline: Deadline;
  /** From when the request has gone out, the deadline for the answer in milliseconds; else `deadline` stands. */
  readonly answerWithinMs?: number;
  /** The largest body of an answer. */
  readonly maxBytes: number;
}

/** A point in time, and how long it was away when it was set. */
export interface Deadline {
  readonly at: number;
  readonly ms: number;
}

export const deadlineIn = (ms: number): Deadline => ({ at: performance.now() + ms, ms });

export class Line {
  private readonly url: URL;
  private connections: Connections | undefined;

  /** @param signal gives up what is under way. */
  constructor(
    private readonly server: RemoteServer,
    private readonly signal?: AbortSignal,
  ) {
    this.url = new URL(server.url);
  }

  /**
   * The server's response, whatever its status.
   *
   * @throws a {@link RemoteError}.
   */
  async ask(request: Request, limits: Limits): Promise<Response> {
    if (this.signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
    // What changes something is sent once: on a connection that the server may just be closing, nobody could tell.
    if (request.method === "POST") this.close();
    this.connections ??= new Connections(this.url, this.server.trust);
    const { response, wasStale } = exchange(
      this.options(request, this.connections),
      request.body,
      limits,
      this.signal,
    );
    try {
      return withoutToken(await response, this.server.token);
    } catch (error) {
      this.close();
      if (wasStale() && error instanceof RemoteError && error.fault === "unreachable") {
        return this.ask(request, limits);
      }
      throw error;
    }
  }

  close(): void {
    this.connections?.destroy();
    this.connections = undefined;
  }

  private options({ method, path, body }: Request, agent: Agent): RequestOptions {
    const { token } = this.server;
    return {
      agent,
      method,
      path: `${this.url.pathname.replace(/\/+$/, "")}${path}`,
      headers: {
        Host: this.url.host,
        Accept: "application/json",
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && {
          "Content-Type": "application/json",
          "Content-Length": Buffer.byteLength(body),
        }),
      },
      maxHeaderSize: MAX_HEAD_BYTES,
    };
  }
}

/** What is no answer is told to people: a server or proxy that quotes the request has the token in it. */
function withoutToken({ status, body }: Response, token: string | undefined): Response {
  if (status === 200 || !token) return { status, body };
  return {
    status,
    body: Buffer.from(Buffer.from(body).toString("latin1").replaceAll(token, "***"), "latin1"),
  };
}

/** One request and its response; `wasStale`, whether a connection that had been used before brought nothing. */
function exchange(
  options: RequestOptions,
  body: string | undefined,
  { deadline, answerWithinMs, maxBytes }: Limits,
  signal: AbortSignal | undefined,
): { readonly response: Promise<Response>; wasStale(): boolean } {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  let sent = false;
  let answered = false;
  let interim = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const fail = (fault: RemoteFault, message: string) => reject(new RemoteError(fault, message, sent));
  const failed = (error: unknown) => {
    if (error instanceof RemoteError) reject(error);
    // Codes of the parser: what came is no HTTP.
    else if (systemCode(error)?.startsWith("HPE_")) reject(notSvc());
    else fail("unreachable", errorText(error));
  };
  const cancel = () => fail("cancelled", "cancelled");
  const limitTo = ({ at, ms }: Deadline) => {
    clearTimeout(timer);
    const expire = () => fail("timeout", `timeout after ${ms / 1_000} s`);
    timer = setTimeout(expire, Math.max(0, at - performance.now()));
  };
  const over = () => {
    clearTimeout(timer);
    timer = undefined;
    signal?.removeEventListener("abort", cancel);
  };

  const asked = send(options)
    .on("socket", () => {
      // What is written may arrive, whatever happens from here on.
      sent = true;
    })
    .on("finish", () => {
      if (answerWithinMs !== undefined && timer) limitTo(deadlineIn(answerWithinMs));
    })
    .on("response", (response) => {
      answered = true;
      readAll(response, maxBytes).then(resolve, failed);
    })
    .on("information", () => {
      interim++;
      if (interim > MAX_INTERIM) reject(notSvc());
    })
    // Another protocol, which nobody asked for.
    .on("upgrade", () => reject(notSvc()))
    .on("error", failed);
  signal?.addEventListener("abort", cancel, { once: true });
  limitTo(deadline);
  asked.end(body);
  return {
    response: promise.finally(over),
    wasStale: () => asked.reusedSocket && !answered,
  };
}

/** @throws a {@link RemoteError} when there is more than `maxBytes`; the system error when it breaks off. */
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

/** Connections to the server that it should be, one at a time: none is used before its certificate has passed. */
class Connections extends Agent {
  private dialled: Socket | undefined;

  constructor(
    private readonly url: URL,
    private readonly trust: Trust,
  ) {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override createConnection(
    _options: unknown,
    done: NonNullable<Parameters<Agent["createConnection"]>[1]> = () => {},
  ) {
    const ready = () => done(null, socket);
    let socket: Socket;
    try {
      socket =
        this.url.protocol === "http:" ? dialPlain(this.url, ready) : dialTls(this.url, this.trust, ready);
    } catch {
      // TLS that cannot begin, because of `ca`. Who asked waits for a socket: it gets one that has failed.
      socket = new Socket().destroy(
        new RemoteError("unreachable", "the ca to trust is no certificate", false),
      );
    }
    // Once it is ready, these say nothing to the agent any more.
    socket
      .once("error", (error) => done(error, socket))
      .once("close", () => done(new RemoteError("unreachable", "connection closed", false), socket));
    this.dialled = socket;
    return undefined;
  }

  override destroy(): void {
    this.dialled?.destroy();
    super.destroy();
  }
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, "$1");

function dialPlain(url: URL, ready: () => void): Socket {
  return connect({ host: hostOf(url), port: Number(url.port || 80), lookup }, ready);
}

function dialTls(url: URL, trust: Trust, ready: () => void): Socket {
  const checked = trust.kind === "system" || trust.kind === "ca";
  const socket: TLSSocket = connectTls({
    host: hostOf(url),
    port: Number(url.port || 443),
    lookup,
    rejectUnauthorized: checked,
    ...(trust.kind === "ca" && { ca: trust.pem }),
  });
  return socket.once("secureConnect", () => {
    const fault = faultOf(socket, trust);
    if (fault === undefined) ready();
    else socket.destroy(new RemoteError("unreachable", fault, false));
  });
}

/** Why the certificate is not good; undefined when it is. */
function faultOf(socket: TLSSocket, trust: Trust): string | undefined {
  if (trust.kind === "any") return undefined;
  if (trust.kind !== "pin") return socket.authorized ? undefined : "the certificate is not trusted";
  const found = socket.getPeerCertificate().fingerprint256.replaceAll(":", "").toLowerCase();
  return found === trust.sha256 ? undefined : "the certificate is not the pinned one";
}

/** Codes of the system, of name lookup (getaddrinfo(3)) and of TLS, in words. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed",
  EPIPE: "connection closed",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "no route to host",
  ETIMEDOUT: "connection timed out",
  ENOTFOUND: "name not found",
  EAI_AGAIN: "name not found",
  DNS_ETIMEOUT: "no answer about the name",
  EMFILE: "too many open files here",
  ERR_SSL_WRONG_VERSION_NUMBER: "no TLS at this port",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another name",
  CERT_HAS_EXPIRED: "the certificate has expired",
};

function errorText(error: unknown): string {
  const code = systemCode(error) ?? "";
  const known = WORDS[code];
  if (known) return known;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `the certificate is not trusted (${printable(code, 60)})`;
  return printable(code || messageOf(error), 120);
}

const tooLarge = (maxBytes: number) =>
  new RemoteError("answer", `answer larger than ${maxBytes / 1_048_576} MiB`, true);

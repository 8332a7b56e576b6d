/**
 * A line to another server: one connection at a time, over which it is asked one thing after the other.
 *
 * Promises. The token goes to the server of the address and to nobody else: no redirect is followed, no proxy of the
 * environment is used, and over https nothing is sent before the certificate has passed. Deadlines cover everything from
 * looking up the name to the last byte of the answer. What the server sends is bounded as it arrives.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { messageOf, systemCode } from "../lib/errors";
import { printable } from "../lib/text";
import { RemoteError } from "./error";
import { type Response, ResponseReader } from "./response";

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
  private idle: Socket | undefined;

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
    // What changes something is sent once: on a connection that the server may just be closing, nobody could tell.
    if (request.method === "POST") this.close();
    const reused = this.idle !== undefined;
    const exchange = new Exchange(this.takeSocket(), this.text(request), limits, this.signal);
    try {
      const { response, socket } = await exchange.run();
      if (response.reusable) this.keep(socket);
      else socket.destroy();
      return response;
    } catch (error) {
      if (reused && exchange.unanswered && error instanceof RemoteError && error.fault === "unreachable") {
        return this.ask(request, limits);
      }
      throw error;
    }
  }

  close(): void {
    this.idle?.destroy();
    this.idle = undefined;
  }

  private keep(socket: Socket): void {
    this.idle = socket;
    const forget = () => {
      if (this.idle === socket) this.close();
    };
    socket.once("data", forget).once("close", forget);
  }

  private takeSocket(): () => Socket {
    const idle = this.idle;
    this.idle = undefined;
    return () => idle ?? dial(this.url, this.server.trust);
  }

  private text({ method, path, body }: Request): string {
    const { token } = this.server;
    const prefix = this.url.pathname.replace(/\/+$/, "");
    const lines = [
      `${method} ${prefix}${path} HTTP/1.1`,
      `Host: ${this.url.host}`,
      "Accept: application/json",
    ];
    if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
    if (body !== undefined) {
      lines.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
    }
    return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
  }
}

/** One request and its response. */
class Exchange {
  private readonly reader: ResponseReader;
  private readonly settled = Promise.withResolvers<{ response: Response; socket: Socket }>();
  private sent = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly open: () => Socket,
    private readonly request: string,
    private readonly limits: Limits,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.reader = new ResponseReader(limits.maxBytes);
  }

  /** Whether not a byte of an answer has come. */
  get unanswered(): boolean {
    return !this.reader.started;
  }

  async run(): Promise<{ response: Response; socket: Socket }> {
    if (this.signal?.aborted) throw this.cancelled();
    const cancel = () => this.settled.reject(this.cancelled());
    this.signal?.addEventListener("abort", cancel, { once: true });
    this.limitTo(this.limits.deadline);
    const socket = this.open();
    const error = (thrown: Error) => this.settled.reject(this.translated(thrown));
    const close = () => this.ended(socket);
    const data = (bytes: Buffer) => this.received(socket, bytes);
    const ready = () => this.send(socket);
    socket.on("error", error).on("close", close).on("data", data);
    if (socket.connecting) socket.once(READY, ready);
    else ready();
    try {
      return await this.settled.promise;
    } catch (thrown) {
      socket.destroy();
      throw thrown;
    } finally {
      socket.off("error", error).off("close", close).off("data", data).off(READY, ready);
      clearTimeout(this.timer);
      this.signal?.removeEventListener("abort", cancel);
    }
  }

  private send(socket: Socket): void {
    socket.write(this.request, () => {
      this.sent = true;
      const { answerWithinMs } = this.limits;
      if (answerWithinMs !== undefined) this.limitTo(deadlineIn(answerWithinMs));
    });
  }

  private limitTo({ at, ms }: Deadline): void {
    clearTimeout(this.timer);
    const expire = () =>
      this.settled.reject(new RemoteError("timeout", `timeout after ${ms / 1_000} s`, this.sent));
    this.timer = setTimeout(expire, Math.max(0, at - performance.now()));
  }

  private received(socket: Socket, bytes: Buffer): void {
    try {
      this.finish(socket, this.reader.push(bytes));
    } catch (error) {
      this.settled.reject(error);
    }
  }

  private ended(socket: Socket): void {
    this.finish(socket, this.reader.end());
    this.settled.reject(new RemoteError("unreachable", "connection closed", this.sent));
  }

  private finish(socket: Socket, response: Response | undefined): void {
    if (response) this.settled.resolve({ response, socket });
  }

  private cancelled(): RemoteError {
    return new RemoteError("cancelled", "cancelled", this.sent);
  }

  private translated(error: unknown): RemoteError {
    if (error instanceof RemoteError) return error;
    return new RemoteError("unreachable", errorText(error), this.sent);
  }
}

/** Emitted by a socket of {@link dial} once the server is the one it should be. */
const READY = "svcReady";

function dial(url: URL, trust: Trust): Socket {
  const socket = url.protocol === "http:" ? dialPlain(url) : dialTls(url, trust);
  // An error after the socket was given up would be nobody's, and end the process.
  return socket.on("error", () => {});
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, "$1");

function dialPlain(url: URL): Socket {
  const socket: Socket = connect({ host: hostOf(url), port: Number(url.port || 80), noDelay: true });
  return socket.once("connect", () => socket.emit(READY));
}

function dialTls(url: URL, trust: Trust): Socket {
  const checked = trust.kind === "system" || trust.kind === "ca";
  const socket: TLSSocket = connectTls({
    host: hostOf(url),
    port: Number(url.port || 443),
    rejectUnauthorized: checked,
    ...(trust.kind === "ca" && { ca: trust.pem }),
  });
  return socket.once("secureConnect", () => {
    if (checked && !socket.authorized) return void socket.destroy(new Error("CERTIFICATE"));
    if (trust.kind === "pin" && fingerprint(socket) !== trust.sha256) {
      return void socket.destroy(
        new RemoteError("unreachable", "the certificate is not the pinned one", false),
      );
    }
    socket.emit(READY);
  });
}

/** The SHA-256 of the server's certificate, 64 hex digits. */
function fingerprint(socket: TLSSocket): string {
  return socket.getPeerCertificate().fingerprint256.replaceAll(":", "").toLowerCase();
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

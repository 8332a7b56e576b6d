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
import { RemoteError, type RemoteFault } from "./error";
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
  private idle: Connection | undefined;

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
    const reused = this.idle?.open ? this.idle : undefined;
    this.idle = undefined;
    const connection = reused ?? new Connection(this.url, this.server.trust);
    const exchange = new Exchange(connection, this.text(request), limits, this.signal);
    try {
      const response = await exchange.response;
      if (response.reusable) this.idle = connection;
      else connection.close();
      return response;
    } catch (error) {
      connection.close();
      if (reused && exchange.unanswered && error instanceof RemoteError && error.fault === "unreachable") {
        return this.ask(request, limits);
      }
      throw error;
    }
  }

  close(): void {
    this.idle?.close();
    this.idle = undefined;
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
  readonly response: Promise<Response>;
  private readonly reader: ResponseReader;
  private readonly settled = Promise.withResolvers<Response>();
  private sent = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly request: string,
    private readonly limits: Limits,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.response = this.settled.promise;
    this.reader = new ResponseReader(limits.maxBytes);
    signal?.addEventListener("abort", this.cancel, { once: true });
    this.limitTo(limits.deadline);
    connection.carry(this);
  }

  /** Whether not a byte of an answer has come. */
  get unanswered(): boolean {
    return !this.reader.started;
  }

  /** The connection is ready for the request. */
  ready(socket: Socket): void {
    // What was written may arrive, whatever happens from here on.
    this.sent = true;
    socket.write(this.request, () => {
      const { answerWithinMs } = this.limits;
      if (answerWithinMs !== undefined && this.timer) this.limitTo(deadlineIn(answerWithinMs));
    });
  }

  received(bytes: Buffer): void {
    try {
      const response = this.reader.push(bytes);
      if (response) this.finish(() => this.settled.resolve(response));
    } catch (error) {
      this.finish(() => this.settled.reject(error));
    }
  }

  failed(error: unknown): void {
    const told = error instanceof RemoteError ? error : this.fault("unreachable", errorText(error));
    this.finish(() => this.settled.reject(told));
  }

  closed(): void {
    const response = this.reader.end();
    if (response) this.finish(() => this.settled.resolve(response));
    else this.failed(this.fault("unreachable", "connection closed"));
  }

  private readonly cancel = () => this.failed(this.fault("cancelled", "cancelled"));

  private limitTo({ at, ms }: Deadline): void {
    clearTimeout(this.timer);
    const expire = () => this.failed(this.fault("timeout", `timeout after ${ms / 1_000} s`));
    this.timer = setTimeout(expire, Math.max(0, at - performance.now()));
  }

  private finish(settle: () => void): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.signal?.removeEventListener("abort", this.cancel);
    this.connection.carry(undefined);
    settle();
  }

  private fault(fault: RemoteFault, message: string): RemoteError {
    return new RemoteError(fault, message, this.sent);
  }
}

/** A connection to the server that it should be, carrying one exchange at a time. */
class Connection {
  private readonly socket: Socket;
  private carried: Exchange | undefined;
  private ready = false;

  constructor(url: URL, trust: Trust) {
    const ready = () => {
      this.ready = true;
      this.carried?.ready(this.socket);
    };
    this.socket = url.protocol === "http:" ? dialPlain(url, ready) : dialTls(url, trust, ready);
    this.socket
      // Without a listener, an error after the last exchange would end the process.
      .on("error", (error) => this.carried?.failed(error))
      .on("close", () => this.carried?.closed())
      .on("data", (bytes) => {
        // Without an encoding they are never text; an answer that nobody asked for is none.
        if (this.carried && typeof bytes !== "string") this.carried.received(bytes);
        else this.close();
      });
  }

  /** Whether it is not known to have ended. */
  get open(): boolean {
    return !this.socket.destroyed;
  }

  /** Begins an exchange, as soon as it can; undefined when it is over. */
  carry(exchange: Exchange | undefined): void {
    this.carried = exchange;
    if (exchange && this.ready) exchange.ready(this.socket);
  }

  close(): void {
    this.socket.destroy();
  }
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, "$1");

function dialPlain(url: URL, ready: () => void): Socket {
  return connect({ host: hostOf(url), port: Number(url.port || 80) }, ready);
}

function dialTls(url: URL, trust: Trust, ready: () => void): Socket {
  const checked = trust.kind === "system" || trust.kind === "ca";
  const socket: TLSSocket = connectTls({
    host: hostOf(url),
    port: Number(url.port || 443),
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

/**
 * A connection to a NATS server.
 *
 * The promise: nothing but the server of the address gets credentials. Beyond loopback the connection is TLS, also where the server
 * does not ask for it, and the server's certificate has passed before anything is sent. Whatever the server sends, and whether or not
 * it reads, memory is bounded: the connection ends.
 */
import { isIP, type Socket } from "node:net";
import type { ConnectionOptions, NatsConnection, ServerInfo } from "@nats-io/nats-core";
import { NatsConnectionImpl, Parser, State, setTransportFactory } from "@nats-io/nats-core/internal";
import { NodeTransport, nodeResolveHost } from "@nats-io/transport-node/lib/node_transport";
import { RemoteError, type Trust } from "../../client/carrier";
import { dialError, NOT_PINNED } from "../../client/dial";
import { openWebSocket } from "../../client/websocket";
import { ANY_PART, jitter } from "../../lib/backoff";
import { hasPin } from "../../lib/spki";
import type { NatsServer } from "./desk-part";
import { nkey } from "./nkeys";
import { parseServerUrl, type ServerUrl } from "./server-url";

export interface Login {
  readonly server: NatsServer;
  /** The seed of the NKey, which only signs the server's nonce, and its token; without both it comes without credentials. */
  readonly seed?: string;
  readonly jwt?: string;
  /** What the server lists the connection as. */
  readonly name?: string;
  readonly timeoutMs?: number;
  /** The same for each URL but the last one that is tried. */
  readonly nextMs?: number;
}

/** How long a connection may take to come up, in milliseconds. */
const READY_MS = 15_000;

/** How often the server is asked whether it is there, in milliseconds; it may miss two. */
const PING_MS = 20_000;

/** The longest line of the protocol, in bytes: what a server says of itself names the other servers of its cluster. */
const MAX_LINE_BYTES = 65_536;

/** The largest message, in bytes: what `svc nats` configures, and what servers take by themselves (`max_payload`). */
const MAX_MESSAGE_BYTES = 1_048_576;

/** How many writes may wait for the server to read: each takes some 500 bytes, and a server has one made by each ping. */
const MAX_WAITING_WRITES = 20_000;

/** How many bytes are parsed at once: errors of a few bytes each take 5 ms. And how long before others have a turn, in milliseconds. */
const SLICE_BYTES = 65_536;
const TURN_MS = 5;

type Options = ConnectionOptions & { readonly trust: Trust; readonly webSocket: boolean };

/** Checks the certificate as `client/dial.ts` does: Bun calls no `checkServerIdentity` where it is told to let anything pass. */
class Transport extends NodeTransport {
  private waitingWrites = 0;
  /** What came and was not parsed yet. */
  private waitingBytes = 0;

  /** As the library's, but that TLS and the WebSocket are there before the server greets. */
  override async connect(...[server, options]: Parameters<NodeTransport["connect"]>) {
    const { trust, webSocket, timeout = READY_MS } = options as Options;
    if (!webSocket) return super.connect(server, options);
    this.options = options;
    // The one part of a socket that is used is that of streams.
    const url = new URL(`https://${addressOf(server.hostname, server.port)}`);
    const about = { timeoutMs: timeout, what: "the NATS server" };
    this.socket = (await openWebSocket(url, { trust }, about)) as Socket;
    try {
      if (!this.done) await this.peekInfo();
    } catch (error) {
      this.socket.destroy();
      throw error ?? new RemoteError("unreachable", "connection closed", false);
    }
    if (this.done) this.socket.destroy();
    this.connected = true;
    this.setupHandlers();
    this.signal.resolve();
  }

  /** As the library's, which reads a line without end, each time from its beginning. */
  override peekInfo() {
    const { socket } = this;
    const { promise, resolve, reject } = Promise.withResolvers<ServerInfo>();
    let length = 0;
    let fault: unknown;
    const fail = (error: unknown) => {
      socket.removeAllListeners();
      reject(error);
    };
    socket
      .on("error", (error) => {
        fault = error;
      })
      .on("close", () => fail(fault))
      .on("data", (bytes: Buffer) => {
        this.yields.push(bytes);
        const end = bytes.indexOf("\n");
        length += end < 0 ? bytes.length : end;
        if (length > MAX_LINE_BYTES) return fail(tooLong());
        if (end < 0) return;
        try {
          const line = Buffer.concat(this.yields).toString("utf8", 0, length);
          const info: ServerInfo = JSON.parse(/^INFO\s+(\{.*\})\s*$/i.exec(line)?.[1] ?? "");
          socket.removeAllListeners();
          resolve(info);
        } catch {
          fail(foreign());
        }
      });
    return promise;
  }

  /** The library leaves a connection open, and reads on, that was given up before it was made. */
  override async close(error?: Error) {
    if (!this.connected) {
      this.done = true;
      this.socket?.destroy();
    }
    return super.close(error);
  }

  override setupHandlers() {
    super.setupHandlers();
    this.socket.on("data", ({ length }: Uint8Array) => {
      this.waitingBytes += length;
    });
  }

  /** As the library's, in slices and in turns: a server may send without end, and waits meanwhile. */
  override async *iterate() {
    /** When the turn ends; 0 between turns. */
    let ends = 0;
    for await (const bytes of super.iterate()) {
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
        if (ends === 0) {
          ends = performance.now() + TURN_MS;
          setImmediate(() => {
            ends = 0;
          });
        } else if (performance.now() > ends) {
          this.socket?.pause();
          await new Promise(setImmediate);
        }
        yield bytes.subarray(at, at + SLICE_BYTES);
      }
      // What came before the handlers was not counted.
      this.waitingBytes = Math.max(0, this.waitingBytes - bytes.length);
      if (this.waitingBytes === 0 && this.socket?.isPaused()) this.socket.resume();
    }
  }

  override send(frame: Uint8Array) {
    this.waitingWrites += 1;
    const written = () => {
      this.waitingWrites -= 1;
    };
    this._send(frame).then(written, written);
    if (this.waitingWrites > MAX_WAITING_WRITES)
      this.socket?.destroy(new RemoteError("unreachable", "the NATS server does not read", false));
  }

  /** The server is silent: the library would wait until it has read what was sent, which one that hangs never does. */
  override disconnect() {
    this.socket?.destroy();
  }

  override isEncrypted() {
    return (this.options as Options).webSocket || super.isEncrypted();
  }

  override async startTLS() {
    const { connect } = process.getBuiltinModule("node:tls");
    const { trust } = this.options as Options;
    const { promise, resolve, reject } = Promise.withResolvers<import("node:tls").TLSSocket>();
    const socket = connect({
      socket: this.socket,
      servername: this.tlsName,
      rejectUnauthorized: trust.kind !== "pin",
      ...(trust.kind === "ca" && { ca: trust.pem }),
    });
    const fail = (error: unknown) => {
      reject(error);
      socket.destroy();
    };
    socket
      .once("error", fail)
      .once("close", () => fail(new RemoteError("unreachable", "connection closed", false)))
      .once("secureConnect", () => {
        const fault = faultOf(socket, trust);
        if (fault !== undefined) return fail(new RemoteError("unreachable", fault, false));
        socket.removeAllListeners();
        resolve(socket);
      });
    return promise;
  }
}

const { parse } = Parser.prototype;

const foreign = () => new RemoteError("answer", "the NATS server sends what is not of its protocol", false);
const tooLong = () =>
  new RemoteError("answer", `the NATS server sends a line of more than ${MAX_LINE_BYTES} bytes`, false);
const tooLarge = () =>
  new RemoteError("answer", `the NATS server sends a message of more than ${MAX_MESSAGE_BYTES} bytes`, false);

/**
 * What is no NATS, or is not bounded, ends the connection. The library would print what is no NATS as the server sent it, and be deaf
 * from then on; it would gather a line without end, and messages of 64 MiB.
 */
function parseOrEnd(this: Parser, bytes: Uint8Array): void {
  const fault = faultIn(this, bytes);
  if (!fault) return;
  // What is here already is not looked at.
  this.parse = () => {};
  const protocol = Object(this.dispatcher);
  protocol.lastError = fault;
  protocol.disconnect();
}

function faultIn(parser: Parser, bytes: Uint8Array): RemoteError | undefined {
  try {
    parse.call(parser, bytes);
  } catch {
    return foreign();
  }
  // The beginning of a line, and of a message, whose end is still to come.
  if (parser.argBuf && parser.argBuf.length > MAX_LINE_BYTES) return tooLong();
  const isLarge = parser.state === State.MSG_PAYLOAD && parser.ma.size > MAX_MESSAGE_BYTES;
  return isLarge ? tooLarge() : undefined;
}

function faultOf(socket: import("node:tls").TLSSocket, trust: Trust): string | undefined {
  if (trust.kind !== "pin") return socket.authorized ? undefined : "the certificate is not trusted";
  const { raw } = socket.getPeerCertificate();
  return trust.pins.some((pin) => hasPin(raw, pin)) ? undefined : NOT_PINNED.key;
}

const trustOf = ({ pin, ca }: NatsServer): Trust => {
  if (pin !== undefined) return { kind: "pin", pins: [pin] };
  return ca === undefined ? { kind: "system" } : { kind: "ca", pem: ca };
};

/**
 * Connects to one of the servers. It is not opened again by itself.
 *
 * @throws a {@link RemoteError}, `unauthorized` where the server refuses the credentials.
 */
export async function connectNats({
  server,
  seed,
  jwt,
  name,
  timeoutMs = READY_MS,
  nextMs = timeoutMs,
}: Login): Promise<NatsConnection> {
  Parser.prototype.parse = parseOrEnd;
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  const common = {
    ...(seed !== undefined && jwt !== undefined && { authenticator: authenticator(seed, jwt) }),
    ...(name !== undefined && { name }),
    timeout: timeoutMs,
    pingInterval: PING_MS,
    reconnect: false,
    ignoreClusterUpdates: true,
    trust: trustOf(server),
  };
  let last: unknown;
  const urls = inOrder(server.urls);
  let left = urls.length;
  for (const { scheme, host, port } of urls) {
    const webSocket = scheme === "wss";
    try {
      // Without `tls`, the client would take what a server offers; with it, it takes nothing less.
      const tls = scheme === "tls" ? {} : null;
      const servers = [addressOf(host, port)];
      const options = {
        ...common,
        servers,
        tls,
        webSocket,
        ...(--left > 0 && { timeout: nextMs }),
      } as Options;
      const connection = await NatsConnectionImpl.connect(options);
      throughWebSocket = webSocket;
      return connection;
    } catch (error) {
      last = error;
    }
  }
  throw remoteError(last);
}

/** Whether the last connection of this process was a WebSocket: where nothing else gets out, that is tried first. */
let throughWebSocket = false;

const addressOf = (host: string, port: number) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** What a server may have signed: some random bytes in base64, and no text that means something elsewhere. */
const NONCE = /^[\w+/=-]{0,128}$/;

function authenticator(seed: string, jwt: string) {
  const key = nkey(seed);
  return (nonce = "") => {
    if (!NONCE.test(nonce)) {
      throw new RemoteError("answer", "the NATS server wants something signed that is no nonce", false);
    }
    return { jwt, nkey: key.id, sig: key.sign(Buffer.from(nonce)).toString("base64") };
  };
}

/** A WebSocket costs more than plain TLS. Among equals the order is random. */
function inOrder(urls: readonly string[]): ServerUrl[] {
  return urls
    .flatMap((url) => parseServerUrl(url) ?? [])
    .map((url) => ({ url, order: jitter(1, ANY_PART) + Number((url.scheme === "wss") !== throughWebSocket) }))
    .sort((a, b) => a.order - b.order)
    .map(({ url }) => url);
}

/** Why there is no connection. */
function remoteError(error: unknown): RemoteError {
  if (error instanceof RemoteError) return error;
  const { name, cause } = error as { readonly name?: string; readonly cause?: unknown };
  if (name === "AuthorizationError" || name === "UserAuthenticationExpiredError") {
    return new RemoteError("unauthorized", "the NATS server refuses the credentials of this machine", false);
  }
  if (name === "TimeoutError") return new RemoteError("timeout", "the NATS server does not answer", false);
  return new RemoteError("unreachable", dialError(cause ?? error), false);
}

/**
 * A connection to a NATS server.
 *
 * The promise: nothing but the server of the address gets credentials. Beyond loopback the connection is TLS, also where the server
 * does not ask for it, and the server's certificate has passed before anything is sent.
 */
import { isIP, type Socket } from "node:net";
import type { ConnectionOptions, NatsConnection } from "@nats-io/nats-core";
import { NatsConnectionImpl, Parser, setTransportFactory } from "@nats-io/nats-core/internal";
import { NodeTransport, nodeResolveHost } from "@nats-io/transport-node/lib/node_transport";
import { RemoteError, type Trust } from "../client/carrier";
import { dialError, NOT_PINNED } from "../client/dial";
import { openWebSocket } from "../client/websocket";
import { hasPin } from "../lib/spki";
import { nkey } from "./nkeys";
import { parseServerUrl, type ServerUrl } from "./server-url";

/** A NATS server, or the servers of one cluster. */
export interface NatsServer {
  /** `tls://host:port`, `wss://host:port`; `nats://` on loopback only. */
  readonly urls: readonly string[];
  /** The pin of its key; without it and `ca`, the authorities of the system vouch for it. */
  readonly pin?: string | undefined;
  /** The only authorities to trust, PEM. */
  readonly ca?: string | undefined;
}

export interface Login {
  readonly server: NatsServer;
  /** The seed of the NKey, which only signs the server's nonce, and its token; without both it comes without credentials. */
  readonly seed?: string;
  readonly jwt?: string;
  /** What the server lists the connection as. */
  readonly name?: string;
  readonly timeoutMs?: number;
}

/** How long a connection may take to come up, in milliseconds. */
const READY_MS = 15_000;

/** How often the server is asked whether it is there, in milliseconds; it may miss two. */
const PING_MS = 20_000;

type Options = ConnectionOptions & { readonly trust: Trust; readonly webSocket: boolean };

/** Checks the certificate as `client/dial.ts` does: Bun calls no `checkServerIdentity` where it is told to let anything pass. */
class Transport extends NodeTransport {
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

/** What is no NATS ends the connection: the library would print it as the server sent it, and be deaf from then on. */
function parseOrEnd(this: Parser, bytes: Uint8Array): void {
  try {
    parse.call(this, bytes);
  } catch {
    const protocol = Object(this.dispatcher);
    protocol.lastError = new RemoteError(
      "answer",
      "the NATS server sends what is not of its protocol",
      false,
    );
    protocol.disconnect();
  }
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
}: Login): Promise<NatsConnection> {
  Parser.prototype.parse = parseOrEnd;
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  const common = {
    ...(seed !== undefined && jwt !== undefined && { authenticator: authenticator(seed, jwt) }),
    ...(name !== undefined && { name }),
    ...{ timeout: timeoutMs, pingInterval: PING_MS, reconnect: false, ignoreClusterUpdates: true },
    trust: trustOf(server),
  };
  let last: unknown;
  for (const { scheme, host, port } of inOrder(server.urls)) {
    const webSocket = scheme === "wss";
    try {
      // Without `tls`, the client would take what a server offers; with it, it takes nothing less.
      const tls = scheme === "tls" ? {} : null;
      const servers = [addressOf(host, port)];
      const connection = await NatsConnectionImpl.connect({ ...common, servers, tls, webSocket } as Options);
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
    .map((url) => ({ url, order: Math.random() + Number((url.scheme === "wss") !== throughWebSocket) }))
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

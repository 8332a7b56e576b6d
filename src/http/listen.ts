/**
 * Listening on a port, with TLS or without, and exchanging the certificate while requests arrive.
 *
 * The promise: no request fails because of an exchange (Linux). Bun keeps the certificate that a listener began with, so a
 * second listener begins on the port and gets all new connections. The first one answers one more request on each connection
 * and ends it, and is closed once those without a request have timed out.
 */
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { type HandOver, openHandOver } from "../lib/hand-over";
import { once } from "../lib/once";
import type { Pair } from "../trust/tls";
import { after } from "./exchange";
import { IDLE_TIMEOUT_S } from "./operation-handler";
import { errorResponse } from "./responses";
import { SOCKETS } from "./sockets";

/** What TLS needs, all PEM. */
export interface TlsSettings extends Pair {
  /** Authorities: a client without a certificate of one of these gets no connection. Absent: none is asked for. */
  readonly ca?: readonly string[];
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsSettings | undefined;
  readonly fetch: (request: Request, env: { server: Bun.Server<unknown> }) => Response | Promise<Response>;
}

/**
 * The cipher suites of TLS 1.2 that have forward secrecy (RFC 9325 section 4.2): who gets the key of the certificate cannot
 * read what was recorded before. All suites of TLS 1.3 have it.
 */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";

/** Until the first listener is closed: connections have timed out by then, which Bun looks at every four seconds. */
const DRAIN_MS = (IDLE_TIMEOUT_S + 5) * 1_000;

const handOver = once(openHandOver);

interface OpenListener {
  /** Whether it answers what arrives on its connections, and ends them. */
  leaving: boolean;
  descriptor: number | undefined;
  readonly server: Bun.Server<unknown>;
}

/** A port that is listened on. */
export interface Listener {
  readonly port: number;
  /**
   * Uses other TLS settings for new connections; they do as soon as this resolves.
   *
   * @throws as {@link listen}; the old settings stay then.
   */
  exchange(tls: TlsSettings): Promise<void>;
  /** Refuses new connections and resolves after the requests in flight. @param now cuts these off. */
  stop(now?: boolean): Promise<void>;
}

/**
 * @param drainMs how long a listener stays after another has taken its place.
 * @throws `conflict` when the port is taken; `unavailable` for missing rights; `bad_input` for an unusable host or key.
 */
export function listen(listening: ListenOptions, drainMs = DRAIN_MS): Listener {
  let inUse = listening.tls;
  let current = open(listening, false);
  const port = current.server.port ?? 0;
  /** Those that are open, in the order of the system's group. */
  let opened = [current];
  const timers = new Set<NodeJS.Timeout>();

  const close = (one: OpenListener, system?: HandOver) => {
    void one.server.stop();
    const last = opened.at(-1);
    opened = opened.map((other) => (other === one && last ? last : other)).slice(0, -1);
    if (system) choose(system);
  };
  /** @returns whether new connections go to the current listener alone. */
  const choose = (system: HandOver) =>
    opened.length === 1 ||
    (current.descriptor !== undefined && system.choose(current.descriptor, opened.indexOf(current)));

  return {
    port,
    async exchange(tls) {
      const old = current;
      const system = process.platform === "linux" ? await handOver() : undefined;
      const before = system?.listeners(port) ?? [];
      const isShared = before.map((descriptor) => system?.share(descriptor)).includes(true);
      // Elsewhere the port is free for a moment.
      if (!isShared) close(old);
      try {
        current = open({ ...listening, port, tls }, isShared);
      } catch (error) {
        if (!isShared) {
          current = open({ ...listening, port, tls: inUse }, false);
          opened = [current];
        }
        throw error;
      }
      inUse = tls;
      current.descriptor = system?.listeners(port).find((descriptor) => !before.includes(descriptor));
      opened.push(current);
      if (!isShared) return;
      if (!system || !choose(system)) return close(old);
      old.leaving = true;
      const timer = setTimeout(() => {
        timers.delete(timer);
        close(old, system);
      }, drainMs);
      timers.add(timer);
    },
    async stop(now = false) {
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(opened.map(({ server }) => server.stop(now)));
    },
  };
}

function open({ host, port, tls, fetch }: ListenOptions, reusePort: boolean): OpenListener {
  const { ca, ...pair } = tls ?? {};
  const opened: OpenListener = {
    leaving: false,
    descriptor: undefined,
    server: serve(),
  };
  return opened;

  function serve() {
    try {
      return Bun.serve({
        hostname: host.replace(/^\[(.*)\]$/, "$1"),
        port,
        ...(tls && {
          tls: {
            ...pair,
            ciphers: CIPHERS,
            ...(ca && { ca: [...ca], requestCert: true, rejectUnauthorized: true }),
          },
        }),
        // Otherwise Bun answers what it cannot handle with a page that shows the source.
        development: false,
        // With `development: false`, Bun 1.4 shares a taken port with its other listener by default.
        reusePort,
        idleTimeout: IDLE_TIMEOUT_S,
        // Bun's own limit would answer before the gate does; `body.ts` has the real one.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        websocket: SOCKETS,
        fetch(request, server) {
          if (mayNotGoOn(request)) return closing(errorResponse(400, `${request.method}: expected no body`));
          const isLast = opened.leaving;
          return after(fetch(request, { server }), (response) =>
            isLast || goesOn(request) ? closing(response) : response,
          );
        },
      });
    } catch (error) {
      const code = systemCode(error);
      if (code === "EADDRINUSE") throw conflict(`port ${port} on ${host} is taken`);
      if (code === "EACCES")
        throw unavailable(`port ${port} on ${host} needs more rights than this process has`);
      if (tls && !/^E[A-Z]+$/.test(code ?? ""))
        throw badInput(`tls_cert: the certificate and its key are not a usable pair (${messageOf(error)})`);
      throw badInput(`host: cannot listen on ${host}:${port} (${code ?? messageOf(error)})`);
    }
  }
}

/**
 * Whether its body is in chunks that nobody reads to their end. Bun takes such a body apart for as long as it comes, also after the answer:
 * chunks of a byte each, on some connections of a stranger, would have all of the event loop. One with a length is thrown away as it is.
 */
const goesOn = ({ headers, bodyUsed }: Request): boolean => !bodyUsed && headers.has("transfer-encoding");

/** Whether it has a body that no route takes: where its answer stays open, it could go on as long. */
const mayNotGoOn = ({ method, headers }: Request): boolean =>
  (method === "GET" || method === "HEAD") &&
  (headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0);

/** The last answer on its connection. */
function closing(response: Response): Response {
  response.headers.set("connection", "close");
  return response;
}

/** The host part of a URL that reaches a server bound to `host`; loopback for an unspecified address. */
export function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::" || host === "[::]") return "[::1]";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

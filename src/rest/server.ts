/**
 * The REST server: the app on a port, with its token, its claim on `{config_dir}` and its end.
 */
import { readFileSync } from "node:fs";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import type { Service } from "../service";
import { createApp, IDLE_TIMEOUT_S } from "./app";
import { DEFAULT_MAX_BODY } from "./body";
import { createClientResolver } from "./client";
import { createGate, DEFAULT_BURST, DEFAULT_RATE_PER_MINUTE } from "./gate";
import { createHostCheck } from "./host";
import { claimConfigDir, removeRunFile, writeRunFile } from "./runfile";
import { openToken, type TokenSource } from "./token";
import { createTrail } from "./trail";

export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 9939;

/** How a server is started; what is left out has its default. */
export interface RestServerOptions {
  readonly host?: string | undefined;
  /** 0 picks a free one. */
  readonly port?: number | undefined;
  /** The token itself, from a caller in this process; otherwise see `openToken`. */
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** Whether requests leave rows in the audit log (default true). */
  readonly audit?: boolean | undefined;
  /** PEM files. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly ratePerMinute?: number | undefined;
  readonly burst?: number | undefined;
  readonly trustProxies?: readonly string[] | undefined;
  readonly allowHosts?: readonly string[] | undefined;
  readonly maxBodyBytes?: number | undefined;
}

/** A server that accepts connections. */
export interface RestServer {
  /** Where it answers, without a trailing slash; an unspecified address is shown as loopback. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly token: TokenSource;
  readonly startedAt: number;
  /** Refuses new connections, lets what is in flight finish for {@link GRACE_MS}, then cuts it off. */
  stop(): Promise<void>;
}

/** How long requests in flight may take once the server was told to stop. */
export const GRACE_MS = 10_000;

/**
 * Starts a server.
 *
 * @throws `conflict` when the port is taken or a server runs on `{config_dir}` already; `bad_input` for an unusable
 *   option; `unavailable` for a file that cannot be read. Nothing is left running or claimed then.
 */
export async function startRestServer(service: Service, options: RestServerOptions): Promise<RestServer> {
  const tls = options.tls && readTls(options.tls);
  const clients = createClientResolver(options.trustProxies ?? []);
  const release = claimConfigDir(service.configDir);
  if (!release) throw conflict(`a server already runs on ${service.configDir}`);
  try {
    const host = options.host ?? DEFAULT_HOST;
    const file = options.tokenFile ?? configFiles(service.configDir).token;
    const token = openToken({ given: options.token, file }, service.log);
    const metrics = await service.metrics();
    const audit = options.audit === false ? null : await service.audit();
    const stopping = new AbortController();
    const gate = createGate(() => token.digest(), {
      ratePerMinute: options.ratePerMinute ?? DEFAULT_RATE_PER_MINUTE,
      burst: options.burst ?? DEFAULT_BURST,
    });
    const app = createApp({
      service,
      operations: await service.operations(),
      gate,
      clients,
      answersTo: createHostCheck(host, options.allowHosts ?? []),
      metrics,
      trail: createTrail(audit, (error) => {
        metrics.recordAuditFailure();
        service.log.error(`audit row not written: ${messageOf(error)}`);
      }),
      maxBodyBytes: options.maxBodyBytes ?? DEFAULT_MAX_BODY,
      log: service.log,
      stopping: stopping.signal,
    });
    const server = listen({ host, port: options.port ?? DEFAULT_PORT, tls, fetch: app.fetch });
    const port = server.port ?? 0;
    const url = `${tls ? "https" : "http"}://${urlHost(host)}:${port}`;
    writeRunFile(service.configDir, { url, pid: process.pid });
    return {
      url,
      host,
      port,
      token,
      startedAt: Date.now(),
      async stop() {
        const cutOff = setTimeout(() => {
          stopping.abort();
          void server.stop(true);
        }, GRACE_MS);
        await server.stop();
        clearTimeout(cutOff);
        removeRunFile(service.configDir);
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

type Listening = {
  host: string;
  port: number;
  tls: Bun.TLSOptions | undefined;
  fetch: (request: Request, env: { server: Bun.Server<unknown> }) => Response | Promise<Response>;
};

function listen({ host, port, tls, fetch }: Listening): Bun.Server<unknown> {
  try {
    return Bun.serve({
      hostname: host.replace(/^\[(.*)\]$/, "$1"),
      port,
      ...(tls && { tls }),
      // Otherwise Bun answers what it cannot handle with a page that shows the source.
      development: false,
      // With `development: false`, Bun 1.4 shares a taken port with its other listener unless told not to.
      reusePort: false,
      idleTimeout: IDLE_TIMEOUT_S,
      // Bun's own limit answers before the gate has been asked; `body.ts` has the real one.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request, server) => fetch(request, { server }),
    });
  } catch (error) {
    const code = systemCode(error);
    if (code === "EADDRINUSE") throw conflict(`port ${port} on ${host} is taken`);
    if (code === "EACCES")
      throw unavailable(`port ${port} on ${host} needs more rights than this process has`);
    if (tls && !/^E[A-Z]+$/.test(code ?? ""))
      throw badInput(`tls-cert, tls-key: not a usable pair (${messageOf(error)})`);
    throw badInput(`host: cannot listen on ${host}:${port} (${code ?? messageOf(error)})`);
  }
}

function readTls({ certFile, keyFile }: { certFile: string; keyFile: string }): Bun.TLSOptions {
  const read = (field: string, path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw unavailable(`${field}: ${path} cannot be read (${systemCode(error) ?? messageOf(error)})`);
    }
  };
  return { cert: read("tls-cert", certFile), key: read("tls-key", keyFile) };
}

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::" || host === "[::]") return "[::1]";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

/**
 * The REST server: the app on a port, with its token, its claim on `{config_dir}` and its end.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as v from "valibot";
import { secret } from "../core/fields";
import { checkInput, sentence } from "../core/input";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import { claimConfigDir, removeRunFile, writeRunFile } from "../lib/running-server";
import type { Service } from "../service";
import { watchTokens } from "../trust/named-tokens";
import { openToken, type TokenSource } from "../trust/owner-token";
import { ownerToken } from "../trust/scopes";
import { createApp, IDLE_TIMEOUT_S } from "./app";
import { DEFAULT_MAX_BODY } from "./body";
import { createClientResolver } from "./client-address";
import { createGate, DEFAULT_BURST, DEFAULT_RATE_PER_MINUTE } from "./gate";
import { createHostCheck, isLoopback } from "./host-header";
import { createTrail } from "./request-audit";

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 9939;

/** Rows of the audit log beyond which the oldest are archived: some 400 MB. */
const DEFAULT_AUDIT_MAX_ROWS = 1_000_000;

const OPTIONS = v.strictObject({
  host: v.optional(v.pipe(v.string(), v.nonEmpty()), DEFAULT_HOST),
  port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535)), DEFAULT_PORT),
  token: v.optional(secret(v.string())),
  tokenFile: v.optional(v.string()),
  audit: v.optional(v.boolean(), true),
  tlsCert: v.optional(v.string()),
  tlsKey: v.optional(v.string()),
  rateLimit: v.optional(v.pipe(v.number(), v.finite(), v.minValue(0)), DEFAULT_RATE_PER_MINUTE),
  rateBurst: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), DEFAULT_BURST),
  trustProxy: v.optional(v.array(v.string()), []),
  allowHost: v.optional(v.array(v.string()), []),
  allowAuditClear: v.optional(v.boolean(), false),
  auditMaxRows: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000_000)),
    DEFAULT_AUDIT_MAX_ROWS,
  ),
  maxBody: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), DEFAULT_MAX_BODY),
});

/**
 * How a server is started, by the flags of `svc serve`; what is left out has its default. `port` 0 picks a free one;
 * `token` is the token itself, from a caller in this process (otherwise see `openToken`); `tlsCert` and `tlsKey` are
 * PEM files; `rateLimit` is in requests a minute and client, 0 for any; `maxBody` in bytes; without `audit`, requests
 * leave no rows in the audit log; beyond `auditMaxRows` (0: any number) its oldest rows go to an archive;
 * `allowAuditClear` lets requests clear it.
 */
export type RestServerOptions = v.InferInput<typeof OPTIONS>;

/** A server that accepts connections. */
export interface RestServer {
  /** Where it answers, without a trailing slash; an unspecified address is shown as loopback. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly token: TokenSource;
  /** Whether requests may clear the audit log. */
  readonly allowAuditClear: boolean;
  readonly startedAt: number;
  /** Seconds since then, whatever is done to the clock meanwhile. */
  uptimeSeconds(): number;
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
  const checked = checkOptions(options);
  const { host, tlsCert, tlsKey } = checked;
  const tls = tlsCert === undefined && tlsKey === undefined ? undefined : readTls(tlsCert, tlsKey);
  const clients = createClientResolver(checked.trustProxy);
  const release = claimConfigDir(service.configDir);
  if (!release) throw conflict(`a server already runs on ${service.configDir}`);
  // What is undone when the start fails from here on.
  using undo = new DisposableStack();
  undo.defer(release);
  const file = checked.tokenFile ?? configFiles(service.configDir).token;
  const token = openToken({ given: checked.token, file }, service.log);
  const metrics = await service.metrics();
  const audit = checked.audit ? await service.audit() : null;
  audit?.limitRows(checked.auditMaxRows);
  const stopping = new AbortController();
  const owner = ownerToken(() => token.digest());
  const others = watchTokens(configFiles(service.configDir), service.log);
  const gate = createGate((sent) => owner(sent) ?? others(sent), {
    ratePerMinute: checked.rateLimit,
    burst: checked.rateBurst,
  });
  const trail = createTrail(audit, () => metrics.recordAuditFailure());
  const app = createApp({
    service,
    operations: await service.operations(),
    gate,
    clients,
    answersTo: createHostCheck(host, checked.allowHost),
    metrics,
    trail,
    maxBodyBytes: checked.maxBody,
    log: service.log,
    stopping: stopping.signal,
  });
  const server = listen({ host, port: checked.port, tls, fetch: app.fetch });
  undo.defer(() => void server.stop(true));
  const started = performance.now();
  const port = server.port ?? 0;
  const url = `${tls ? "https" : "http"}://${urlHost(host)}:${port}`;
  writeRunFile(service.configDir, { url, pid: process.pid, token_file: token.file && resolve(token.file) });
  undo.move();
  if (!isLoopback(host) && !tls) {
    service.log.warn(
      `${host} is reachable from other machines and tokens travel unencrypted: use --tls-cert`,
    );
  }
  return {
    url,
    host,
    port,
    token,
    allowAuditClear: checked.allowAuditClear,
    startedAt: Date.now(),
    uptimeSeconds: () => (performance.now() - started) / 1_000,
    async stop() {
      const cutOff = setTimeout(() => {
        stopping.abort();
        void server.stop(true);
      }, GRACE_MS);
      await server.stop();
      clearTimeout(cutOff);
      await trail.close();
      removeRunFile(service.configDir);
      release();
    },
  };
}

/** @throws a `bad_input` failure that names options as flags are written. */
function checkOptions(options: RestServerOptions): v.InferOutput<typeof OPTIONS> {
  const checked = checkInput(OPTIONS, options);
  if (checked.ok) return checked.input;
  const asFlag = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw badInput(sentence(checked.offences.map((offence) => ({ ...offence, field: asFlag(offence.field) }))));
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

function readTls(certFile: string | undefined, keyFile: string | undefined): Bun.TLSOptions {
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? "tls-cert" : "tls-key";
    throw badInput(`${missing}: missing: a certificate and its key are given together`);
  }
  const read = (flag: string, path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw unavailable(`${flag}: ${path} cannot be read (${systemCode(error) ?? messageOf(error)})`);
    }
  };
  return { cert: read("tls-cert", certFile), key: read("tls-key", keyFile) };
}

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::" || host === "[::]") return "[::1]";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

/**
 * Listening on a port, with TLS or without, and what to say where that fails.
 */
import { readFileSync } from "node:fs";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../lib/errors";
import { IDLE_TIMEOUT_S } from "./call";

interface Listening {
  host: string;
  port: number;
  tls: Bun.TLSOptions | undefined;
  fetch: (request: Request, env: { server: Bun.Server<unknown> }) => Response | Promise<Response>;
}

/**
 * The cipher suites of TLS 1.2 that have forward secrecy (RFC 9325 section 4.2): who gets the key of the certificate cannot
 * read what was recorded before. All suites of TLS 1.3 have it.
 */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";

/** @throws `conflict` when the port is taken; `unavailable` for missing rights; `bad_input` for an unusable host or key. */
export function listen({ host, port, tls, fetch }: Listening): Bun.Server<unknown> {
  try {
    return Bun.serve({
      hostname: host.replace(/^\[(.*)\]$/, "$1"),
      port,
      ...(tls && { tls: { ...tls, ciphers: CIPHERS } }),
      // Otherwise Bun answers what it cannot handle with a page that shows the source.
      development: false,
      // With `development: false`, Bun 1.4 shares a taken port with its other listener by default.
      reusePort: false,
      idleTimeout: IDLE_TIMEOUT_S,
      // Bun's own limit would answer before the gate does; `body.ts` has the real one.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request, server) => fetch(request, { server }),
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

/**
 * @param certFile, keyFile PEM files.
 * @returns undefined without either.
 * @throws `bad_input` for one without the other; `unavailable` for a file that cannot be read.
 */
export function readTls(certFile?: string, keyFile?: string) {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? "tls_cert" : "tls_key";
    throw badInput(`${missing}: missing: a certificate and its key are given together`);
  }
  const read = (name: string, path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw unavailable(`${name}: ${path} cannot be read (${systemCode(error) ?? messageOf(error)})`);
    }
  };
  return { cert: read("tls_cert", certFile), key: read("tls_key", keyFile) };
}

/** The host part of a URL that reaches a server bound to `host`; loopback for an unspecified address. */
export function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::" || host === "[::]") return "[::1]";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

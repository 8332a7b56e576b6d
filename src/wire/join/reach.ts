/**
 * Where others reach the server of this machine: what a host says of itself when it joins, and a desk in its join strings.
 */
import { networkInterfaces } from "node:os";
import { badInput, conflict } from "../../lib/errors";
import { isLoopback, isUnspecified } from "../../lib/loopback";
import type { RunningServer } from "../../lib/running-server";
import { ADDRESS_FORM, isAddress } from "./join-string";

/** The server that runs here, as far as its address goes. */
export type LocalServer = Pick<RunningServer, "url" | "host" | "asks_certificate">;

/** The port of `svc serve`, where no server runs yet. */
const DEFAULT_PORT = "9939";

/** The addresses of this machine that others reach: those of IPv4, and where it has none, those of IPv6. */
export function ownAddresses(interfaces = networkInterfaces()): string[] {
  const all = Object.values(interfaces).flatMap((many) => many ?? []);
  const outward = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const of = (wanted: string) => outward.filter(({ family }) => family === wanted).map((one) => one.address);
  const found = of("IPv4");
  return found.length > 0 ? found : of("IPv6").map((address) => `[${address}]`);
}

/**
 * The address at which the desk reaches this host.
 *
 * @param server the server that runs here; null: it will run on the usual port, on every address.
 * @param desk `host:port` of the desk.
 * @param direct what the user says.
 * @throws `bad_input` when the user has to say it; `conflict` when the server cannot be reached as it runs.
 */
export function urlOfHost(
  server: LocalServer | null,
  desk: string,
  direct: string | undefined,
  addresses: readonly string[] = ownAddresses(),
): string {
  if (direct !== undefined) return direct;
  const url = new URL(server?.url ?? `https://0.0.0.0:${DEFAULT_PORT}`);
  const onSameMachine = isLoopback(new URL(`https://${desk}`).hostname);
  const host = server ? (server.host ?? url.hostname) : "0.0.0.0";
  if (onSameMachine)
    return `${url.protocol}//${isUnspecified(host) ? "127.0.0.1" : url.hostname}:${url.port}`;
  if (isLoopback(host)) {
    throw conflict(
      `the server of this host listens on ${host}, where no desk reaches it: start it with --host, or say where it is reached with --direct URL`,
    );
  }
  if (url.protocol === "http:") {
    throw conflict("the server of this host speaks plain http: start it without --insecure-http");
  }
  if (!isUnspecified(host)) return url.origin;
  const [first, ...others] = addresses.map((address) => `https://${address}:${url.port}`);
  if (first === undefined) throw conflict("this host has no address that a desk could reach");
  if (others.length === 0) return first;
  throw badInput(
    `direct: missing: this host has several addresses: say which one the desk reaches (${[first, ...others].join(", ")})`,
  );
}

/**
 * `host:port` at which hosts reach this desk.
 *
 * @param server the server that runs here, or null.
 * @param advertise what the user says.
 * @throws as {@link urlOfHost}.
 */
export function addressOfDesk(
  server: LocalServer | null,
  advertise: string | undefined,
  addresses: readonly string[] = ownAddresses(),
): string {
  if (server && !server.url.startsWith("https:")) {
    throw conflict(
      "the server of this desk speaks plain http: hosts join over TLS only; start it with --host, or with --tls",
    );
  }
  if (advertise !== undefined) {
    if (isAddress(advertise)) return advertise;
    throw badInput(`advertise: expected ${ADDRESS_FORM}`);
  }
  if (!server) {
    throw conflict(
      "no server runs here: start one with `svc serve --host`, or say where it will be with --advertise HOST:PORT",
    );
  }
  const url = new URL(server.url);
  const port = url.port || "443";
  if (!isUnspecified(server.host ?? url.hostname)) return `${url.hostname}:${port}`;
  const [first, ...others] = addresses.map((address) => `${address}:${port}`);
  if (first === undefined) {
    throw conflict(
      "this desk has no address that hosts could reach: connect it, or give --advertise HOST:PORT",
    );
  }
  if (others.length === 0) return first;
  throw badInput(
    `advertise: missing: this desk has several addresses: say which one hosts reach (${[first, ...others].join(", ")})`,
  );
}

/**
 * Checking the settings of a server: what passes here can be written into its configuration, a unit and a compose file, and be
 * read there as it was meant.
 */
import { badInput } from "../../lib/errors";
import { isLoopback, isUnspecified } from "../../lib/loopback";
import { certificateFaults } from "../../lib/server-bundle";
import { PIN_FORM, parsePin } from "../../lib/spki";
import { formatServerUrl, readServerUrl, type ServerUrl } from "../../wire/nats/server-url";
import { hasSafeWebSockets, isServerVersion, SAFE_WEBSOCKETS } from "../../wire/nats/server-version";
import type { GivenSettings } from "./operations/server";

export type Settings = ReturnType<typeof checkSettings>;

/** @throws a `bad_input` failure that names every field at fault. */
export function checkSettings(given: GivenSettings) {
  const found = [...faults(given)];
  if (found.length > 0) throw badInput(found.join("; "));
  const { operator, tls_cert, tls_key, websocket, websocket_port, max_connections } = given;
  // A server of ours has TLS always, also where its URL says nats.
  const addresses = given.url
    .map(readServerUrl)
    .filter((url): url is ServerUrl => url !== undefined)
    .map((url) => ({ ...url, scheme: "tls" as const }));
  const sockets = websocket
    ? addresses.map(({ host }) => ({ scheme: "wss" as const, host, port: websocket_port }))
    : [];
  return {
    operator,
    max_connections,
    version: given.server_version?.replace(/^v/, ""),
    port: addresses[0]?.port ?? 0,
    websocket_port: websocket ? websocket_port : null,
    hosts: [...new Set(addresses.map(({ host }) => host))],
    urls: [...new Set([...addresses, ...sockets].map(formatServerUrl))],
    /** Whether no other machine needs to reach it. */
    isLocal: addresses.every(({ host }) => isLoopback(host)),
    /** Paths on the server; null for a certificate in the bundle. */
    tls: tls_cert && tls_key ? { cert: tls_cert, key: tls_key } : null,
    pin: given.pin === undefined ? undefined : parsePin(given.pin),
    ca: given.ca,
  };
}

function* faults(given: GivenSettings): Generator<string> {
  const { url, websocket, websocket_port, server_version, tls_cert, ca, pin } = given;
  const urls = url.map(readServerUrl);
  if (urls.some((found) => !found || found.scheme === "wss" || isUnspecified(found.host))) {
    yield "url: expected tls://host[:port], with the name or address at which hosts reach the server (wss:// comes with --websocket)";
  }
  const ports = new Set(urls.flatMap((found) => found?.port ?? []));
  if (ports.size > 1) yield "url: expected one port in all of them: the server listens on one";
  if (server_version !== undefined && !isServerVersion(server_version)) {
    yield "server_version: expected what `nats-server --version` prints, such as 2.12.6";
  }
  if (websocket && server_version === undefined) {
    yield `server_version: missing: --websocket needs a server of ${SAFE_WEBSOCKETS}`;
  } else if (websocket && server_version !== undefined && !hasSafeWebSockets(server_version)) {
    yield `server_version: --websocket needs ${SAFE_WEBSOCKETS}`;
  }
  if (websocket && ports.has(websocket_port))
    yield "websocket_port: expected another port than that of the URL";
  yield* certificateFaults(given);
  if (tls_cert === undefined && (ca !== undefined || pin !== undefined)) {
    yield "ca, pin: they are for a certificate of yours: expected --tls-cert and --tls-key";
  }
  if (ca !== undefined && pin !== undefined) yield "ca, pin: expected one of them";
  if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) {
    yield "ca: expected certificates as PEM text";
  }
  if (pin !== undefined && parsePin(pin) === undefined) yield `pin: expected ${PIN_FORM}`;
}

/**
 * TURN URLs (RFC 7065): `turn:host[:port][?transport=udp|tcp]`, and `turns:` for TLS.
 */
import { isIP } from "node:net";
import { badInput } from "../../lib/errors";
import { isHostName } from "../../lib/host-name";
import type { GivenSettings } from "./operations";

export interface TurnUrl {
  /** Host name or IP address, the latter without brackets. */
  readonly host: string;
  readonly port: number;
  readonly transport: "udp" | "tcp" | "tls";
}

/**
 * Reads a URL.
 *
 * @throws a `bad_input` failure that says what was expected.
 */
export function parseTurnUrl(text: string): TurnUrl {
  const match = /^(turns?):(?:\[([^\]]*)\]|([^:?[\]]*))(?::(\d{1,5}))?(?:\?transport=(udp|tcp))?$/i.exec(
    text,
  );
  const [, scheme = "", bracketed, plain = "", port, transport] = match ?? [];
  const host = bracketed ?? plain;
  const isGood = bracketed === undefined ? isIP(host) === 4 || isHostName(host) : isIP(host) === 6;
  if (!match || !isGood || host.includes("%")) {
    throw badInput("url: expected turn:host[:port][?transport=udp|tcp] or turns:host[:port]");
  }
  const isSecure = scheme.toLowerCase() === "turns";
  if (isSecure && transport?.toLowerCase() === "udp") {
    throw badInput("url: turns: over UDP (DTLS) is not supported: expected ?transport=tcp");
  }
  const number = port === undefined ? (isSecure ? 5349 : 3478) : Number(port);
  if (number < 1 || number > 65_535) throw badInput("url: expected a port from 1 to 65535");
  return {
    host,
    port: number,
    transport: isSecure ? "tls" : transport?.toLowerCase() === "tcp" ? "tcp" : "udp",
  };
}

/** The `turn:` URLs and the `turns:` URL of a relay. */
export function turnUrls(relay: Pick<GivenSettings, "realm" | "listen_port" | "tls_port">) {
  const { realm, listen_port, tls_port } = relay;
  const host = isIP(realm) === 6 ? `[${realm}]` : realm;
  return {
    plain: ["udp", "tcp"].map((transport) => `turn:${host}:${listen_port}?transport=${transport}`),
    secure: `turns:${host}:${tls_port}?transport=tcp`,
  };
}

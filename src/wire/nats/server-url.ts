/**
 * URLs of NATS servers: `tls://host:port`, `wss://host:port`, and `nats://host:port` without TLS, on this machine alone.
 */
import { isHostName } from "../../lib/host-name";
import { isIP } from "../../lib/is-ip";
import { isLoopback } from "../../lib/loopback";

export interface ServerUrl {
  readonly scheme: "tls" | "wss" | "nats";
  /** Host name or IP address, the latter without brackets. */
  readonly host: string;
  readonly port: number;
}

const PORTS = { tls: 4222, nats: 4222, wss: 443 } as const;

/** Undefined for what is no such URL, and for `nats://` to another machine: the connection would be readable. */
export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = readServerUrl(text);
  return url?.scheme === "nats" && !isLoopback(url.host) ? undefined : url;
}

/** As {@link parseServerUrl}, with `nats://` to any machine. */
export function readServerUrl(text: string): ServerUrl | undefined {
  const match = /^(tls|wss|nats):\/\/(?:\[([\da-f:.]+)\]|([^:/?#@[\]]+))(?::(\d{1,5}))?\/?$/i.exec(text);
  if (!match) return undefined;
  const [, name = "", bracketed, plain = "", digits] = match;
  const scheme = name.toLowerCase() as ServerUrl["scheme"];
  const host = (bracketed ?? plain).toLowerCase();
  const isGood = bracketed === undefined ? isIP(host) === 4 || isHostName(host) : isIP(host) === 6;
  const port = digits === undefined ? PORTS[scheme] : Number(digits);
  return isGood && port >= 1 && port <= 65_535 ? { scheme, host, port } : undefined;
}

/** A URL as it is stored. */
export const formatServerUrl = ({ scheme, host, port }: ServerUrl): string =>
  `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

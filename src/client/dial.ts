/**
 * Opening a connection to a server: name, socket, and certificate. No connection is used before its certificate has passed.
 */
import { lookup as lookupOfSystem } from "node:dns";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { deadline } from "../lib/deadline";
import { hasNoDescriptor } from "../lib/descriptors";
import { messageOf, systemCode } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { hasPin } from "../lib/spki";
import { RemoteError, type RemoteServer } from "./carrier";

/** How the certificate of a server is checked, and what it gets to see. */
export type TlsCheck = Pick<RemoteServer, "trust" | "identity"> & {
  /** Dialled in place of what the name is looked up to. */
  readonly address?: string;
};

/** What {@link RemoteError} says where the server ended the connection. */
export const CLOSED = "connection closed";

/** What {@link RemoteError} says where the certificate has none of the pins, of which some are of a certificate; or all of keys. */
export const NOT_PINNED = {
  certificate: "the certificate is not the pinned one",
  key: "the key is not the pinned one",
} as const;

/**
 * The certificate, DER, that the https server at `url` shows. Nothing else is sent or asked.
 *
 * @throws a {@link RemoteError} when there is no connection, or `trust` does not take the certificate.
 */
export async function certificateAt(
  url: string,
  trust: RemoteServer["trust"],
  timeoutMs: number,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const socket = dial(new URL(url), { trust }, () => {
    if (socket instanceof TLSSocket) resolve(socket.getPeerCertificate().raw);
  })
    .on("error", (error) => reject(error instanceof RemoteError ? error : unreachable(dialError(error))))
    .once("close", () => reject(unreachable(CLOSED)));
  const late = () => new RemoteError("timeout", `timeout after ${timeoutMs / 1_000} s`, false);
  try {
    return await deadline(promise, { ms: timeoutMs, late });
  } finally {
    socket.destroy();
  }
}

const unreachable = (message: string) => new RemoteError("unreachable", message, false);

/**
 * A connection to the server at `url`.
 *
 * @param ready called once a request may be sent; with the pin that the certificate has, where it must have one.
 */
export function dial(
  url: URL,
  { trust, identity, address }: TlsCheck,
  ready: (pin?: string) => void,
): Socket {
  const isPlain = url.protocol === "http:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const where = { host: address ?? host, port: Number(url.port || (isPlain ? 80 : 443)), lookup };
  if (isPlain) return connect(where, () => ready());
  const socket: TLSSocket = connectTls({
    ...where,
    // The name that the certificate must have, and that is sent to the server (RFC 6066 section 3: never an address).
    ...(address !== undefined && !isIP(host) && { servername: host }),
    rejectUnauthorized: trust.kind === "system" || trust.kind === "ca",
    ...(trust.kind === "ca" && { ca: trust.pem }),
    ...identity,
  });
  return socket.once("secureConnect", () => {
    if (trust.kind === "pin") {
      const { raw } = socket.getPeerCertificate();
      const pin = trust.pins.find((one) => hasPin(raw, one));
      if (pin !== undefined) return ready(pin);
      const isOfKey = trust.pins.length > 0 && trust.pins.every((one) => one.startsWith("spki:"));
      socket.destroy(unreachable(NOT_PINNED[isOfKey ? "key" : "certificate"]));
    } else if (trust.kind === "any" || socket.authorized) ready();
    else socket.destroy(unreachable("the certificate is not trusted"));
  });
}

/**
 * The addresses of a name, without a thread for it.
 *
 * getaddrinfo(3) blocks one of a few threads, as many as there are processors: a poll of a thousand names would look them up
 * one after the other, and a name without an answer would delay the others, and in the end the process.
 */
export const lookup: LookupFunction = (name, options, done) => {
  // The system also knows names that the name servers do not (nsswitch.conf(5)).
  const askSystem = () => lookupOfSystem(name, options, done);
  if (process.platform !== "linux" || name.endsWith(".local")) return askSystem();
  Bun.dns.lookup(name, { backend: "c-ares" }).then(
    (found) => {
      const [first] = found;
      if (!first) askSystem();
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    },
    (error) => (systemCode(error) === "DNS_ETIMEOUT" ? done(error, "") : askSystem()),
  );
};

/** What {@link RemoteError} says where this process may open no more. */
export const NO_DESCRIPTOR = "too many open files here";

/** What Bun says in place of `EMFILE` (https://github.com/oven-sh/bun/pull/36140), also of a name. */
const IN_ITS_PLACE = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ESERVFAIL"];

/** Codes of the system, of name lookup (getaddrinfo(3)) and of TLS, in words. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "no route to host",
  ETIMEDOUT: "connection timed out",
  ENOTFOUND: "name not found",
  EAI_AGAIN: "name not found",
  DNS_ETIMEOUT: "no answer about the name",
  ERR_SSL_WRONG_VERSION_NUMBER: "no TLS at this port",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another name",
  CERT_HAS_EXPIRED: "the certificate has expired",
};

/** Whether `message`, of {@link dialError}, may stand for {@link NO_DESCRIPTOR}: by the time an error is heard, another file may be closed. */
export const mayLackDescriptor = (message: string): boolean =>
  message === NO_DESCRIPTOR || IN_ITS_PLACE.some((code) => message === (WORDS[code] ?? code));

/** Why there is no connection, in words. */
export function dialError(error: unknown): string {
  const code = systemCode(error) ?? "";
  if (code === "EMFILE" || (IN_ITS_PLACE.includes(code) && hasNoDescriptor())) return NO_DESCRIPTOR;
  const known = WORDS[code];
  if (known) return known;
  // The server says it of the certificate that it was not shown, or does not take.
  if (/ALERT_.*CERTIFICATE/.test(code)) return "it wants a client certificate, which svc does not have";
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `the certificate is not trusted (${printable(code, 60)})`;
  return printable(code || messageOf(error), 120);
}

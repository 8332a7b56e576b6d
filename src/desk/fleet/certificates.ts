/**
 * The certificates of hosts, for a client that is given whom to trust and cannot pin a key, such as Prometheus.
 *
 * The promise: each is the one that its host has just shown to a connection which the address book trusts; nothing that a host says
 * is in it. None lets its host speak for another one of the address book.
 */
import type { X509Certificate } from "node:crypto";
import type * as v from "valibot";
import { RemoteError } from "../../client/carrier";
import { certificateAt } from "../../client/dial";
import { isLoopback } from "../../lib/loopback";
import { patienceFor, runPool } from "../../lib/pool";
import { printable } from "../../lib/sanitize";
import { isFor, spkiPin } from "../../lib/spki";
import type { certificate } from "../../trust/operations/tls";
import { type Host, linkedHost, serverOf } from "./host";

/** How many hosts are asked at once. */
const SLOTS = 16;

/** The certificate of a host, PEM, or why there is none to trust; null where it is reached over its link, and needs none. */
type ShownCertificate =
  | { readonly label: string; readonly ok: true; readonly result: Certificate | null }
  | { readonly label: string; readonly ok: false; readonly error: string };

/** As `svc tls cert` has it. */
type Certificate = Readonly<v.InferOutput<typeof certificate.output>>;

/**
 * The certificates of `hosts`, in their order. Never throws: an error is that host's result.
 *
 * @param all the whole address book.
 */
export function certificatesOf(
  hosts: readonly Host[],
  all: readonly Host[],
  timeoutMs: number,
): Promise<ShownCertificate[]> {
  const pool = { slots: SLOTS, patienceMs: patienceFor(timeoutMs) };
  return runPool(hosts, pool, async (host) => {
    const { label } = host;
    if (linkedHost(host.base_url) !== undefined) return { label, ok: true as const, result: null };
    try {
      return { label, ok: true as const, result: await certificateOf(host, all, timeoutMs) };
    } catch (error) {
      if (error instanceof RemoteError) return { label, ok: false as const, error: error.message };
      throw error;
    }
  });
}

async function certificateOf(host: Host, all: readonly Host[], timeoutMs: number): Promise<Certificate> {
  const { base_url } = host;
  if (!base_url.startsWith("https:")) throw untrustworthy("it speaks plain http, and has no certificate");
  const shown = await certificateAt(base_url, serverOf(host).trust, timeoutMs);
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const certificate = new X509Certificate(shown);
  if (certificate.ca || !hasExtensions(certificate.raw)) {
    throw untrustworthy(
      "its certificate is an authority (CA:TRUE, or no version 3), which could vouch for any host",
    );
  }
  const pin = spkiPin(shown);
  const others = all.filter((one) => one.label !== host.label && linkedHost(one.base_url) === undefined);
  const other = others.find((one) => speaksFor(certificate, pin, host, one));
  if (other)
    throw untrustworthy(
      `its certificate is also for ${hostOf(other)}, the host ${printable(other.label, 130)}`,
    );
  const names = certificate.subjectAltName?.split(", ") ?? [];
  return {
    pem: certificate.toString(),
    pin,
    names: names.map((name) => printable(name.replace(/^(DNS|IP Address):/, ""), 260)),
    valid_until: new Date(certificate.validTo).toISOString(),
  };
}

const untrustworthy = (why: string) => new RemoteError("answer", why, true);

/** Whether the certificate of `host` is one for `other` too, which is another machine. What is on loopback is this one. */
function speaksFor(certificate: X509Certificate, pin: string, host: Host, other: Host): boolean {
  const name = hostOf(other);
  if (isLoopback(name) || name === hostOf(host) || other.pin === pin || other.next_pin === pin) return false;
  return isFor(certificate, name);
}

const hostOf = ({ base_url }: Host) => new URL(base_url).hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * Whether a certificate, DER, is of version 3: one of an earlier version cannot say that it is no authority, and some clients
 * take it for one. The version is the first thing in it, unless it is 1 (RFC 5280 section 4.1).
 */
function hasExtensions(der: Uint8Array): boolean {
  const content = (at: number) => at + 2 + ((der[at + 1] ?? 0) & 0x80 ? (der[at + 1] ?? 0) & 0x7f : 0);
  const version = content(content(0));
  return Buffer.from(der.subarray(version, version + 5)).equals(Buffer.from("a003020102", "hex"));
}

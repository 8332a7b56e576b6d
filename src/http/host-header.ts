/**
 * The check of the `Host` header. Any page can point a name of its own at the address of this server and have a browser talk
 * to it (DNS rebinding); its requests carry that name. Where `Host` is an address, no name was pointed anywhere.
 */
import ipaddr from "ipaddr.js";
import { printable } from "../lib/sanitize";
import type { Step } from "./exchange";
import { errorResponse } from "./responses";

/** A host and perhaps a port (RFC 9112 section 3.2), so that nothing else gets into the address of a request. */
const HOST = /^(\[[\da-f:.]+\]|[a-z\d._-]+)(?::(\d*))?$/;

/** The longest name in DNS, in characters (RFC 1035 section 2.3.4). */
const MAX_NAME = 255;

const MAX_PORT = 65_535;

/**
 * Refuses a request to a host name that the server does not answer to. One without the header names nobody: HTTP/1.0 allows
 * that, load balancers check so whether a server lives, and no browser does.
 */
export const checkHost =
  (answersTo: (host: string) => boolean): Step =>
  (next) =>
  (exchange) => {
    const host = exchange.request.raw.headers.get("host");
    if (host === null || exchange.link || answersTo(host)) return next(exchange);
    exchange.refusal = "misdirected";
    const name = JSON.stringify(printable(nameIn(host) || host, MAX_NAME));
    return errorResponse(
      421,
      `this server does not answer to the host name ${name}: to accept it, start svc with --allow-host NAME`,
    );
  };

/**
 * Which hosts a server answers to: addresses, `localhost` and its subdomains (which nobody can point elsewhere: RFC 6761
 * section 6.3), and its own names. Ports do not matter.
 *
 * @param own the server's own names.
 * @param certified whether a name in lower case is one of its certificate.
 */
export function createHostCheck(
  own: Iterable<string>,
  certified: (name: string) => boolean = () => false,
): (host: string) => boolean {
  const names = new Set(["localhost", ...Array.from(own, nameIn)]);
  names.delete("");
  const answersTo = (host: string) => {
    const name = nameIn(host);
    return isAddress(name) || names.has(name) || name.endsWith(".localhost") || certified(name);
  };
  // Nearly every request names the same host as the one before it.
  let last = { host: "", answers: false };
  return (host) => {
    if (host !== last.host) last = { host, answers: answersTo(host) };
    return last.answers;
  };
}

/** The name in a `Host` header, in lower case, without a port and the final dot; empty where there is none. */
function nameIn(host: string): string {
  const [, name = "", port = ""] = HOST.exec(host.toLowerCase()) ?? [];
  return Number(port) > MAX_PORT ? "" : name.replace(/\.$/, "");
}

function isAddress(name: string): boolean {
  const inBrackets = /^\[(.*)\]$/.exec(name)?.[1];
  return inBrackets === undefined
    ? ipaddr.IPv4.isValidFourPartDecimal(name)
    : ipaddr.IPv6.isValid(inBrackets);
}

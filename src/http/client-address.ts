/**
 * Who a request comes from: the client that limits are counted for.
 */
import ipaddr from "ipaddr.js";
import { badInput, cancelled } from "../lib/errors";
import type { Step } from "./exchange";
import { failureResponse } from "./responses";

/**
 * Finds out who asks. A connection that its client has reset has no other end any more: what came over it is not begun, or
 * a change would be nobody's, and nobody's guesses would be counted.
 */
export const identifyClient =
  (clients: ClientResolver): Step =>
  (next) =>
  (exchange) => {
    const { raw } = exchange.request;
    if (exchange.link) {
      exchange.client = exchange.link.client;
      return next(exchange);
    }
    const peer = exchange.server.requestIP(raw);
    // Nobody receives this answer.
    if (peer === null) return failureResponse(cancelled("the connection ended before the request began"));
    exchange.peer = peer;
    exchange.client = clients.resolve(peer.address, raw.headers.get("x-forwarded-for"));
    return next(exchange);
  };

/** Finds the client behind a connection and its `X-Forwarded-For`. */
export interface ClientResolver {
  /** Whether `peer` is a proxy whose `X-Forwarded-For` counts. */
  isProxy(peer: string): boolean;
  /**
   * @param peer address of the other end of the connection.
   * @param forwarded the `X-Forwarded-For` header, which counts only when `peer` is a trusted proxy.
   */
  resolve(peer: string, forwarded: string | null): Client;
}

export interface Client {
  /** An IP address for a person to read; `unknown` where there is none. */
  readonly address: string;
  /** What limits count by: the IPv4 address or the IPv6 /64 (RFC 6177: the smallest block that one site is given). */
  readonly key: string;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Clients seen recently, so that the address of a busy one is not parsed at every request. */
const CACHE_SIZE = 1_024;

/**
 * @param trustedProxies addresses and CIDR blocks whose `X-Forwarded-For` counts.
 * @throws a `bad_input` failure naming a value that is neither.
 */
export function createClientResolver(trustedProxies: readonly string[]): ClientResolver {
  const trusted = trustedProxies.map(parseBlock);
  const cache = new Map<string, Client>();

  const isTrusted = (address: Address) =>
    trusted.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits]));

  const clientAt = (text: string): Client => {
    const known = cache.get(text);
    if (known) return known;
    const client = describe(parseAddress(text));
    if (cache.size >= CACHE_SIZE) cache.clear();
    cache.set(text, client);
    return client;
  };

  return {
    isProxy(peer) {
      const address = trusted.length > 0 ? parseAddress(peer) : undefined;
      return address !== undefined && isTrusted(address);
    },
    resolve(peer, forwarded) {
      if (forwarded === null || trusted.length === 0) return clientAt(peer);
      let hop: Address | undefined = parseAddress(peer);
      // Each proxy appends the address it saw, so nothing to the left of the last untrusted hop can be trusted.
      const hops = forwarded.split(",").slice(-MAX_HOPS);
      while (hop !== undefined && isTrusted(hop)) {
        const next = parseAddress(hops.pop()?.trim() ?? "");
        if (next === undefined) break;
        hop = next;
      }
      return describe(hop);
    },
  };
}

/** The longest chain of proxies that is followed. */
const MAX_HOPS = 32;

function parseBlock(text: string): [Address, number] {
  try {
    // ipaddr.js also reads shortened, octal and hexadecimal IPv4, which hardly anybody means.
    if (!text.includes(":") && !ipaddr.IPv4.isValidFourPartDecimal(text.replace(/\/.*$/, "")))
      throw new Error(text);
    if (text.includes("/")) {
      const [network, bits] = ipaddr.parseCIDR(text);
      const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress();
      if (isMapped && bits >= 96) return [network.toIPv4Address(), bits - 96];
      return [network, bits];
    }
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  } catch {
    throw badInput(`trust_proxy: expected an IP address or a CIDR block but found "${text}"`);
  }
}

/** Undefined for text that is no address. Brackets, a port and a zone are removed. */
function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/^\[([^\]]*)\](:\d+)?$/, "$1").replace(/%.*$/, "");
  const host = /^\d+\.\d+\.\d+\.\d+:\d+$/.test(bare) ? bare.slice(0, bare.indexOf(":")) : bare;
  if (!host.includes(":") && !ipaddr.IPv4.isValidFourPartDecimal(host)) return undefined;
  return ipaddr.isValid(host) ? ipaddr.process(host) : undefined;
}

function describe(address: Address | undefined): Client {
  const text = address?.toString() ?? "unknown";
  if (!(address instanceof ipaddr.IPv6)) return { address: text, key: text };
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return { address: text, key: `${network.join(":")}::/64` };
}

/**
 * The addresses that a relay must never send to: every special-purpose range of IANA, and one of a cloud.
 *
 * Ranges are whole prefixes, written first-last: older coturn silently ignores CIDR, and compares IPv6 addresses byte by
 * byte, which is right for prefixes only.
 */
import ipaddr from "ipaddr.js";

/**
 * IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), multicast (RFC 5771, RFC 4291), and the retired IPv6
 * blocks that hold an IPv4 address. None of them has a legitimate peer of a public relay's client.
 *
 * `::` itself is not among them: coturn refuses it anyway, and older versions read a range that begins with it as every
 * address.
 */
export const BLOCKS: ReadonlyArray<{ readonly cidr: string; readonly what: string }> = [
  { cidr: "0.0.0.0/8", what: "this network, RFC 791" },
  { cidr: "10.0.0.0/8", what: "private, RFC 1918" },
  { cidr: "100.64.0.0/10", what: "carrier-grade NAT, RFC 6598" },
  { cidr: "127.0.0.0/8", what: "loopback, RFC 1122" },
  { cidr: "169.254.0.0/16", what: "link-local and cloud metadata, RFC 3927" },
  { cidr: "168.63.129.16/32", what: "services of the host in Azure, which look public" },
  { cidr: "172.16.0.0/12", what: "private, RFC 1918" },
  { cidr: "192.0.0.0/24", what: "IETF protocol assignments, RFC 6890" },
  { cidr: "192.0.2.0/24", what: "documentation, RFC 5737" },
  { cidr: "192.31.196.0/24", what: "AS112, RFC 7535" },
  { cidr: "192.52.193.0/24", what: "AMT, RFC 7450" },
  { cidr: "192.88.99.0/24", what: "6to4 relay anycast, RFC 7526" },
  { cidr: "192.168.0.0/16", what: "private, RFC 1918" },
  { cidr: "192.175.48.0/24", what: "AS112 direct delegation, RFC 7534" },
  { cidr: "198.18.0.0/15", what: "benchmarking, RFC 2544" },
  { cidr: "198.51.100.0/24", what: "documentation, RFC 5737" },
  { cidr: "203.0.113.0/24", what: "documentation, RFC 5737" },
  { cidr: "224.0.0.0/4", what: "multicast, RFC 5771" },
  { cidr: "240.0.0.0/4", what: "reserved and broadcast, RFC 1112, RFC 8190" },
  { cidr: "::1/128", what: "loopback, RFC 4291" },
  ...withoutUnspecified("IPv4-compatible, RFC 4291"),
  { cidr: "::ffff:0:0/96", what: "IPv4-mapped, RFC 4291" },
  { cidr: "::ffff:0:0:0/96", what: "IPv4-translated, RFC 7915" },
  { cidr: "64:ff9b::/96", what: "NAT64, RFC 6052" },
  { cidr: "64:ff9b:1::/48", what: "local NAT64, RFC 8215" },
  { cidr: "100::/64", what: "discard-only, RFC 6666" },
  { cidr: "100:0:0:1::/64", what: "dummy prefix, RFC 9780" },
  { cidr: "2001::/23", what: "IETF protocol assignments, RFC 2928" },
  { cidr: "2001::/32", what: "Teredo, RFC 4380" },
  { cidr: "2001:db8::/32", what: "documentation, RFC 3849" },
  { cidr: "2002::/16", what: "6to4, RFC 3056" },
  { cidr: "2620:4f:8000::/48", what: "AS112 direct delegation, RFC 7534" },
  { cidr: "3fff::/20", what: "documentation, RFC 9637" },
  { cidr: "5f00::/16", what: "segment routing, RFC 9602" },
  { cidr: "fc00::/7", what: "unique local, RFC 4193" },
  { cidr: "fe80::/10", what: "link-local, RFC 4291" },
  { cidr: "fec0::/10", what: "site-local, RFC 3879" },
  { cidr: "ff00::/8", what: "multicast, RFC 4291" },
];

/** `first-last` of a block. */
export function rangeOf(cidr: string): string {
  const kind = cidr.includes(":") ? ipaddr.IPv6 : ipaddr.IPv4;
  return `${kind.networkAddressFromCIDR(cidr)}-${kind.broadcastAddressFromCIDR(cidr)}`;
}

/** `::/96` without `::` and `::1`, by halving: ::2/127, ::4/126, … ::8000:0/97. */
function withoutUnspecified(what: string) {
  return Array.from({ length: 31 }, (_, at) => {
    const bits = 2 ** (at + 1);
    const [high, low] = [Math.floor(bits / 0x10000), bits % 0x10000];
    return { cidr: `::${high.toString(16)}:${low.toString(16)}/${127 - at}`, what };
  });
}

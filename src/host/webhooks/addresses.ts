/**
 * Which addresses are public: no webhook makes this host ask others, which only it or its network reaches.
 */
import ipaddr from "ipaddr.js";

/** Services of the host in Azure, which look public. */
const AZURE = "168.63.129.16";

/** The only range of public IPv6 addresses so far (RFC 4291 section 2.4, IANA). */
const GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an address of a socket is public: neither loopback, private, link-local, unique local, of a carrier's NAT, nor of any
 * other special-purpose range (RFC 6890), and not one of those within IPv6.
 */
export function isPublic(text: string): boolean {
  const bare = text.replace(/%.*$/s, "");
  if (!ipaddr.isValid(bare)) return false;
  const address = ipaddr.process(bare);
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv4 ? address.toString() !== AZURE : address.match(GLOBAL);
}

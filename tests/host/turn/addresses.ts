/**
 * Random addresses, for properties of ranges.
 */
import fc from "fast-check";
import ipaddr from "ipaddr.js";

/** A random address of the block. */
export function addressIn(cidr: string): fc.Arbitrary<string> {
  const [base, bits] = ipaddr.parseCIDR(cidr);
  const bytes = base.toByteArray();
  return fc.uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((random) => {
    const mixed = bytes.map((byte, at) => {
      const fixed = Math.min(8, Math.max(0, bits - at * 8));
      const mask = (0xff << (8 - fixed)) & 0xff;
      return (byte & mask) | ((random[at] ?? 0) & ~mask & 0xff);
    });
    return ipaddr.fromByteArray(mixed).toString();
  });
}

/** The denied ranges: all of IANA's, as coturn of any version reads them. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { BLOCKS, rangeOf } from "../../../src/host/turn/denied-peers";
import { addressIn } from "./addresses";
import { PUBLIC, SPECIAL_PURPOSE } from "./iana";

const ranges = BLOCKS.map(({ cidr }) => rangeOf(cidr).split("-").map(bytesOf));

function bytesOf(address: string): number[] {
  return ipaddr.parse(address).toByteArray();
}

/** As coturn 4.6 compares: IPv4 as numbers, IPv6 byte by byte. */
function isInRange([first, last]: readonly number[][], address: readonly number[]): boolean {
  if (!first || !last || first.length !== address.length) return false;
  if (address.length === 16)
    return address.every((byte, at) => byte >= (first[at] ?? 0) && byte <= (last[at] ?? 0));
  const number = (bytes: readonly number[]) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  return number(address) >= number(first) && number(address) <= number(last);
}

const isDenied = (address: string) => ranges.some((range) => isInRange(range, bytesOf(address)));

describe("any address of a special-purpose block is denied:", () => {
  for (const cidr of SPECIAL_PURPOSE) {
    // coturn refuses `::` by itself, and older versions take a range that begins with it for everything.
    if (cidr === "::/128") continue;
    test(cidr, () => {
      fc.assert(
        fc.property(addressIn(cidr), (address) => {
          fc.pre(address !== "::");
          expect(isDenied(address)).toBe(true);
        }),
        { numRuns: 200 },
      );
    });
  }
});

test("addresses next to those blocks are not denied", () => {
  expect(PUBLIC.filter(isDenied)).toEqual([]);
});

test("no range begins with the unspecified IPv6 address", () => {
  expect(BLOCKS.map(({ cidr }) => rangeOf(cidr)).filter((range) => range.startsWith("::-"))).toEqual([]);
});

test("every range is one whole prefix", () => {
  for (const { cidr } of BLOCKS) {
    const [first = "", last = ""] = rangeOf(cidr).split("-");
    const [base, bits] = ipaddr.parseCIDR(cidr);
    expect(base.toString()).toBe(first);
    expect(ipaddr.parse(first).match(base, bits) && ipaddr.parse(last).match(base, bits)).toBe(true);
  }
});

test("the host services of Azure are denied, though their address looks public", () => {
  expect(isDenied("168.63.129.16")).toBe(true);
  expect(isDenied("168.63.129.15")).toBe(false);
});

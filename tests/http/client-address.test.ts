import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createClientResolver } from "../../src/http/client-address";

const key = (peer: string, forwarded: string | null = null, trusted: string[] = []) =>
  createClientResolver(trusted).resolve(peer, forwarded).key;

describe("a client is", () => {
  test("its IPv4 address", () => expect(key("192.0.2.7")).toBe("192.0.2.7"));

  test("the /64 of its IPv6 address", () => {
    expect(key("2001:db8:1:2:aaaa::1")).toBe(key("2001:db8:1:2::2"));
    expect(key("2001:db8:1:2::1")).not.toBe(key("2001:db8:1:3::1"));
  });

  test("IPv4 when IPv4 is mapped into IPv6", () => {
    expect(key("::ffff:192.0.2.7")).toBe("192.0.2.7");
    expect(key("::ffff:c000:207")).toBe("192.0.2.7");
  });

  test("the same with and without a zone", () => expect(key("fe80::1%eth0")).toBe(key("fe80::1")));
});

describe("X-Forwarded-For", () => {
  const PROXY = ["10.0.0.0/8"];

  test("does not count from a peer that is not trusted", () => {
    expect(key("192.0.2.7", "198.51.100.1")).toBe("192.0.2.7");
    expect(key("192.0.2.7", "198.51.100.1", PROXY)).toBe("192.0.2.7");
  });

  test("is read right to left to the first hop that is not trusted", () => {
    expect(key("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", PROXY)).toBe("198.51.100.1");
  });

  test("stops at what is not an address: the last trusted hop is the client", () => {
    expect(key("10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", PROXY)).toBe("10.0.0.2");
    expect(key("10.0.0.1", "", PROXY)).toBe("10.0.0.1");
  });

  test("may carry ports and brackets", () => {
    expect(key("10.0.0.1", "198.51.100.1:4711", PROXY)).toBe("198.51.100.1");
    expect(key("10.0.0.1", "[2001:db8::1]:4711", PROXY)).toBe("2001:db8:0:0::/64");
  });

  test("counts from a trusted proxy that comes as IPv4 mapped into IPv6", () => {
    expect(key("::ffff:10.0.0.1", "198.51.100.1", PROXY)).toBe("198.51.100.1");
  });

  test("never throws and never yields more than an address, whatever it holds", () => {
    const resolver = createClientResolver(PROXY);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (header) => {
        const { address, key: counted } = resolver.resolve("10.0.0.1", header);
        expect(address.length).toBeLessThan(46);
        expect(counted).toMatch(/^[0-9a-f.:]+(\/64)?$/);
      }),
    );
  });
});

test("a trusted proxy that is not an address or a block is refused by name", () => {
  for (const block of ["10.0.0.0/33", "proxy.example", "", "10.0.0/8"]) {
    expect(() => createClientResolver([block])).toThrow(
      "trust_proxy: expected an IP address or a CIDR block",
    );
  }
});

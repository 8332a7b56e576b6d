/** Which address a host and a desk give to each other. */
import { describe, expect, test } from "bun:test";
import { addressOfDesk, ownAddresses, urlOfHost } from "../../../src/wire/join/reach";

const ONE = ["10.0.0.5"];
const TWO = ["10.0.0.5", "172.17.0.1"];
const DESK = "10.0.0.9:9939";
const everywhere = { url: "https://127.0.0.1:8443", host: "0.0.0.0" };

describe("a host", () => {
  test("with a server on one address gives that", () => {
    expect(urlOfHost({ url: "https://10.0.0.7:9939", host: "10.0.0.7" }, DESK, undefined, TWO)).toBe(
      "https://10.0.0.7:9939",
    );
  });

  test("with a server on every address gives the only one of the machine; with several, the user has to choose", () => {
    expect(urlOfHost(everywhere, DESK, undefined, ONE)).toBe("https://10.0.0.5:8443");
    expect(() => urlOfHost(everywhere, DESK, undefined, TWO)).toThrow(
      "this host has several addresses: say which one the desk reaches (https://10.0.0.5:8443, https://172.17.0.1:8443)",
    );
    expect(() => urlOfHost(everywhere, DESK, undefined, [])).toThrow("no address that a desk could reach");
    expect(urlOfHost(everywhere, DESK, "https://press.example", TWO)).toBe("https://press.example");
  });

  test("without a server gives the usual port", () => {
    expect(urlOfHost(null, DESK, undefined, ONE)).toBe("https://10.0.0.5:9939");
  });

  test("with a server that no desk reaches says so, unless the desk is on the same machine", () => {
    const local = { url: "https://127.0.0.1:9939", host: "127.0.0.1" };
    expect(() => urlOfHost(local, DESK, undefined, ONE)).toThrow(
      "listens on 127.0.0.1, where no desk reaches",
    );
    expect(urlOfHost(local, "127.0.0.1:1", undefined, ONE)).toBe("https://127.0.0.1:9939");
    expect(urlOfHost(everywhere, "[::1]:1", undefined, TWO)).toBe("https://127.0.0.1:8443");
    const plain = { url: "http://10.0.0.5:9939", host: "10.0.0.5" };
    expect(() => urlOfHost(plain, DESK, undefined, ONE)).toThrow("speaks plain http");
  });
});

describe("a desk", () => {
  test("gives the address of its server; with several, the user has to choose", () => {
    expect(addressOfDesk({ url: "https://10.0.0.9:9939", host: "10.0.0.9" }, undefined, TWO)).toBe(DESK);
    expect(addressOfDesk(everywhere, undefined, ONE)).toBe("10.0.0.5:8443");
    expect(() => addressOfDesk(everywhere, undefined, TWO)).toThrow("say which one hosts reach");
    expect(() => addressOfDesk(everywhere, undefined, [])).toThrow("no address that hosts could reach");
    expect(addressOfDesk(everywhere, "desk.example:1", TWO)).toBe("desk.example:1");
    expect(addressOfDesk(null, "[fd00::1]:9939")).toBe("[fd00::1]:9939");
  });

  test("needs a server, or the address of one, and TLS", () => {
    expect(() => addressOfDesk(null, undefined)).toThrow("no server runs here");
    expect(() => addressOfDesk({ url: "http://127.0.0.1:9939" }, "desk:1")).toThrow("speaks plain http");
    for (const wrong of ["desk", "desk:0", "desk:99999", "a b:1", "https://desk:1", "::1:9939", "desk:1/x"]) {
      expect(() => addressOfDesk(everywhere, wrong)).toThrow("advertise: expected HOST:PORT");
    }
  });
});

test("the addresses of a machine are those of IPv4 that others reach, else those of IPv6", () => {
  const one = (address: string, family: "IPv4" | "IPv6", internal = false) => {
    const common = { address, netmask: "", mac: "", internal, cidr: null };
    return family === "IPv4" ? { ...common, family } : { ...common, family, scopeid: 0 };
  };
  const loopback = [one("127.0.0.1", "IPv4", true), one("::1", "IPv6", true)];
  const v6 = [one("fe80::1", "IPv6"), one("fd00::1", "IPv6")];
  expect(ownAddresses({ lo: loopback, a: [one("10.0.0.5", "IPv4"), ...v6] })).toEqual(["10.0.0.5"]);
  expect(ownAddresses({ lo: loopback, a: v6 })).toEqual(["[fd00::1]"]);
  expect(ownAddresses({ lo: loopback })).toEqual([]);
});

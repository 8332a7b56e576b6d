/** What a relay may be set to, and what is refused with a reason. */
import { describe, expect, test } from "bun:test";
import type { GivenSettings } from "../../../src/host/turn/operations";
import { checkSettings } from "../../../src/host/turn/settings";
import { given } from "./support";

describe("refused, with the field in the message:", () => {
  const cases: ReadonlyArray<readonly [string, Partial<GivenSettings>, string]> = [
    ["an empty realm", { realm: "" }, "realm:"],
    ["a realm with a space", { realm: "a b" }, "realm:"],
    ["a realm with a line feed", { realm: "a\nuser=x:y" }, "realm:"],
    ["a realm that is a URL", { realm: "turn:a.example" }, "realm:"],
    ["a realm that only looks like an address", { realm: "10.0.0.256" }, "realm:"],
    ["a realm with a zone", { realm: "fe80::1%eth0" }, "realm:"],
    ["a realm that is this machine to everybody", { realm: "127.0.0.1" }, "realm:"],
    ["a realm that is any address", { realm: "0.0.0.0" }, "realm:"],
    ["a realm that is any IPv6 address", { realm: "::" }, "realm:"],
    ["a realm that clouds have their metadata at", { realm: "169.254.169.254" }, "realm:"],
    ["a user with a colon", { user: "a:b" }, "user:"],
    ["a user with a quote", { user: '"a' }, "user:"],
    ["a secret with a space", { secret: "a b" }, "secret:"],
    ["a secret with a line feed", { secret: "a\nno-auth" }, "secret:"],
    ["a secret that is not ASCII", { secret: "pässword" }, "secret:"],
    ["a secret that coturn takes for a hash", { secret: "0xabc" }, "secret:"],
    ["an empty secret", { secret: "" }, "secret:"],
    ["one port for both", { tls_port: 3478 }, "listen_port, tls_port:"],
    ["relay ports in the wrong order", { min_port: 50_200, max_port: 50_000 }, "min_port, max_port:"],
    ["a relay range of a few ports", { min_port: 50_000, max_port: 50_003 }, "min_port, max_port:"],
    ["relay ports of the system", { min_port: 1_000 }, "min_port:"],
    ["a port within the relay range", { listen_port: 50_100 }, "listen_port:"],
    ["a certificate without its key", { tls_cert: "/c.pem" }, "tls_cert, tls_key:"],
    ["a key without its certificate", { tls_key: "/k.pem" }, "tls_cert, tls_key:"],
    ["a relative path", { tls_cert: "c.pem", tls_key: "/k.pem" }, "tls_cert:"],
    ["a path with a space", { tls_cert: "/a b.pem", tls_key: "/k.pem" }, "tls_cert:"],
    [
      "a path that systemd takes for none",
      { tls_cert: "/etc/../home/c.pem", tls_key: "/k.pem" },
      "tls_cert:",
    ],
    ["a path of a folder", { tls_cert: "/c.pem", tls_key: "/keys/" }, "tls_key:"],
    ["a path with a dollar sign", { tls_cert: "/$HOME/c.pem", tls_key: "/k.pem" }, "tls_cert:"],
    ["a path with a percent sign", { tls_cert: "/%h/c.pem", tls_key: "/k.pem" }, "tls_cert:"],
    ["an address that is none", { external_ip: "relay.example" }, "external_ip:"],
    ["an address with a prefix length", { external_ip: "198.41.0.4/24" }, "external_ip:"],
    ["three addresses", { external_ip: "1.1.1.1/10.0.0.1/10.0.0.2" }, "external_ip:"],
    ["addresses of two families", { external_ip: "1.1.1.1/fc00::1" }, "external_ip:"],
    ["a loopback address", { external_ip: "127.0.0.1" }, "external_ip:"],
    ["the unspecified address", { external_ip: "0.0.0.0" }, "external_ip:"],
    ["a multicast address", { external_ip: "224.0.0.1" }, "external_ip:"],
  ];
  for (const [fault, changes, field] of cases) {
    test(fault, () => expect(() => checkSettings(given(changes))).toThrow(field));
  }

  test("reports all problems at once, and not the secret", () => {
    const hostile = given({ realm: " ", user: "a:b", secret: "hunter 2", tls_port: 3478, external_ip: "x" });
    let message = "";
    try {
      checkSettings(hostile);
    } catch (error) {
      message = String(error);
    }
    for (const field of ["realm:", "user:", "secret:", "tls_port:", "external_ip:"]) {
      expect(message).toContain(field);
    }
    expect(message).not.toContain("hunter");
  });
});

test("names and addresses are written as they usually are", () => {
  expect(checkSettings(given({ realm: "TURN.Example.Org" })).realm).toBe("turn.example.org");
  expect(checkSettings(given({ realm: "2001:DB8::0:1" })).realm).toBe("2001:db8::1");
  expect(checkSettings(given({ external_ip: "198.41.0.4/10.9.0.1" })).external).toEqual({
    address: "198.41.0.4",
    local: "10.9.0.1",
  });
});

test("without a secret there is a new one each time, 32 URL-safe characters", () => {
  const secrets = Array.from({ length: 100 }, () => checkSettings(given({ secret: undefined })).secret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(secret).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{31}$/);
});

test("without a user there is a new one each time, of characters that a user may have", () => {
  const users = Array.from({ length: 100 }, () => checkSettings(given({ user: undefined })).user ?? "none");
  expect(new Set(users).size).toBe(100);
  for (const user of users) expect(user).toMatch(/^svc-[0-9a-f]{8}$/);
});

test("time-limited credentials need no user, and their secret may begin with 0x", () => {
  const settings = checkSettings(given({ user: undefined, auth_secret: true, secret: "0xabc" }));
  expect(settings).toMatchObject({ user: null, auth_secret: true, secret: "0xabc" });
});

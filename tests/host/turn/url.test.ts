/** TURN URLs (RFC 7065). */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseTurnUrl, turnUrls } from "../../../src/host/turn/url";

describe("read:", () => {
  const cases = {
    "turn:turn.example.org": { host: "turn.example.org", port: 3478, transport: "udp" },
    "turn:turn.example.org:3479?transport=tcp": { host: "turn.example.org", port: 3479, transport: "tcp" },
    "turns:turn.example.org": { host: "turn.example.org", port: 5349, transport: "tls" },
    "turns:198.41.0.4:443?transport=tcp": { host: "198.41.0.4", port: 443, transport: "tls" },
    "TURN:[2001:db8::1]:3478?transport=UDP": { host: "2001:db8::1", port: 3478, transport: "udp" },
    "turn:localhost": { host: "localhost", port: 3478, transport: "udp" },
  } as const;
  for (const [url, read] of Object.entries(cases)) test(url, () => expect(parseTurnUrl(url)).toEqual(read));
});

describe("refused:", () => {
  const urls = [
    "",
    "turn:",
    "turn.example.org",
    "stun:turn.example.org",
    "https://turn.example.org",
    "turn://turn.example.org",
    "turn:lab@turn.example.org",
    "turn:2001:db8::1",
    "turn:[turn.example.org]",
    "turn:a b",
    "turn:a:0",
    "turn:a:65536",
    "turn:a?transport=sctp",
    "turns:a?transport=udp",
    "turn:a\nb",
  ];
  for (const url of urls) test(JSON.stringify(url), () => expect(() => parseTurnUrl(url)).toThrow(/^url: /));
});

test("what is written is read as it was meant", () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  const host = fc.oneof(
    fc.domain().filter((name) => name.length < 200),
    fc.ipV4(),
    fc.ipV6(),
  );
  fc.assert(
    fc.property(host, port, port, (host, plainPort, tlsPort) => {
      const { plain, secure } = turnUrls({ realm: host, listen_port: plainPort, tls_port: tlsPort });
      expect(plain.map(parseTurnUrl)).toEqual([
        { host, port: plainPort, transport: "udp" },
        { host, port: plainPort, transport: "tcp" },
      ]);
      expect(parseTurnUrl(secure)).toEqual({ host, port: tlsPort, transport: "tls" });
    }),
  );
});

/**
 * `turnserver.conf` for coturn 4.6 and later, safe against use as a proxy into the relay's own network.
 */
import { isIP } from "node:net";
import { type Block, IPV4_BLOCKS, IPV6_BLOCKS, rangeOf } from "./denied-peers";
import type { Settings } from "./settings";

/** Allocations of one user and of all, at a time. An allocation is a relayed port; a call takes a few. */
const USER_QUOTA = 100;
const TOTAL_QUOTA = 300;

/** The text of the file. It holds the secret. */
export function turnserverConf(settings: Settings): string {
  const { realm, listenPort, tlsPort, tls, external, minPort, maxPort } = settings;
  const lines = [
    "# turnserver.conf, made by `svc turn`. It holds the secret: keep it readable by the relay only.",
    "",
    "# First, for what is logged of the lines that follow.",
    "log-file=stdout",
    "simple-log",
    "",
    `realm=${realm}`,
    `listening-port=${listenPort}`,
    `tls-listening-port=${tlsPort}`,
    `min-port=${minPort}`,
    `max-port=${maxPort}`,
    ...(external ? [`external-ip=${[external.address, external.local].filter(Boolean).join("/")}`] : []),
    "",
    ...credentials(settings),
    "fingerprint",
    "stale-nonce=600",
    `user-quota=${USER_QUOTA}`,
    `total-quota=${TOTAL_QUOTA}`,
    "",
    ...(tls
      ? [`cert=${tls.cert}`, `pkey=${tls.key}`]
      : ["# For turns: put cert=<file> and pkey=<file> here and take this line out.", "no-tls"]),
    "# Suites of TLS 1.2 (1.3 has its own): an older TLS has none of them. The options no-tlsv1 and no-tlsv1_1 are gone",
    "# from coturn 4.7.",
    "cipher-list=ECDHE+AESGCM:ECDHE+CHACHA20",
    "",
    "# coturn 4.17 and later have no CLI and no DTLS unless asked to; they log a line about each of these two and go on.",
    "no-cli",
    "no-dtls",
    "no-rfc5780",
    "no-tcp-relay",
    "no-multicast-peers",
    "pidfile=",
    "",
    "# Peers that the relay never sends to: every special-purpose range of IANA.",
    ...denied(IPV4_BLOCKS),
    ...denied(IPV6_BLOCKS),
    ...allowed(settings),
  ];
  return `${lines.join("\n")}\n`;
}

function credentials({ user, secret, timeLimited }: Settings): string[] {
  if (timeLimited) {
    return [
      "# `svc turn credentials` makes the pair for a client.",
      "use-auth-secret",
      option("static-auth-secret", secret),
    ];
  }
  return ["lt-cred-mech", option("user", `${user}:${secret}`)];
}

/**
 * coturn drops blanks and `=` before a value, takes the quotes off one that begins with a quote, and warns of a line that
 * ends with a semicolon; what is in quotes it leaves alone.
 */
function option(name: string, value: string): string {
  return /^[="]|;$/.test(value) ? `${name}="${value}"` : `${name}=${value}`;
}

function denied(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block, at) => {
    const line = `denied-peer-ip=${rangeOf(block)}`;
    return block.what === blocks[at - 1]?.what ? [line] : [`# ${block.what}`, line];
  });
}

/** The relay's own addresses: two of its clients reach one another through them. */
function allowed({ realm, external }: Settings): string[] {
  const own = [external?.address, external?.local, isIP(realm) ? realm : null];
  const lines = [...new Set(own)]
    .filter((address) => address != null)
    .map((address) => `allowed-peer-ip=${address}`);
  return lines.length > 0
    ? ["", "# The relay itself, through which two of its clients reach one another.", ...lines]
    : [];
}

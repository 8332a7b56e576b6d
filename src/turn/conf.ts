/**
 * `turnserver.conf` for coturn 4.6 and later, safe against use as a proxy into the relay's own network.
 */
import { isIP } from "node:net";
import { type Block, IPV4_BLOCKS, IPV6_BLOCKS, rangeOf } from "./denied-peers";
import type { Settings } from "./settings";

/** Allocations of one user and of all at a time. An allocation is a relayed port; a call takes a few. */
const USER_QUOTA = 100;
const TOTAL_QUOTA = 300;

/** The text of the file. It holds the secret. */
export function turnserverConf(settings: Settings): string {
  const { realm, listen_port, tls_port, external, min_port, max_port } = settings;
  const externalIp = external && [external.address, external.local].filter(Boolean).join("/");
  return `# turnserver.conf, made by \`svc turn\`. It holds the secret: only the relay must be able to read it.

# First, so that it also holds for messages about the lines that follow.
log-file=stdout
simple-log

realm=${realm}
listening-port=${listen_port}
tls-listening-port=${tls_port}
min-port=${min_port}
max-port=${max_port}
${externalIp ? `external-ip=${externalIp}\n` : ""}
${credentials(settings)}
fingerprint
stale-nonce=600
user-quota=${USER_QUOTA}
total-quota=${TOTAL_QUOTA}

${tls(settings)}
# Suites of TLS 1.2 (1.3 has its own): an older TLS has none of them. The options no-tlsv1 and no-tlsv1_1 are gone
# from coturn 4.7.
cipher-list=ECDHE+AESGCM:ECDHE+CHACHA20

# coturn 4.17 and later have no CLI and no DTLS by default; they log a line about each of these two options.
no-cli
no-dtls
no-rfc5780
no-tcp-relay
no-multicast-peers
pidfile=

# Peers that the relay never sends to: every special-purpose range of IANA.
${denied(IPV4_BLOCKS)}
${denied(IPV6_BLOCKS)}
${allowed(settings)}`;
}

function credentials({ user, secret, auth_secret }: Settings): string {
  if (!auth_secret) return `lt-cred-mech\n${option("user", `${user}:${secret}`)}`;
  return `# \`svc turn credentials\` makes the pair for a client.
use-auth-secret
${option("static-auth-secret", secret)}`;
}

/**
 * coturn drops blanks and `=` before a value, removes the quotes around a value that begins with one, and warns about a
 * line that ends with a semicolon. It does not change what is in quotes.
 */
function option(name: string, value: string): string {
  return /^[="]|;$/.test(value) ? `${name}="${value}"` : `${name}=${value}`;
}

function tls({ tls }: Settings): string {
  if (tls) return `cert=${tls.cert}\npkey=${tls.key}`;
  return "# For turns: put cert=<file> and pkey=<file> here and remove this line.\nno-tls";
}

function denied(blocks: readonly Block[]): string {
  const lines = blocks.flatMap((block, at) => {
    const line = `denied-peer-ip=${rangeOf(block)}`;
    return block.what === blocks[at - 1]?.what ? [line] : [`# ${block.what}`, line];
  });
  return lines.join("\n");
}

/** The relay's own addresses: two of its clients reach one another through them. */
function allowed({ realm, external }: Settings): string {
  const own = new Set([external?.address, external?.local, isIP(realm) ? realm : null]);
  const lines = [...own].filter(Boolean).map((address) => `allowed-peer-ip=${address}\n`);
  if (lines.length === 0) return "";
  return `
# The relay itself, through which two of its clients reach one another.
${lines.join("")}`;
}

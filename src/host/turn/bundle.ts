/**
 * The TURN bundle: the four files with which coturn 4.6 and later runs on another machine, as a systemd unit or a container.
 * Both give it as little of the machine as it needs, and no client a way into the network around it.
 */
import { isIP } from "node:net";
import { PRIVATE_FILE } from "../../lib/files";
import { fill } from "../../lib/fill";
import { type BundleFile, mount, PUBLIC_FILE, readableIn } from "../../lib/server-bundle";
import { HARDENING, SYSTEM_HARDENING } from "../../lib/systemd";
import { BLOCKS, rangeOf } from "./denied-peers";
import type { Settings } from "./settings";
import unit from "./templates/coturn.service" with { type: "text" };
import compose from "./templates/docker-compose.yml" with { type: "text" };
import readme from "./templates/README.txt" with { type: "text" };
import conf from "./templates/turnserver.conf" with { type: "text" };
import { turnUrls } from "./url";

/** The files, as text. Nothing in `settings` can add a line to any of them. */
export function renderBundle(settings: Settings): BundleFile[] {
  const { realm, listen_port, tls_port, min_port, max_port } = settings;
  const values = {
    realm,
    listen_port,
    tls_port,
    min_port,
    max_port,
    ...confValues(settings),
    ...machineValues(settings),
    ...readmeValues(settings),
  };
  return [
    { name: "turnserver.conf", text: fill(conf, values), mode: PRIVATE_FILE },
    { name: "coturn.service", text: fill(unit, values), mode: PUBLIC_FILE },
    { name: "docker-compose.yml", text: fill(compose, values), mode: PUBLIC_FILE },
    { name: "README.txt", text: fill(readme, values), mode: PRIVATE_FILE },
  ];
}

function confValues({ realm, user, secret, auth_secret, tls, external }: Settings) {
  const addresses = [external?.address, external?.local].filter((address) => address != null);
  const own = new Set([...addresses, ...(isIP(realm) ? [realm] : [])]);
  const allowed = Array.from(own, (address) => `allowed-peer-ip=${address}`);
  const clients = "# The relay itself, through which two of its clients reach one another.";
  return {
    external_ip: external ? `external-ip=${addresses.join("/")}` : "",
    authentication: auth_secret
      ? [
          "# `svc turn credentials` makes the pair for a client.",
          "use-auth-secret",
          option("static-auth-secret", secret),
        ]
      : ["lt-cred-mech", option("user", `${user}:${secret}`)],
    certificate: tls
      ? [`cert=${tls.cert}`, `pkey=${tls.key}`]
      : ["# For turns: put cert=<file> and pkey=<file> here and remove this line.", "no-tls"],
    denied_peers: BLOCKS.flatMap(({ cidr, what }, at) => {
      const line = `denied-peer-ip=${rangeOf(cidr)}`;
      return what === BLOCKS[at - 1]?.what ? [line] : [`# ${what}`, line];
    }),
    allowed_peers: own.size > 0 ? ["", clients, ...allowed] : [],
  };
}

/**
 * coturn drops blanks and `=` before a value, removes the quotes around a value that begins with one, and warns about a
 * line that ends with a semicolon. It does not change what is in quotes.
 */
function option(name: string, value: string): string {
  return /^[="]|;$/.test(value) ? `${name}="${value}"` : `${name}=${value}`;
}

function machineValues({ tls, listen_port, tls_port }: Settings) {
  const hasLowPort = Math.min(listen_port, tls_port) < 1024;
  // Certificate and key may be one file, which cannot be mounted twice.
  const tlsFiles = [...new Set(tls && [tls.cert, tls.key])];
  return {
    sandbox: [HARDENING, SYSTEM_HARDENING],
    capabilities: hasLowPort ? "CAP_NET_BIND_SERVICE" : "",
    ...readableIn(tlsFiles),
    security_options: hasLowPort ? "" : '    security_opt:\n      - "no-new-privileges:true"',
    mounts: [
      mount("./turnserver.conf", "/etc/coturn/turnserver.conf"),
      ...tlsFiles.map((path) => mount(path, path)),
    ],
  };
}

function readmeValues(settings: Settings) {
  const { realm, user, secret, auth_secret, tls, external } = settings;
  const { plain, secure } = turnUrls(settings);
  return {
    underline: "=".repeat(11 + realm.length),
    urls: [
      ...[...plain, secure].map((url) => `  ${url}`),
      ...(tls ? [] : ["    (not yet: it needs a certificate, see TLS below)"]),
    ],
    credentials: auth_secret
      ? `  Time-limited. The pair for a client, valid for an hour:

    svc turn credentials --ttl 1h --user ${user ?? "NAME"} --output-dir .

  secret     ${secret}
  (it signs the pairs; do not give it to clients)`
      : `  user name  ${user}\n  secret     ${secret}`,
    nat: external?.local
      ? `The router in front of it has to forward those ports of ${external.address} to ${external.local}, unchanged.`
      : "Behind a router (NAT), make this bundle again with --external-ip PUBLIC/PRIVATE.",
    tls: tls
      ? `The relay reads ${tls.cert} and
${tls.key} at its start, as the user turnserver (in the container:
65534:65534): make both readable for it, and restart it when the certificate is renewed.`
      : `turns: needs a certificate for the name above and its key, in PEM, readable for the user turnserver (in the
container: 65534:65534, and mounted there). Make this bundle again with --tls-cert and --tls-key.`,
    url: plain[0] ?? "",
    test_user: auth_secret ? "USERNAME" : (user ?? ""),
    test_note: auth_secret ? " The pair comes from `svc turn credentials`." : "",
  };
}

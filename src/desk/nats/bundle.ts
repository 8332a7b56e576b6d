/**
 * The bundle of a NATS server: the files with which nats-server 2.9 and later runs on another machine, as a systemd unit or a
 * container. The key of its own certificate is all that is secret in it.
 */
import { PRIVATE_FILE } from "../../lib/files";
import { fill } from "../../lib/fill";
import { type BundleFile, mount, PUBLIC_FILE, readableIn } from "../../lib/server-bundle";
import { HARDENING, SYSTEM_HARDENING } from "../../lib/systemd";
import { MAX_PAYLOAD } from "../../wire/nats/tokens";
import type { ServerTokens } from "./operator";
import type { Settings } from "./settings";
import compose from "./templates/docker-compose.yml" with { type: "text" };
import conf from "./templates/nats-server.conf" with { type: "text" };
import unit from "./templates/nats-server.service" with { type: "text" };
import readme from "./templates/README.txt" with { type: "text" };

/** What the container runs where nothing else is asked for. */
const IMAGE_VERSION = "2.12.6";

/** Files of a server beyond its connections. */
const OTHER_FILES = 1_024;

const CONTAINER_FOLDER = "/etc/svc-nats";

/** The files, as text. Nothing in `settings` can add a line to any of them. @param region null for the first server. */
export function renderBundle(
  settings: Settings,
  tokens: ServerTokens,
  own: { readonly cert: string; readonly key: string } | null,
  region: string | null,
): BundleFile[] {
  const { operator, port, websocket_port, max_connections, tls, urls, version = IMAGE_VERSION } = settings;
  const ports = [port, ...(websocket_port === null ? [] : [websocket_port])];
  const isLow = ports.some((one) => one < 1024);
  const [system = ["", ""], fleet = ["", ""]] = Object.entries(tokens.accounts);
  const certificate = { cert: tls?.cert ?? "./cert.pem", key: tls?.key ?? "./key.pem" };
  const local = settings.isLocal ? ["# Only this machine reaches it.", 'host: "127.0.0.1"'] : [];
  // Without it, the command is one for the first server.
  const ofRegion = region === null ? "" : ` --region ${region}`;
  const files = [...new Set(tls ? [tls.cert, tls.key] : [])];
  const inFolder = ["nats-server.conf", ...(own ? ["cert.pem", "key.pem"] : [])];
  const values = {
    operator,
    port,
    max_connections,
    version,
    max_payload: MAX_PAYLOAD,
    ...certificate,
    local,
    operator_token: tokens.operator,
    system_account: system[0],
    system_token: system[1],
    account: fleet[0],
    account_token: fleet[1],
    websocket: websocket_port === null ? [] : websocketBlock(websocket_port, settings.isLocal, certificate),
    sandbox: [HARDENING, SYSTEM_HARDENING],
    capabilities: isLow ? "CAP_NET_BIND_SERVICE" : "",
    ...readableIn(files),
    files: max_connections + OTHER_FILES,
    // A server that listens on loopback would listen on that of the container.
    network: settings.isLocal
      ? ["    network_mode: host"]
      : ["    ports:", ...ports.map((one) => `      - "${one}:${one}"`)],
    mounts: [
      ...inFolder.map((name) => mount(`./${name}`, `${CONTAINER_FOLDER}/${name}`)),
      ...files.map((path) => mount(path, path)),
    ],
    underline: "=".repeat(12 + operator.length),
    region: ofRegion,
    urls: urls.map((url) => `  ${url}`),
    url: urls[0] ?? "",
    open_ports: ports.map((one) => `${one} tcp`).join(", "),
    hosts: settings.hosts.join(", "),
    names: inFolder.join(" "),
    tls: own
      ? `The certificate is the bundle's own. Hosts and desks know the server by its key, whatever the date: keep key.pem
private. To renew the certificate, run \`svc nats …${ofRegion} --force\`
with the settings of this bundle; the key stays.`
      : `The server reads ${certificate.cert} and
${certificate.key} at its start, as the user nats (in the container: 65534:65534): make
both readable for it, and reload it when the certificate is renewed.`,
  };
  return [
    { name: "nats-server.conf", text: fill(conf, values), mode: PRIVATE_FILE },
    { name: "nats-server.service", text: fill(unit, values), mode: PUBLIC_FILE },
    { name: "docker-compose.yml", text: fill(compose, values), mode: PUBLIC_FILE },
    { name: "README.txt", text: fill(readme, values), mode: PUBLIC_FILE },
    ...(own
      ? [
          { name: "cert.pem", text: own.cert, mode: PUBLIC_FILE },
          { name: "key.pem", text: own.key, mode: PRIVATE_FILE },
        ]
      : []),
  ];
}

const websocketBlock = (
  port: number,
  isLocal: boolean,
  { cert, key }: { readonly cert: string; readonly key: string },
) => [
  "",
  "# For networks that let only HTTPS out.",
  "websocket {",
  ...(isLocal ? ['  host: "127.0.0.1"'] : []),
  `  port: ${port}`,
  "  # Pages of other sites do not connect.",
  "  same_origin: true",
  '  handshake_timeout: "30s"',
  "  tls {",
  `    cert_file: "${cert}"`,
  `    key_file: "${key}"`,
  "  }",
  "}",
];

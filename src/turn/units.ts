/**
 * How the relay is run: `coturn.service` for systemd, or `docker-compose.yml` as one container on the host's network. Both
 * give it as little of the machine as it needs.
 */
import { HARDENING, SYSTEM_HARDENING } from "../lib/systemd";
import type { Settings } from "./settings";

/** Where the README installs the configuration; Debian's own unit reads it from there too. */
export const CONF_PATH = "/etc/turnserver.conf";

/** `nobody` in the image; the README makes it the owner of the configuration. */
export const CONTAINER_USER = "65534:65534";

/** The newest version that every line of the configuration was checked against. */
const IMAGE = "coturn/coturn:4.16.0";

/** Where coturn looks in the image. */
const CONF_TARGET = "/etc/coturn/turnserver.conf";

/** Folders that `PrivateTmp` and `ProtectHome` hide. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

const hasLowPort = ({ listen_port, tls_port }: Settings) => Math.min(listen_port, tls_port) < 1024;

/** Certificate and key; they may be one file, which cannot be mounted twice. */
const tlsFiles = ({ tls }: Settings) => [...new Set(tls && [tls.cert, tls.key])];

/** The text of `coturn.service`. */
export function systemdUnit(settings: Settings): string {
  const capabilities = hasLowPort(settings) ? "CAP_NET_BIND_SERVICE" : "";
  const hidden = tlsFiles(settings).filter((path) => HIDDEN.test(path));
  return `# coturn.service, made by \`svc turn\`.
[Unit]
Description=coturn TURN relay
Documentation=https://github.com/coturn/coturn
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=turnserver
Group=turnserver
ExecStart=/usr/bin/turnserver -c ${CONF_PATH}
Restart=on-failure
RestartSec=2
LimitNOFILE=65536
# coturn opens its user database, /var/lib/turn/turndb, even when it does not need it.
StateDirectory=turn
${HARDENING}
${SYSTEM_HARDENING}
CapabilityBoundingSet=${capabilities}
AmbientCapabilities=${capabilities}
ProtectHome=${hidden.length > 0 ? "tmpfs" : "yes"}
${hidden.map((path) => `BindReadOnlyPaths=${path}\n`).join("")}PrivateDevices=yes
MemoryDenyWriteExecute=yes

[Install]
WantedBy=multi-user.target
`;
}

/** The text of `docker-compose.yml`. */
export function composeFile(settings: Settings): string {
  const mounts = [
    mount("./turnserver.conf", CONF_TARGET),
    ...tlsFiles(settings).map((path) => mount(path, path)),
  ];
  return `# docker-compose.yml, made by \`svc turn\`.
services:
  coturn:
    image: ${IMAGE}
    command: ["-c", "${CONF_TARGET}"]
    network_mode: host
    restart: unless-stopped
    user: "${CONTAINER_USER}"
    read_only: true
    tmpfs:
      - /var/lib/coturn:uid=65534,gid=65534,mode=0700
      - /tmp
    cap_drop:
      - ALL
    cap_add:
      # The binary in the image asks for it, and does not start without.
      - NET_BIND_SERVICE
${hasLowPort(settings) ? "" : '    security_opt:\n      - "no-new-privileges:true"\n'}    volumes:
${mounts.join("")}`;
}

const mount = (source: string, target: string) => `      - type: bind
        source: "${source}"
        target: "${target}"
        read_only: true
        bind:
          create_host_path: false
`;

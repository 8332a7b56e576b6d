/**
 * `coturn.service`: the relay under systemd, with as little of the machine as it needs.
 */
import type { Settings } from "./settings";

/** Where the README has the configuration installed; Debian's own unit reads it from there too. */
export const CONF_PATH = "/etc/turnserver.conf";

/** Folders that `PrivateTmp` and `ProtectHome` put out of sight. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** The text of the file. */
export function systemdUnit({ listenPort, tlsPort, tls }: Settings): string {
  const lowPort = Math.min(listenPort, tlsPort) < 1024;
  const capabilities = lowPort ? "CAP_NET_BIND_SERVICE" : "";
  const hidden = [...new Set(tls && [tls.cert, tls.key])].filter((path) => HIDDEN.test(path));
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
# coturn opens its user database, /var/lib/turn/turndb, also when all it needs is in the configuration.
StateDirectory=turn
UMask=0077

NoNewPrivileges=yes
CapabilityBoundingSet=${capabilities}
AmbientCapabilities=${capabilities}
ProtectSystem=strict
ProtectHome=${hidden.length > 0 ? "tmpfs" : "yes"}
PrivateTmp=yes
${hidden.map((path) => `BindReadOnlyPaths=${path}\n`).join("")}PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

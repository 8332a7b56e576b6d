/**
 * A systemd unit (systemd.service(5), systemd.exec(5)): for the machine, with a user of its own that sees only its state;
 * for a user, with what needs no privilege.
 */
import { join } from "node:path";
import { badInput } from "../lib/errors";
import { HARDENING, SYSTEM_HARDENING } from "../lib/systemd";
import type { DaemonOptions, DaemonPlan } from "./daemon";

const UNIT = "svc.service";

/** A daemon of the machine has a user of its own. */
const SYSTEM = `DynamicUser=yes
StateDirectory=svc
StateDirectoryMode=0700
ProtectHome=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
${SYSTEM_HARDENING}
`;

/** @throws a `bad_input` failure for a program or folder that a unit of the machine cannot see or own. */
export function systemdPlan(options: DaemonOptions): DaemonPlan {
  const { system, home, binary, configDir } = options;
  if (system && /^\/(home|root|tmp|var\/tmp|run\/user)\//.test(binary)) {
    throw badInput(`${binary} is hidden from a daemon of the machine: copy it to /usr/local/bin first`);
  }
  if (system && configDir !== null) {
    throw badInput(
      "config_dir: not possible for a daemon of the machine, which keeps its state in /var/lib/svc",
    );
  }
  const folder = system ? "/etc/systemd/system" : join(home, ".config", "systemd", "user");
  const scope = system ? [] : ["--user"];
  return {
    file: { path: join(folder, UNIT), content: unit(options) },
    install: [
      ["systemctl", ...scope, "daemon-reload"],
      ["systemctl", ...scope, "enable", "--now", UNIT],
    ],
    uninstall: [["systemctl", ...scope, "disable", "--now", UNIT]],
    forget: [["systemctl", ...scope, "daemon-reload"]],
    status: ["systemctl", ...scope, "status", "--no-pager", UNIT],
    logs: (follow) => [
      "journalctl",
      ...scope,
      "--unit",
      UNIT,
      "--lines",
      "100",
      follow ? "--follow" : "--no-pager",
    ],
  };
}

function unit({ binary, flags, system, configDir }: DaemonOptions): string {
  const own = system ? "/var/lib/svc" : configDir;
  return `[Unit]
Description=svc: operate this desktop-automation host from afar
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
NotifyAccess=main
WatchdogSec=30s
ExecStart=${[binary, "serve", ...flags].map(quoted).join(" ")}
${own === null ? "" : `Environment=${quoted(`SVC_CONFIG_DIR=${own}`)}\n`}Restart=on-failure
RestartSec=2s
# svc gives requests in flight 10 s to finish.
TimeoutStopSec=15s
KillMode=mixed
${HARDENING}
${system ? SYSTEM : ""}
[Install]
WantedBy=${system ? "multi-user.target" : "default.target"}
`;
}

/** Quotes a word for systemd (systemd.service(5), "Command lines"), where `%` and `$` are special even within quotes. */
function quoted(word: string): string {
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}

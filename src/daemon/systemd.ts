/**
 * A systemd unit (systemd.service(5), systemd.exec(5)): for the machine, with a user of its own that sees only its state;
 * for a user, with what needs no privilege.
 */
import { join } from "node:path";
import { badInput } from "../lib/errors";
import { fill } from "../lib/fill";
import { HARDENING, SYSTEM_HARDENING } from "../lib/systemd";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import unit from "./templates/svc.service" with { type: "text" };

const UNIT = "svc.service";

/** A daemon of the machine has a user of its own. */
const SYSTEM = `DynamicUser=yes
StateDirectory=svc
StateDirectoryMode=0700
ProtectHome=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
${SYSTEM_HARDENING}`;

/** @throws a `bad_input` failure for a program or folder that a unit of the machine cannot see or own. */
export function systemdPlan({ system, home, binary, flags, configDir }: DaemonOptions): DaemonPlan {
  if (system && /^\/(home|root|tmp|var\/tmp|run\/user)\//.test(binary)) {
    throw badInput(`${binary} is hidden from a daemon of the machine: copy it to /usr/local/bin first`);
  }
  if (system && configDir !== null) {
    throw badInput(
      "config_dir: not possible for a daemon of the machine, which keeps its state in /var/lib/svc",
    );
  }
  const folder = system ? "/etc/systemd/system" : join(home, ".config", "systemd", "user");
  const own = system ? "/var/lib/svc" : configDir;
  const content = fill(unit, {
    command: [binary, "serve", ...flags].map(quoted).join(" "),
    environment: own === null ? "" : `Environment=${quoted(`SVC_CONFIG_DIR=${own}`)}`,
    sandbox: system ? [HARDENING, SYSTEM] : HARDENING,
    target: system ? "multi-user.target" : "default.target",
  });
  const scope = system ? [] : ["--user"];
  const systemctl = (...words: string[]) => ["systemctl", ...scope, ...words];
  return {
    file: { path: join(folder, UNIT), content },
    install: [systemctl("daemon-reload"), systemctl("enable", "--now", UNIT)],
    uninstall: [systemctl("disable", "--now", UNIT)],
    forget: [systemctl("daemon-reload")],
    status: systemctl("status", "--no-pager", UNIT),
    restart: [systemctl("reset-failed", UNIT), systemctl("restart", "--no-block", UNIT)],
    read(text) {
      const [program] = wordsIn(/^ExecStart=(.*)$/m.exec(text)?.[1] ?? "");
      const [variable] = wordsIn(/^Environment=(.*)$/m.exec(text)?.[1] ?? "");
      if (program === undefined) return undefined;
      const [, folder = null] = /^SVC_CONFIG_DIR=(.*)$/s.exec(variable ?? "") ?? [];
      return { binary: program, configDir: folder };
    },
    logs(follow) {
      const mode = follow ? "--follow" : "--no-pager";
      return ["journalctl", ...scope, "--unit", UNIT, "--lines", "100", mode];
    },
  };
}

/** Quotes a word for systemd (systemd.service(5), "Command lines"), where `%` and `$` are special even within quotes. */
function quoted(word: string): string {
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The words of a line that {@link quoted} has written. */
function wordsIn(line: string): string[] {
  const words = line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g);
  return Array.from(words, ([, inQuotes, bare]) =>
    (inQuotes?.replaceAll(/\\(.)/g, "$1") ?? bare ?? "").replaceAll("%%", "%").replaceAll("$$", "$"),
  );
}

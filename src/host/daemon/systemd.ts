/**
 * A systemd unit (systemd.service(5), systemd.exec(5)): for the machine, with a user of its own that sees only its state;
 * for a user, with what needs no privilege.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { badInput } from "../../lib/errors";
import { fill } from "../../lib/fill";
import { configFiles } from "../../lib/paths";
import { DIVIDES_MEMORY, HARDENING, SYSTEM_HARDENING } from "../../lib/systemd";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import unit from "./templates/svc.service" with { type: "text" };
import upgradePath from "./templates/svc-upgrade.path" with { type: "text" };
import upgradeUnit from "./templates/svc-upgrade.service" with { type: "text" };

const UNIT = "svc.service";
const SYSTEM_UNITS = "/etc/systemd/system";

/** Root's part of an upgrade, which the daemon of the machine may not do itself: it starts once the daemon has written its order. */
const UPGRADE = "svc-upgrade.service";
const UPGRADE_PATH = "svc-upgrade.path";

/** Where the daemon of the machine keeps its state (systemd.exec(5), DynamicUser): no link, and in a folder of root. */
const STATE = "/var/lib/private/svc";

/** What the daemon writes there once a desk has ordered an upgrade. */
const ORDER = "order.json";

/** Its hidden subcommand. */
const BY_ROOT = "upgrade-by-root";

/** A daemon of the machine has a user of its own. */
const SYSTEM = `DynamicUser=yes
StateDirectory=svc
StateDirectoryMode=0700
ProtectHome=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
${SYSTEM_HARDENING}`;

/** It reads what the daemon has, and writes where the program is: it reaches nobody but systemd. */
const UPGRADE_SANDBOX = `${SYSTEM_HARDENING.replace(/^(RestrictAddressFamilies=).*$/m, "$1AF_UNIX")}
ProtectHome=yes
PrivateDevices=yes
PrivateNetwork=yes
CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_CHOWN`;

/** @throws a `bad_input` failure for a program or folder that a unit of the machine cannot see or own. */
export function systemdPlan(options: DaemonOptions): DaemonPlan {
  const { system, home, binary, flags, configDir, upgrades = false, hasUpgrades = false } = options;
  if (system && /^\/(home|root|tmp|var\/tmp|run\/user)\//.test(binary)) {
    throw badInput(`${binary} is hidden from a daemon of the machine: copy it to /usr/local/bin first`);
  }
  if (system && configDir !== null) {
    throw badInput(
      "config_dir: not possible for a daemon of the machine, which keeps its state in /var/lib/svc",
    );
  }
  const folder = system ? SYSTEM_UNITS : join(home, ".config", "systemd", "user");
  const own = system ? "/var/lib/svc" : configDir;
  const content = fill(unit, {
    command: [binary, "serve", ...flags].map(quoted).join(" "),
    environment: own === null ? "" : `Environment=${quoted(`SVC_CONFIG_DIR=${own}`)}`,
    sandbox: [
      HARDENING,
      ...(system ? [SYSTEM] : []),
      // After the rest: the last word counts.
      ...(flags.some((flag) => /^--desktop-memory(=|$)/.test(flag)) ? [DIVIDES_MEMORY] : []),
    ],
    target: system ? "multi-user.target" : "default.target",
  });
  const scope = system ? [] : ["--user"];
  const systemctl = (...words: string[]) => ["systemctl", ...scope, ...words];
  const isLeft = system && hasUpgrades;
  // It would go on until the next boot, and its link in the target for ever.
  const disabled = systemctl("disable", "--now", UPGRADE_PATH);
  return {
    file: { path: join(folder, UNIT), content },
    besides: system ? upgradeUnits(folder, binary, upgrades) : [],
    before: isLeft && !upgrades ? [disabled] : [],
    install: [
      systemctl("daemon-reload"),
      ...(system && upgrades ? [systemctl("enable", "--now", UPGRADE_PATH)] : []),
      systemctl("enable", "--now", UNIT),
    ],
    uninstall: [...(isLeft ? [disabled] : []), systemctl("disable", "--now", UNIT)],
    forget: [systemctl("daemon-reload")],
    status: systemctl("status", "--no-pager", UNIT, ...(isLeft ? [UPGRADE_PATH] : [])),
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

/** @param upgrades false for units that are removed, if they are there. */
function upgradeUnits(folder: string, binary: string, upgrades: boolean) {
  const units = [
    [UPGRADE_PATH, fill(upgradePath, { order: join(configFiles(STATE).upgrade, ORDER) })],
    [
      UPGRADE,
      fill(upgradeUnit, {
        command: [binary, BY_ROOT, STATE].map(quoted).join(" "),
        programs: quotedPath(dirname(binary)),
        sandbox: [HARDENING, UPGRADE_SANDBOX],
      }),
    ],
  ] as const;
  return units.map(([name, content]) => ({ path: join(folder, name), content: upgrades ? content : null }));
}

/** Where a package puts the unit of the machine: new systems first (hier(7), file-hierarchy(7)). */
const PACKAGED = ["/usr/lib/systemd/system", "/lib/systemd/system"];

/** The unit that a package has installed, where it is the one that runs: svc has installed none. Undefined without one. */
export function packagedUnit(): string | undefined {
  if (existsSync(join(SYSTEM_UNITS, UNIT))) return undefined;
  return PACKAGED.map((folder) => join(folder, UNIT)).find((path) => existsSync(path));
}

/** Whether there is something of root's part of an upgrade that may run. */
export const hasUpgradeUnits = (): boolean => existsSync(join(SYSTEM_UNITS, UPGRADE_PATH));

/** Whether root's part of an upgrade is installed for this program. @param binary without links. */
export function isUpgradedByRoot(binary: string): boolean {
  try {
    const text = readFileSync(join(SYSTEM_UNITS, UPGRADE), "utf8");
    const [program = "", child] = wordsIn(/^ExecStart=(.*)$/m.exec(text)?.[1] ?? "");
    return child === BY_ROOT && hasUpgradeUnits() && realpathSync(program) === binary;
  } catch {
    return false;
  }
}

/** Quotes a word for systemd (systemd.service(5), "Command lines"), where `%` and `$` are special even within quotes. */
const quoted = (word: string): string => quotedPath(word.replaceAll("$", "$$$$"));

/** Quotes a word of a setting that is no command line. */
function quotedPath(word: string): string {
  const plain = word.replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The words of a line that {@link quoted} has written. */
function wordsIn(line: string): string[] {
  const words = line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g);
  return Array.from(words, ([, inQuotes, bare]) =>
    (inQuotes?.replaceAll(/\\(.)/g, "$1") ?? bare ?? "").replaceAll("%%", "%").replaceAll("$$", "$"),
  );
}

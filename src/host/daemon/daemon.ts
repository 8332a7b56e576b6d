/**
 * `svc serve` as a daemon of the platform: which file has to be written and which programs have to be run, as a plan that
 * can be shown before anything is touched, and carrying that plan out.
 */
import { rmSync } from "node:fs";
import { userInfo } from "node:os";
import { badInput, conflict, messageOf, systemCode, unavailable } from "../../lib/errors";
import { isMissing, writeFileAtomic } from "../../lib/files";
import { holdPlace } from "../../lib/held-place";
import { orElse } from "../../lib/or-else";
import { home } from "../../lib/paths";
import { isOfRootAlone } from "../../lib/root-alone";
import { terminated } from "../../lib/signals";
import { spawn } from "../../lib/spawn";
import { compiled } from "../../version";
import { launchdPlan } from "./launchd";
import { scheduledTaskPlan } from "./scheduled-task";
import { hasUpgradeUnits, packagedUnit, systemdPlan } from "./systemd";

/** What the plan depends on. */
export interface DaemonOptions extends User {
  /** The program, absolute. */
  readonly binary: string;
  /** Flags of `svc serve`. */
  readonly flags: readonly string[];
  /** For the machine rather than for this user. */
  readonly system: boolean;
  /** `{config_dir}`; null for the platform's default. */
  readonly configDir: string | null;
  /** Whether root upgrades the daemon of the machine at the order of its desk, on Linux (default: false). */
  readonly upgrades?: boolean;
  /** Whether an earlier installation has left what does that (default: false). */
  readonly hasUpgrades?: boolean;
}

/** Whose daemon it is, where it is not for the machine. */
export interface User {
  readonly home: string;
  readonly userId: number;
  /** On Windows with the domain: `LAB\\kiosk`. */
  readonly userName: string;
}

/** What is written and run. A list of programs, each with its arguments, runs one after the other. */
export interface DaemonPlan {
  readonly file: {
    readonly path: string;
    readonly content: string;
    /** `utf16le`: with a byte order mark. Default: UTF-8. */
    readonly encoding?: "utf16le";
  };
  /** More files, which are written and removed with it; null for one that is only removed. */
  readonly besides?: ReadonlyArray<{ readonly path: string; readonly content: string | null }>;
  /** Before the file is written. */
  readonly before?: string[][];
  /** Once it is. */
  readonly install: string[][];
  /** Before the file is removed. */
  readonly uninstall: string[][];
  /** Once the file is removed. */
  readonly forget: string[][];
  readonly status: string[];
  /** Starts it anew and does not wait until it is ready; also after it has failed too often. */
  readonly restart: string[][];
  /** What the content of such a file says: the program, and its `{config_dir}` (null: the default); undefined for what svc has not written. */
  readonly read: (
    content: string,
  ) => { readonly binary: string; readonly configDir: string | null } | undefined;
  readonly logs: (follow: boolean) => string[];
}

/** Characters that neither a line of a unit nor XML can hold (XML 1.0, section 2.2). */
const UNWRITABLE = /[\p{Cc}\ufffe\uffff]/u;

/** @throws `bad_input` for words that cannot be written down; `unavailable` on a platform without a known daemon. */
export function planDaemon(options: DaemonOptions, platform: NodeJS.Platform = process.platform): DaemonPlan {
  for (const word of [options.binary, options.configDir ?? "", ...options.flags]) {
    if (UNWRITABLE.test(word)) throw badInput(`${JSON.stringify(word)}: must not have control characters`);
  }
  if (platform === "linux") return systemdPlan(options);
  if (platform === "darwin") return launchdPlan(options);
  if (platform === "win32") return scheduledTaskPlan(options);
  throw unavailable(`svc cannot run as a daemon on ${platform}: no way is known`);
}

/**
 * The plan for this user and this binary.
 *
 * @param what needed to install; to manage a daemon that is installed already, `system` alone matters.
 * @throws as {@link planDaemon} does.
 */
export function planHere(system: boolean, what?: Pick<DaemonOptions, "flags" | "configDir">): DaemonPlan {
  const binary = compiled && what ? process.execPath : "/usr/local/bin/svc";
  // Root runs it then: whoever else may write it would be root. A program of a package is its package manager's to upgrade.
  const isOurs = !binary.startsWith("/usr/bin/") && isOfRootAlone(binary);
  const upgrades = system && what !== undefined && isOurs;
  const hasUpgrades = system && hasUpgradeUnits();
  return planDaemon({
    binary,
    flags: [],
    configDir: null,
    ...what,
    system,
    upgrades,
    hasUpgrades,
    ...thisUser(),
  });
}

/** @throws a `conflict` failure where the service of the machine is that of a package. @param instead what to do. */
export function requireOwnUnit(system: boolean, instead: string): void {
  const unit = system && process.platform === "linux" ? packagedUnit() : undefined;
  if (unit !== undefined)
    throw conflict(`a package has installed the service of this machine (${unit}): ${instead}`);
}

/** The user of this process. */
export function thisUser(): User {
  const { USERDOMAIN: domain } = process.env;
  const username = nameOfUser();
  return {
    home: home(),
    userId: process.getuid?.() ?? 0,
    userName: domain ? `${domain}\\${username}` : username,
  };
}

/** The name of this user; the number of one that the system does not know, as in a container. */
const nameOfUser = (): string => orElse(() => userInfo().username, `${process.getuid?.()}`);

/** @throws an `unavailable` failure naming what could not be written or run. */
export async function installDaemon({ file, besides = [], before = [], install }: DaemonPlan): Promise<void> {
  for (const line of before) await mustRun(line);
  write(file.path, file.encoding ? Buffer.from(`\ufeff${file.content}`, file.encoding) : file.content);
  for (const { path, content } of besides) {
    if (content === null) remove(path);
    else write(path, content);
  }
  for (const line of install) await mustRun(line);
}

/**
 * Removes the daemon; one that is not installed or does not run is no failure.
 *
 * @throws an `unavailable` failure naming what could not be removed or run.
 */
export async function uninstallDaemon({ file, besides = [], uninstall, forget }: DaemonPlan): Promise<void> {
  for (const line of uninstall) await runThrough(line);
  for (const { path } of [file, ...besides]) remove(path);
  for (const line of forget) await mustRun(line);
}

function write(path: string, content: string | Uint8Array): void {
  try {
    using place = holdPlace(path, 0o755);
    writeFileAtomic(place.path, content, 0o644);
  } catch (error) {
    throw unavailable(`${path} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
}

function remove(path: string): void {
  try {
    if (isMissing(path)) return;
    using place = holdPlace(path);
    rmSync(place.path, { force: true });
  } catch (error) {
    throw unavailable(`${path} cannot be removed (${systemCode(error) ?? messageOf(error)})`);
  }
}

/**
 * Runs a program on this process's stdin, stdout and stderr. It is ended when this process is asked to end, which then ends
 * with it.
 *
 * @returns its exit code.
 * @throws an `unavailable` failure when there is no such program.
 */
export async function runThrough(line: string[]): Promise<number> {
  if (Bun.which(line[0] ?? "") === null) throw unavailable(`${line[0]} is not on PATH`);
  // Before the program starts: otherwise a signal in between would leave it running.
  const asked = terminated();
  const child = spawn(line, { stdio: ["inherit", "inherit", "inherit"], windowsHide: false });
  let isAsked = false;
  void asked.then(() => {
    isAsked = true;
    child.kill();
  });
  const exitCode = await child.exited;
  return isAsked ? process.exit() : exitCode;
}

async function mustRun(line: string[]): Promise<void> {
  const exitCode = await runThrough(line);
  if (exitCode !== 0) throw unavailable(`${line.join(" ")} failed with exit code ${exitCode}`);
}

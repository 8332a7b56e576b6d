/**
 * Putting a newer program in the place of this one, and going back where the newer one does not answer.
 *
 * The promise: the program is replaced whole or not at all, by what the release key has signed for this target. Where its daemons
 * are not ready with it in time, the old program is put back, and they are started again.
 */
import { accessSync, chmodSync, constants, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { conflict, forbidden, messageOf, systemCode, unavailable } from "../../lib/errors";
import type { Reader } from "../../lib/format";
import { tryLock } from "../../lib/lock";
import { admit, type Candidate, type OwnProgram } from "../../wire/release/candidate";
import {
  goBack,
  readState,
  swap,
  type UpgradeState,
  upgradeFiles,
  writeState,
} from "../../wire/release/files";
import type { PublicKey } from "../../wire/release/minisign";

/** A daemon that runs the program. */
export interface Daemon {
  /** For messages: `the daemon of the machine`. */
  readonly name: string;
  /** Whether this user may restart it. */
  readonly mayRestart: boolean;
  /** Whether root upgrades it once it has written its order, since it may not do so itself. */
  readonly byRoot: boolean;
  /** The id of the process that answers; null while none does. */
  answering(): number | null;
  /** Whether its restart would end this process too. */
  endsThis(): boolean;
  /** Begins to start it anew. @throws a failure where that cannot be asked for. */
  restart(): Promise<void>;
  /** Starts a program that goes on when the daemon ends. @throws a failure where it cannot be started. */
  startApart(command: readonly string[]): Promise<void>;
  /** @throws a failure where its folder now has a format that this version cannot read. */
  readonly requireReadable: (reader?: Reader) => void;
  /** Whether another process than `pid` answers, and is of that version where it says one. Never throws. */
  isReady(pid: number | null, version: string): Promise<boolean>;
}

export interface UpgradeOptions extends OwnProgram {
  /** Names the upgrade, for whoever asks later what became of it. */
  readonly id: string;
  readonly key: PublicKey;
  readonly allowDowngrade: boolean;
  /** Verifies the candidate, and changes nothing. */
  readonly dryRun?: boolean;
  readonly daemons: readonly Daemon[];
  /** @throws as that of a daemon, for the folder that counts where no daemon runs the program. */
  readonly requireReadable: (reader: Reader) => void;
  /** Called once the new program is verified, before anything is replaced. When it throws, nothing is. */
  announce(version: string): Promise<void>;
  /** How long daemons may take until they are ready, in milliseconds (default {@link READY_MS}). */
  readonly readyMs?: number;
  /** Called after each step on disk, for tests. */
  readonly after?: (step: string) => void;
}

interface UpgradeResult {
  readonly from: string;
  readonly to: string;
  /** The names of the daemons that were started anew, or would be. */
  readonly restarted: readonly string[];
}

/** How long the daemons may take until they are ready, in milliseconds. */
const READY_MS = 30_000;

/** The same for the old program, whose daemons may first have to end the new one. */
const READY_AGAIN_MS = 60_000;

const LOOK_MS = 200;

/**
 * Replaces the program by `candidate`.
 *
 * @throws why it was not replaced, or was put back, as a failure.
 */
export async function upgrade(candidate: Candidate, options: UpgradeOptions): Promise<UpgradeResult> {
  const { binary, version: from, daemons, id, key, allowDowngrade, announce, after = () => {} } = options;
  requireMayReplace(binary);
  for (const daemon of daemons) {
    const { name, mayRestart } = daemon;
    if (!mayRestart)
      throw forbidden(`${name} runs ${binary}, and only root may start it anew: run this as root`);
    if (daemon.endsThis())
      throw conflict(`this runs inside ${name}, which it would restart: run it from a shell of the host`);
  }
  using _lock = lock(binary);
  const admitted = await admit(options, candidate, key, allowDowngrade);
  const to = admitted.version;
  try {
    for (const { requireReadable } of daemons.length > 0 ? daemons : [options]) requireReadable(admitted);
  } catch (error) {
    rmSync(upgradeFiles(binary).fresh, { force: true });
    throw error;
  }
  const running = daemons.filter((daemon) => daemon.answering() !== null);
  const restarted = running.map(({ name }) => name);
  if (options.dryRun) {
    rmSync(upgradeFiles(binary).fresh, { force: true });
    return { from, to, restarted };
  }
  const began = new Date().toISOString();
  const write = (step: UpgradeState["step"], error: string | null, ended: string | null) =>
    writeState(binary, { format: 1, id, from, to, step, error, pid: process.pid, began, ended });
  try {
    await announce(to);
    write("begun", null, null);
  } catch (error) {
    rmSync(upgradeFiles(binary).fresh, { force: true });
    throw error;
  }
  after("begun");
  /** What is done by now does not depend on whether it can be written down. @returns `error`, and why it could not. */
  const note = (step: UpgradeState["step"], error: string | null = null) => {
    let text = error ?? "";
    try {
      write(step, error, step === "swapped" ? null : new Date().toISOString());
    } catch (failure) {
      const { state } = upgradeFiles(binary);
      text += ` (and ${state} cannot be written: ${systemCode(failure) ?? messageOf(failure)})`;
    }
    after(step);
    return text;
  };
  try {
    swap(binary);
  } catch (error) {
    const why = `${binary} cannot be replaced (${systemCode(error) ?? messageOf(error)})`;
    throw unavailable(note("failed", why));
  }
  after("swap");
  note("swapped");
  const fault = await start(running, to, options.readyMs ?? READY_MS, after);
  if (fault === null) {
    note("ok");
    return { from, to, restarted };
  }
  throw await putBack(fault);

  async function putBack(why: string) {
    for (const { name, requireReadable } of running) {
      try {
        requireReadable();
      } catch (error) {
        const { previous } = upgradeFiles(binary);
        const text = `${why}, and stays in place, since ${from} cannot use the folder of ${name} any more (${messageOf(error)}): repair what the log of the daemon says; or stop it, restore the folder from a backup from before, move ${previous} to ${binary}, and start it`;
        return unavailable(note("failed", text));
      }
    }
    try {
      goBack(binary);
    } catch (error) {
      const text = `${why}, and ${from} cannot be put back (${systemCode(error) ?? messageOf(error)})`;
      return unavailable(note("failed", text));
    }
    after("go back");
    const again = await start(running, from, READY_AGAIN_MS, after);
    const text =
      again === null
        ? `${why}: ${from} is in place again, and answers`
        : `${why}; ${from} is in place again, and ${again}`;
    return unavailable(note(again === null ? "back" : "failed", text));
  }
}

/** What updates a program of a package, by where package managers keep theirs. */
const PACKAGED: ReadonlyArray<readonly [RegExp, string]> = [
  // File Hierarchy Standard 3.0, 4.4: local programs are in /usr/local/bin.
  [/^\/usr\/s?bin\//, "upgrade the package (`apt upgrade`, `dnf upgrade`)"],
  [/\/Cellar\//, "upgrade the package (`brew upgrade`)"],
  [/\\scoop\\apps\\/i, "upgrade the package (`scoop update`)"],
  [/\\WinGet\\(Packages|Links)\\/i, "upgrade the package (`winget upgrade`)"],
];

/** @throws `conflict` for a program of a package. */
export function requireNoPackage(binary: string): void {
  const [, advice] = PACKAGED.find(([place]) => place.test(binary)) ?? [];
  if (advice !== undefined) throw conflict(`${binary} belongs to a package manager: ${advice}`);
}

/** @throws as {@link requireNoPackage}; `forbidden` where this user may not write its folder. */
export function requireMayReplace(binary: string): void {
  requireNoPackage(binary);
  try {
    accessSync(dirname(binary), constants.W_OK);
  } catch (error) {
    throw forbidden(
      `${dirname(binary)} cannot be written by this user (${systemCode(error)}): run this as its owner, or as root`,
    );
  }
}

function lock(binary: string): Disposable {
  const { folder, lock } = upgradeFiles(binary);
  mkdirSync(folder, { recursive: true });
  // Whatever the umask says: a daemon of the machine reads there what became of the upgrade.
  chmodSync(folder, 0o755);
  const release = tryLock(lock);
  if (!release) throw conflict(`another process upgrades ${binary}`);
  return { [Symbol.dispose]: release };
}

/** Starts the daemons anew and waits until they are ready. @returns what went wrong; null where nothing did. */
async function start(
  daemons: readonly Daemon[],
  version: string,
  withinMs: number,
  after: (step: string) => void,
) {
  const until = performance.now() + withinMs;
  const before = daemons.map((daemon) => ({ daemon, pid: daemon.answering() }));
  try {
    for (const { daemon } of before) await daemon.restart();
  } catch (error) {
    return `${version} could not be started (${messageOf(error)})`;
  }
  after("restart");
  for (const { daemon, pid } of before) {
    while (!(await daemon.isReady(pid, version))) {
      if (performance.now() > until) return `${version} was not ready within ${withinMs / 1_000} s`;
      await Bun.sleep(LOOK_MS);
    }
  }
  return null;
}

/** What is to be said of an upgrade that a killed process left; null where there is nothing. */
export function interruption(
  binary: string,
  own: string,
  isUnderWay: (state: UpgradeState) => boolean,
): string | null {
  const state = readState(binary);
  if (!state || state.ended !== null || isUnderWay(state)) return null;
  const { previous } = upgradeFiles(binary);
  const now = own === state.to ? `it is in place; ${previous} is ${state.from}` : `${own} is in place`;
  return `the upgrade from ${state.from} to ${state.to} at ${state.began} was interrupted: ${now}`;
}

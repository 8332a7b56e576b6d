/**
 * Ends what belongs to desktops: each process of one has the folder of the desktop in its environment (`SVC_DESKTOP`).
 *
 * Promise: when svc dies, however it dies, a small shell that waits for that ends all of it. What even that shell has left (the host
 * lost power, somebody killed it too) is ended by the next svc that starts a desktop or a server. Nothing is removed through a mount: a
 * folder in which something stays mounted stays too.
 */
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isAlive } from "../../lib/alive";
import { unavailable } from "../../lib/errors";
import { isLocked, tryLock } from "../../lib/lock";
import { look } from "../../lib/look";
import { orElse } from "../../lib/or-else";
import { OWN_GROUP } from "../../lib/process-group";
import { runProgram } from "../../lib/run-program";
import { spawn } from "../../lib/spawn";
import { asMounted, mountsBelow, realFolder } from "./mounts";

/** The variable that every process of a desktop has. */
export const MARK = "SVC_DESKTOP";

/** The folder of its programs, in that of a desktop. */
export const OWN = "own";

const PREFIX = "svc-desktops-";
/** Of a folder that is not locked yet; the process that makes it follows. */
const UNLOCKED = /^svc-desktops\.(\d+)\./;
const LOCK = "lock";

/** How long processes have to end before they are killed, in milliseconds. */
const KILL_AFTER_MS = 1_000;
/** How long they are killed, in milliseconds: one that waits for a disk does not end. */
const GIVE_UP_AFTER_MS = 11_000;
const LOOK_MS = 10;
/** How long fusermount(1), chmod(1) and rm(1) may take, in milliseconds. */
const UNMOUNT_MS = 5_000;
const REMOVE_MS = 60_000;

/** The beginning of a process's environment in which the mark is looked for, in bytes: it is the first of its variables. */
const ENVIRONMENT_BYTES = 65_536;

/**
 * Waits until svc has gone, which closes its standard input; then ends every process in whose environment `$2` matches, and removes the
 * folder `$1`, unless something is mounted in it: `$3` is its path as proc_pid_mountinfo(5) has it. A program may have made folders that
 * nobody may look into; root needs no permission, and changes none by paths that another user may exchange. An X server that is asked removes its socket and its lock. What cleans /tmp leaves a folder that is locked so (systemd-tmpfiles(8)).
 */
const KEEPER = `
exec 9<"$1"
flock -s 9 2>/dev/null
cat >/dev/null 2>&1
marked() { grep -slzaE "$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }
p=$(marked "$2"); [ -z "$p" ] || { kill -TERM $p 2>/dev/null; sleep 0.3; }
n=0
while p=$(marked "$2"); [ -n "$p" ] && [ $n -lt 50 ]; do kill -KILL $p 2>/dev/null; n=$((n+1)); sleep 0.05; done
grep -qF " $3/" /proc/self/mountinfo 2>/dev/null && exit
rm -rf "$1" 2>/dev/null && exit
[ "$(id -u)" = 0 ] || chmod -R u+rwX "$1"
rm -rf "$1"
`;

/** The command line that runs another as some user. */
type AsUser = (command: readonly string[]) => readonly string[];

/** The folder of all desktops of this process. */
export interface Keeper {
  readonly folder: string;
  /**
   * Ends the processes of the desktop whose folder that is, and removes the folder.
   *
   * @param as the command line that runs another as the user of its programs.
   * @throws `unavailable` when some do not end, or something stays mounted in the folder.
   */
  end(folder: string, as: AsUser): Promise<void>;
  /** To be called once no desktop is left. */
  leave(): void;
}

/** Makes the folder, and starts what ends all if this process dies. @throws the system error when it cannot be made. */
export async function createKeeper(): Promise<Keeper> {
  await sweep();
  const unlocked = mkdtempSync(join(tmpdir(), `svc-desktops.${process.pid}.`));
  // The user of the desktops may be another.
  chmodSync(unlocked, 0o711);
  const folder = join(tmpdir(), basename(unlocked).replace(UNLOCKED, PREFIX));
  const release = lockAs(unlocked, folder);
  const asked = [folder, markedBelow(folder), asMounted(realFolder(folder))];
  const shell = spawn(["/bin/sh", "-c", KEEPER, "svc-desktop-keeper", ...asked], {
    ...OWN_GROUP,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  return {
    folder,
    end: endDesktop,
    leave() {
      release?.();
      // It finds none, and removes the folder.
      void shell.stdin.end();
    },
  };
}

/** What matches the mark of each desktop below a folder, whatever is in its name (grep(1), extended). */
const markedBelow = (folder: string) => `^${MARK}=${folder.replaceAll(/[\\^$.|?*+()[\]{}]/g, "\\$&")}/`;

/** Locks the folder, and gives it its name. @throws the system error, and then it is gone. */
function lockAs(unlocked: string, folder: string) {
  try {
    const release = tryLock(join(unlocked, LOCK));
    // Only now: another process that sweeps takes one that nobody has locked for what a dead process left.
    renameSync(unlocked, folder);
    return release;
  } catch (error) {
    rmSync(unlocked, { recursive: true, force: true });
    throw error;
  }
}

async function endDesktop(folder: string, as: AsUser): Promise<void> {
  try {
    await endAll(() => marked((mark) => mark === folder));
  } finally {
    await unmount(folder, as);
    await remove(folder);
  }
}

/**
 * Takes off what programs of a desktop have mounted in its folders (FUSE, as sshfs and gvfs do) and left. As their user: they may exchange what
 * is at a path, and fusermount(1) takes off what is that user's alone.
 */
async function unmount(folder: string, as: AsUser): Promise<void> {
  const program = ["fusermount3", "fusermount"].find((one) => Bun.which(one) !== null);
  if (program === undefined) return;
  for (const path of mountsBelow(folder))
    await runProgram(as([program, "-u", "-z", "--", path]), UNMOUNT_MS).catch(() => {});
}

/**
 * Removes a folder with all that is in it.
 *
 * @throws `unavailable` where something is mounted in it, which would be emptied; where it cannot be removed.
 */
async function remove(folder: string): Promise<void> {
  const [mounted] = mountsBelow(folder);
  if (mounted !== undefined) throw unavailable(`${folder} stays, as something is mounted at ${mounted}`);
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // A folder that nobody may look into, where root needs no permission; or one so deep that no path leads there.
    const permit = ["chmod", "-R", "u+rwX", "--", folder];
    if (process.getuid?.() !== 0) await runProgram(permit, REMOVE_MS).catch(() => {});
    await runProgram(["rm", "-rf", "--", folder], REMOVE_MS);
  }
}

/**
 * Ends all processes that `find` finds, and those that they start meanwhile, until it finds none twice in a row.
 *
 * @throws `unavailable` when some do not end.
 */
export async function endAll(find: () => readonly number[]): Promise<void> {
  const began = performance.now();
  const signalled = new Set<number>();
  for (let isEmpty = false; ; ) {
    const pids = find();
    // One that was begun while the list of processes was read may not be in it: its place there may have been passed.
    if (pids.length === 0 && isEmpty) return;
    isEmpty = pids.length === 0;
    if (isEmpty) continue;
    const elapsedMs = performance.now() - began;
    const isLate = elapsedMs > KILL_AFTER_MS;
    if (elapsedMs > GIVE_UP_AFTER_MS) throw unavailable(`processes that do not end: ${pids.slice(0, 10)}`);
    for (const pid of pids) {
      if (!isLate && signalled.has(pid)) continue;
      signalled.add(pid);
      try {
        process.kill(pid, isLate ? "SIGKILL" : "SIGTERM");
      } catch {
        // It has ended.
      }
    }
    await Bun.sleep(LOOK_MS);
  }
}

/** The processes of this host with such a mark. Those of other users are not seen. */
function marked(isTheirs: (mark: string) => boolean): number[] {
  const found: number[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const mark = markOf(entry);
    if (mark !== undefined && isTheirs(mark)) found.push(Number(entry));
  }
  return found;
}

const buffer = Buffer.alloc(ENVIRONMENT_BYTES);

function markOf(pid: string): string | undefined {
  try {
    const file = openSync(`/proc/${pid}/environ`, "r");
    try {
      const text = buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0));
      return new RegExp(`(?:^|\\0)${MARK}=([^\\0]*)`).exec(text)?.[1];
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

/** Ends what processes that are dead have left: to be called when a server starts, and before a desktop is made. Never throws. */
export async function sweep(): Promise<void> {
  for (const name of namesIn(tmpdir())) {
    const [, maker] = UNLOCKED.exec(name) ?? [];
    if (maker === undefined ? !name.startsWith(PREFIX) : isAlive(Number(maker))) continue;
    const folder = join(tmpdir(), name);
    try {
      // Anybody can make a link in there.
      const found = look(folder);
      if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
      if (isLocked(join(folder, LOCK))) continue;
      for (const pid of marked((mark) => mark.startsWith(`${folder}/`))) {
        removeDisplay(pid);
        process.kill(pid, "SIGKILL");
      }
      // Root does not know whose the mounts are.
      if (process.getuid?.() !== 0) await unmount(folder, (command) => command);
      await remove(folder);
    } catch {
      // Another process removes it at the same time.
    }
  }
}

/** An X server that is killed leaves its socket and its lock, in which its process id is (Xserver(1)). */
function removeDisplay(pid: number): void {
  for (const name of namesIn("/tmp")) {
    const [, number] = /^\.X(\d+)-lock$/.exec(name) ?? [];
    if (number === undefined) continue;
    try {
      if (Number(readFileSync(join("/tmp", name), "utf8")) !== pid) continue;
      rmSync(join("/tmp", name), { force: true });
      rmSync(`/tmp/.X11-unix/X${number}`, { force: true });
    } catch {
      // It is another user's.
    }
  }
}

const namesIn = (folder: string): string[] => orElse(() => readdirSync(folder), []);

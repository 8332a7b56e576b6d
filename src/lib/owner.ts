/**
 * Root on somebody's folder: who decides where a path leads, and becoming that user.
 *
 * Whoever owns a folder can put a link in the place of any file there. Root would follow it; its owner can reach no more
 * through it than before. So `sudo svc … --config-dir ~ann/.svc` runs as ann.
 */
import { constants, mkdirSync, openSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { badInput, messageOf, systemCode, unavailable } from "./errors";
import { nearestExisting } from "./files";
import { cString, openLibc } from "./libc";
import { look, mayUse } from "./look";
import { orElse } from "./or-else";
import { selfCommand } from "./self-command";

/** A user other than root who decides where a path leads. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
  /** The last folder or link on the way that is theirs. */
  readonly owns: string;
  /** The folder itself if it exists, else the one in which it would be made; without links. */
  readonly folder: string;
}

/** What Linux follows at most (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Who but root decides where `path` leads: its owner, else the owner of a folder or link on the way. Null when that is root
 * alone, and when this process is not root's.
 *
 * @param path absolute. @throws `bad_input` when it leads through a link of one user into a folder of another.
 */
export function foreignOwner(path: string): Owner | null {
  if (process.geteuid?.() !== 0) return null;
  const unknown = unmappedUser();
  const isForeign = (uid: number) => uid !== 0 && uid !== unknown;
  const rest = path.split(sep);
  let folder = "/";
  let [uid, gid, owns] = [0, 0, ""];
  const linked = new Set<number>();
  for (let links = 0; rest.length > 0; ) {
    const next = join(folder, rest.shift() ?? "");
    const found = seen(next);
    if (!found) break;
    if (isForeign(found.uid)) [uid, gid, owns] = [found.uid, found.gid, next];
    if (!found.isSymbolicLink()) {
      folder = next;
      continue;
    }
    if (links++ === MAX_LINKS) throw badInput(`${path}: too many links`);
    if (isForeign(found.uid)) linked.add(found.uid);
    const target = readlinkSync(next);
    rest.unshift(...target.split(sep));
    if (target.startsWith(sep)) folder = "/";
  }
  for (const other of linked) {
    if (other === uid) continue;
    throw badInput(
      `${path} leads through a link of uid ${other} into a folder of uid ${uid}: name the folder itself`,
    );
  }
  return uid === 0 ? null : { uid, gid, owns, folder };
}

/** @throws an `unavailable` failure when somebody but root decides where root's inbox at `path` is. */
export function requireOwnInbox(path: string): void {
  const uid = foreignOwner(path)?.uid;
  if (uid)
    throw unavailable(`${path} belongs to uid ${uid}: run svc as that user, or name an inbox of root's own`);
}

/**
 * Whether somebody else could make the folder `path` before root does: it is not there, and others may write to the folder
 * that it would be in.
 */
export function isOpenToOthers(path: string): boolean {
  try {
    const folder = nearestExisting(path);
    return folder !== path && (statSync(folder).mode & OTHERS_WRITE) !== 0;
  } catch {
    // Whoever makes the folder gets the same error, with a message.
    return false;
  }
}

/** Bits of a mode. */
const OTHERS_WRITE = 0o022;

/** Undefined where nothing is, or root may not look (a network drive): then nobody but the owners so far decides. */
const seen = (path: string) => orElse(() => look(path), undefined);

/** How the users outside of a user namespace appear in it (user_namespaces(7)); undefined where there are none. */
function unmappedUser(): number | undefined {
  if (process.platform !== "linux") return undefined;
  if (/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8"))) return undefined;
  return Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"));
}

/** A user as the system knows them; undefined for a number without a name. */
interface Account {
  readonly name: string;
  readonly gid: number;
  readonly home: string;
}

/** The account of `uid` (getpwuid(3)). */
export async function accountOf(uid: number): Promise<Account | undefined> {
  const { CString, read } = await import("bun:ffi");
  const { getpwuid } = openLibc({ getpwuid: { args: ["u32"], returns: "ptr" } });
  const entry = getpwuid(uid);
  if (entry === null) return undefined;
  const text = (offset: number) => `${new CString(read.ptr(entry, offset) as typeof entry)}`;
  // struct passwd of pwd.h: macOS has the time of a change and a class before the home.
  return { name: text(0), gid: read.u32(entry, 20), home: text(process.platform === "darwin" ? 48 : 32) };
}

/**
 * Becomes `owner` for good and starts this program over as that user: same id, arguments and files.
 *
 * @param configDir what the folder is called, which stays the same under another `HOME`.
 * @throws `unavailable` when it cannot be done.
 */
export async function becomeOwner(owner: Owner, configDir: string, args: readonly string[]): Promise<void> {
  const { uid, owns, folder } = owner;
  const account = await accountOf(uid);
  const who = account ? account.name : `uid ${uid}`;
  // As it is called now: in another mount namespace, the runtime sees its own program under no path of a chroot.
  const [program = process.execPath, ...rest] = selfCommand(args);
  try {
    if (account) await enterGroups(account);
    else process.setgroups?.([]);
    process.setgid?.(account?.gid ?? owner.gid);
    process.seteuid?.(uid);
    const closed = firstClosed(folder);
    process.seteuid?.(0);
    if (closed !== undefined) await openWay(closed, folder);
    process.setuid?.(uid);
  } catch (error) {
    const why = systemCode(error) ?? messageOf(error);
    throw unavailable(`root cannot become ${who}, the owner of ${owns} (${why}): run svc as ${who}`);
  }
  console.error(`svc: runs as ${who}, the owner of ${owns}`);
  const { name = `${uid}`, home = "/" } = account ?? {};
  Object.assign(process.env, { HOME: home, USER: name, LOGNAME: name, SVC_CONFIG_DIR: configDir });
  // Root may have the program in a folder that this user cannot enter.
  const isHidden = process.platform === "linux" && !mayUse(program, constants.X_OK);
  try {
    process.execve?.(isHidden ? "/proc/self/exe" : program, [program, ...rest], process.env);
  } catch {
    // It goes on in this process, which has become that user too.
  }
}

/** Gives this process the groups of `account` (initgroups(3)). @throws when it may not. */
async function enterGroups({ name, gid }: Account): Promise<void> {
  const { ptr } = await import("bun:ffi");
  const { initgroups } = openLibc({ initgroups: { args: ["ptr", "u32"], returns: "i32" } });
  if (initgroups(ptr(cString(name)), gid) !== 0) throw new Error("its groups are refused");
}

/** The first folder on the way to `folder` that this process may not enter; undefined when it may enter all. */
function firstClosed(folder: string): string | undefined {
  const parts = folder.split(sep).filter(Boolean);
  for (const [at] of parts.entries()) {
    const path = join(sep, ...parts.slice(0, at + 1));
    try {
      statSync(path);
    } catch {
      return dirname(path);
    }
  }
  return undefined;
}

/** From sched.h and mount.h of Linux. */
const CLONE_NEWNS = 0x20000;
const [MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE] = [2n, 4n, 8n, 4096n, 16384n, 1n << 19n];

/**
 * Opens the way to `folder` for this process alone: systemd keeps the state of a service with a user of its own in a folder
 * that only root may enter (/var/lib/private), and opens it for that service in the same way (mount_namespaces(7)).
 *
 * @param closed the folder on the way that its owner may not enter: it seems to hold nothing else.
 */
async function openWay(closed: string, folder: string): Promise<void> {
  if (process.platform !== "linux") throw new Error(`only root may enter ${closed}`);
  const { ptr } = await import("bun:ffi");
  const libc = openLibc({
    unshare: { args: ["i32"], returns: "i32" },
    mount: { args: ["ptr", "ptr", "ptr", "u64", "ptr"], returns: "i32" },
  });
  const mount = (source: string, target: string, type: string, flags: bigint) => {
    const options = type === "tmpfs" ? "mode=0755,size=64k" : "";
    const failed = libc.mount(
      ptr(cString(source)),
      ptr(cString(target)),
      ptr(cString(type)),
      flags,
      ptr(cString(options)),
    );
    if (failed) throw new Error(`only root may enter ${closed}`);
  };
  if (libc.unshare(CLONE_NEWNS) !== 0) throw new Error(`only root may enter ${closed}`);
  mount("none", "/", "none", MS_REC | MS_SLAVE);
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const held = openSync(folder, flags);
  mount("svc", closed, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  const mask = process.umask(0o022);
  mkdirSync(folder, { recursive: true });
  process.umask(mask);
  mount(`/proc/self/fd/${held}`, folder, "none", MS_BIND);
}

/**
 * Loads a native addon that is embedded in the binary. The system's loader takes files only, and the file must be one that
 * nobody else can change.
 *
 * On Linux it is in memory: that needs no folder in which svc may write, from which programs may be loaded, and that is cleared
 * later. Elsewhere, and where the system loads nothing from memory, it is in a folder of this user's alone, for all of their
 * processes: Windows removes none that is in use, and a confined process can only read what it has loaded before.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { messageOf, unavailable } from "./errors";
import { clearLeftovers, PRIVATE_FILE, PRIVATE_FOLDER, writeFileAtomic } from "./files";
import { look } from "./look";
import { syscall } from "./syscall";
import { unpack } from "./unpack";

/** `asm/unistd.h` and `linux/memfd.h` */
const MEMFD_CREATE = process.arch === "arm64" ? 279 : 319;
const MFD_CLOEXEC = 1;

/** Permissions of anybody but the owner. */
const OTHERS = 0o077;

/** What the loader says where the system lets it load nothing from memory: glibc's, and musl's. */
const REFUSED = /failed to map segment|Permission denied|Operation not permitted/;

/** How long the addon of an earlier svc stays, in milliseconds: processes of that may still run. */
const KEPT_MS = 30 * 86_400_000;

/** @returns what the library in a file exports. @throws what the system's loader says. */
type Load = (file: string) => unknown;

const dlopen: Load = (file) => {
  const module = { exports: {} };
  process.dlopen(module, file);
  return module.exports;
};

/**
 * @param path of the addon, from `import … with { type: "file" }`.
 * @returns what it exports.
 * @throws what the system's loader says, with the addon's own name for its file; as {@link inFolder}.
 */
export function loadAddon(path: string, load = dlopen): unknown {
  const addon = unpack(path);
  const loadNamed: Load = (file) => {
    try {
      return load(file);
    } catch (error) {
      throw new Error(messageOf(error).replaceAll(file, basename(path)));
    }
  };
  const fd = inMemory(addon);
  if (fd === undefined) return inFolder(addon, loadNamed);
  try {
    return loadNamed(pathOf(fd));
  } catch (error) {
    closeSync(fd);
    if (!REFUSED.test(messageOf(error))) throw error;
    return inFolder(addon, loadNamed);
  }
}

const pathOf = (fd: number) => `/proc/self/fd/${fd}`;

/**
 * A file in memory, of this process alone; undefined where there is nothing of the kind. It stays open where it is loaded: the
 * loader takes two libraries of the same path for one.
 */
function inMemory(addon: Uint8Array): number | undefined {
  if (process.platform !== "linux") return undefined;
  let fd: number | undefined;
  try {
    fd = syscall("memfd_create", MEMFD_CREATE, Buffer.from("svc\0"), MFD_CLOEXEC);
    writeFileSync(fd, addon);
    if (existsSync(pathOf(fd))) return fd;
  } catch {
    // A folder is left.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

/**
 * Where the folder is made: in that for temporary files, as `BUN_TMPDIR` or the system names it. On Windows, everybody may write
 * to that of the system's own accounts: there it is in the profile of the user.
 */
export function addonPlace(platform = process.platform, env: NodeJS.ProcessEnv = process.env): string {
  if (env.BUN_TMPDIR) return env.BUN_TMPDIR;
  return platform === "win32" ? env.LOCALAPPDATA || join(homedir(), "AppData", "Local") : tmpdir();
}

/**
 * Calls `load` with a file in a folder below `place` that nobody else may write to. Where somebody else has taken its name, it is
 * a new one each time.
 *
 * @throws an `unavailable` failure where there can be none; what `load` throws.
 */
export function inFolder<T>(addon: Uint8Array, load: (file: string) => T, place = addonPlace()): T {
  let made: string | undefined;
  const inNew = () => {
    made = mkdtempSync(join(place, "svc-addon-"));
    const file = join(made, "addon.node");
    writeFileSync(file, addon, { mode: PRIVATE_FILE });
    return file;
  };
  try {
    return load(unpackedIn(place, () => inShared(addon, place) ?? inNew()));
  } finally {
    if (made) rmSync(made, { recursive: true, force: true });
  }
}

function unpackedIn(place: string, unpackNow: () => string): string {
  try {
    return unpackNow();
  } catch (error) {
    throw unavailable(`a native library cannot be unpacked into ${place}: ${messageOf(error)}`);
  }
}

/** The path of the file for all processes of this user; undefined where its folder is not theirs alone. */
function inShared(addon: Uint8Array, place: string): string | undefined {
  const uid = process.getuid?.();
  const folder = join(place, uid === undefined ? "svc-addons" : `svc-addons-${uid}`);
  // The folder of root stays root's, whoever owns the place.
  if (!look(folder) && mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER }))
    chmodSync(folder, PRIVATE_FOLDER);
  const found = look(folder);
  const isOurs = uid === undefined || (found?.uid === uid && (found.mode & OTHERS) === 0);
  if (!found?.isDirectory() || !isOurs) return undefined;
  const name = `${new Bun.CryptoHasher("sha256").update(addon).digest("hex")}.node`;
  const path = join(folder, name);
  const isThere = () => look(path)?.isFile() && readFileSync(path).equals(addon);
  if (isThere()) return path;
  removeFormer(folder);
  try {
    writeFileAtomic(path, addon, PRIVATE_FILE, false);
  } catch (error) {
    // Another process has written and loaded it meanwhile: Windows replaces no library that is in use.
    if (!isThere()) throw error;
  }
  return path;
}

/** Removes what earlier versions of svc, and processes that were killed, left in the folder. */
function removeFormer(folder: string): void {
  clearLeftovers(folder);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    try {
      if (name.endsWith(".node") && (look(path)?.mtimeMs ?? 0) < Date.now() - KEPT_MS) rmSync(path);
    } catch {
      // It is in use.
    }
  }
}

/**
 * Loads a native addon that is embedded in the binary. The system's loader takes files only, and the file must be one that
 * nobody else can change.
 *
 * On Linux it is in memory: that needs no folder in which svc may write, from which programs may be loaded, and that is cleared
 * later. Elsewhere it is in a folder of this user's alone, for all of their processes: Windows removes none that is in use.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { messageOf, unavailable } from "./errors";
import { ensurePrivateFolder, writeFileAtomic } from "./files";
import { look } from "./look";
import { syscall } from "./syscall";
import { unpack } from "./unpack";

/** `asm/unistd.h` and `linux/memfd.h` */
const MEMFD_CREATE = process.arch === "arm64" ? 279 : 319;
const MFD_CLOEXEC = 1;

/** Permissions of anybody but the owner. */
const OTHERS = 0o077;

/**
 * @param path of the addon, from `import … with { type: "file" }`.
 * @returns what it exports.
 * @throws what the system's loader says, with the addon's own name for its file.
 */
export function loadAddon(path: string): unknown {
  const addon = unpack(path);
  const file = inMemory(addon) ?? inFolder(addon);
  const module = { exports: {} };
  try {
    process.dlopen(module, file);
  } catch (error) {
    throw new Error(messageOf(error).replaceAll(file, basename(path)));
  }
  return module.exports;
}

/** The path of a file in memory, of this process alone; undefined where there is nothing of the kind. */
function inMemory(addon: Uint8Array): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const fd = syscall("memfd_create", MEMFD_CREATE, Buffer.from("svc\0"), MFD_CLOEXEC);
    writeFileSync(fd, addon);
    // It stays open: the loader takes two libraries of the same path for one.
    const path = `/proc/self/fd/${fd}`;
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The path of a file in a folder below `place` that nobody else may write to.
 *
 * @throws an `unavailable` failure where somebody else has made that folder.
 */
export function inFolder(addon: Uint8Array, place = process.env.BUN_TMPDIR || tmpdir()): string {
  const uid = process.getuid?.();
  const folder = join(place, uid === undefined ? "svc-addons" : `svc-addons-${uid}`);
  ensurePrivateFolder(folder);
  const found = look(folder);
  const isOurs = uid === undefined || (found?.uid === uid && (found.mode & OTHERS) === 0);
  if (!found?.isDirectory() || !isOurs) throw unavailable(`${folder} is not a folder of this user alone`);
  const path = join(folder, `${new Bun.CryptoHasher("sha256").update(addon).digest("hex")}.node`);
  if (!look(path)?.isFile() || !readFileSync(path).equals(addon)) writeFileAtomic(path, addon);
  return path;
}

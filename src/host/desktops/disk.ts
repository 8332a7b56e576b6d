/**
 * What the folders of a desktop may hold together: the settings, caches, data and temporary files of its programs.
 *
 * Promise: where svc may mount, they are a file system of their own in memory (tmpfs(5)): once it is full, programs are told so by the kernel,
 * and the desktop goes on. Elsewhere svc looks at them, at most a twentieth of its time; no program writes a file that is larger by itself, where
 * there is prlimit(1). What holds more is told to whoever waits for `full`.
 */
import { lstatSync, mkdirSync, readFileSync, statfsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { runProgram } from "../../lib/run-program";
import { sizeText } from "../../lib/units";

const GIB = 2 ** 30;

/** What the folders of a desktop may hold where nobody says otherwise, in bytes. */
export const DEFAULT_DISK = 2 * GIB;

/** For so many bytes there may be one file, as on ext4 (mke2fs.conf(5), `inode_ratio`); but {@link FEWEST_FILES} in any case. */
const BYTES_A_FILE = 16_384;
const FEWEST_FILES = 4_096;

/** How long there is between two looks, in milliseconds; at least so many times what a look has taken. */
const LOOK_EVERY_MS = 2_000;
const REST = 19;

/** `st_blocks` counts these (inode(7)). */
const BLOCK = 512;

/** Of a file system, so much has to be free for it not to be full: a program that fails to write takes its half-written file away. */
const FREE = 0.01;

/** How long mount(8) may take, in milliseconds. */
const MOUNT_MS = 5_000;

/** CAP_SYS_ADMIN (capabilities(7)). */
const MAY_MOUNT = 21n;

/** `file_system`: its programs are told by the kernel that it is full. `looks`: svc finds out, and ends the desktop. */
export type DiskWay = "file_system" | "looks";

/** What the folders of a desktop hold, and may hold. */
export interface DiskUse {
  readonly limit_bytes: number;
  readonly used_bytes: number;
  readonly kept_by: DiskWay;
}

/** What they hold once it is too much. */
export interface FullDisk extends DiskUse {
  /** In words. */
  readonly text: string;
}

/** The folders of one desktop. */
export interface Disk {
  /** The command line that runs `command`, so that it writes no larger file. */
  within(command: readonly string[]): readonly string[];
  /** As of the last look. */
  use(): DiskUse;
  /** Resolves when it is full, or holds too much; never otherwise. */
  readonly full: Promise<FullDisk>;
}

/** What bounds the folders of the desktops of this process. */
export interface Disks {
  readonly limitBytes: number;
  /** How: a mount that fails later leaves `looks`. */
  way(): DiskWay;
  /** Makes the folder, in which those of a desktop are to be. It is looked at until it is gone. @throws the system error. */
  make(folder: string, mode: number): Promise<Disk>;
}

/** What {@link createDisks} is given. */
export interface DisksParts {
  readonly limitBytes: number;
  readonly log: Log;
  /** What a file system in memory may hold: a larger limit is kept by looks (default: half of the memory of the host, tmpfs(5)). */
  readonly mostInMemory?: number;
  /** Between two looks, in milliseconds. */
  readonly lookEveryMs?: number;
}

export function createDisks({ limitBytes, log, mostInMemory, lookEveryMs }: DisksParts): Disks {
  const most = mostInMemory ?? totalmem() / 2;
  let mayMount: boolean | undefined;
  const looks = createLooks(lookEveryMs ?? LOOK_EVERY_MS);
  const way = (): DiskWay => {
    mayMount ??= limitBytes <= most && canMount();
    return mayMount ? "file_system" : "looks";
  };
  return {
    limitBytes,
    way,
    async make(folder, mode) {
      mkdirSync(folder, { mode });
      if (way() === "file_system") {
        try {
          await mount(folder, mode, limitBytes);
        } catch (error) {
          mayMount = false;
          log.warn(`desktops: no file system of their own, svc looks at their folders: ${messageOf(error)}`);
        }
      }
      const disk =
        way() === "file_system" ? new MountedDisk(folder, limitBytes) : new LookedAt(folder, limitBytes);
      looks.add(disk);
      return disk;
    },
  };
}

/** Whether this process may mount: root in a container may not. */
function canMount(): boolean {
  if (process.platform !== "linux" || !Bun.which("mount") || !Bun.which("umount")) return false;
  const [, effective = "0"] = /^CapEff:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return process.getuid?.() === 0 && ((BigInt(`0x${effective}`) >> MAY_MOUNT) & 1n) === 1n;
}

/** mount(8), tmpfs(5) */
async function mount(folder: string, mode: number, bytes: number): Promise<void> {
  const limits = `size=${bytes},nr_inodes=${mostFiles(bytes)},mode=${mode.toString(8)}`;
  await runProgram(["mount", "-t", "tmpfs", "-o", `${limits},nosuid,nodev`, "svc-desktop", folder], MOUNT_MS);
}

const mostFiles = (bytes: number) => Math.max(FEWEST_FILES, Math.floor(bytes / BYTES_A_FILE));

/** What is looked at now and then. */
interface Looked {
  /** @returns false once there is nothing to look at any more. */
  look(): Promise<boolean>;
}

/** Looks at all of them, one after the other: together they take a bounded share of the time. */
function createLooks(everyMs: number) {
  const all = new Set<Looked>();
  let isLooking = false;
  const go = async () => {
    isLooking = true;
    for (let restMs = everyMs; all.size > 0; ) {
      await new Promise<void>((resolve) => setTimeout(resolve, restMs).unref());
      const began = performance.now();
      for (const one of all) if (!(await one.look())) all.delete(one);
      restMs = Math.max(everyMs, REST * (performance.now() - began));
    }
    isLooking = false;
  };
  return {
    add(one: Looked): void {
      all.add(one);
      if (!isLooking) void go();
    },
  };
}

/** A file system of its own. */
class MountedDisk implements Disk, Looked {
  readonly #full = Promise.withResolvers<FullDisk>();
  readonly full = this.#full.promise;
  #used = 0;

  constructor(
    private readonly folder: string,
    private readonly bytes: number,
  ) {}

  within(command: readonly string[]): readonly string[] {
    return command;
  }

  use(): DiskUse {
    this.#read();
    return { limit_bytes: this.bytes, used_bytes: this.#used, kept_by: "file_system" };
  }

  async look(): Promise<boolean> {
    const read = this.#read();
    if (!read) return false;
    if (read.bfree > read.blocks * FREE && read.ffree > read.files * FREE) return true;
    const what = read.bfree > read.blocks * FREE ? "as many files as it may" : sizeText(this.#used);
    const text = `its folders are full: they hold ${what}, and --desktop-disk is ${sizeText(this.bytes)}`;
    this.#full.resolve({ ...this.use(), text });
    return false;
  }

  /** Undefined once it is gone. */
  #read() {
    try {
      const read = statfsSync(this.folder);
      this.#used = (read.blocks - read.bfree) * read.bsize;
      return read;
    } catch {
      return undefined;
    }
  }
}

/** Folders on the disk of the host. */
class LookedAt implements Disk, Looked {
  readonly #full = Promise.withResolvers<FullDisk>();
  readonly full = this.#full.promise;
  #used = 0;
  readonly #limiter = Bun.which("prlimit");

  constructor(
    private readonly folder: string,
    private readonly bytes: number,
  ) {}

  within(command: readonly string[]): readonly string[] {
    // prlimit(1), util-linux
    return this.#limiter === null ? command : [this.#limiter, `--fsize=${this.bytes}`, "--", ...command];
  }

  use(): DiskUse {
    return { limit_bytes: this.bytes, used_bytes: this.#used, kept_by: "looks" };
  }

  async look(): Promise<boolean> {
    const most = { bytes: this.bytes, files: mostFiles(this.bytes) };
    const held = await holds(this.folder, most);
    if (!isThere(this.folder)) return false;
    this.#used = held.bytes;
    if (held.bytes <= most.bytes && held.files <= most.files) return true;
    const what = held.bytes > most.bytes ? sizeText(held.bytes) : `more than ${most.files} files`;
    const text = `its folders hold ${what}, which is more than --desktop-disk ${sizeText(this.bytes)} allows`;
    this.#full.resolve({ ...this.use(), text });
    return false;
  }
}

const isThere = (folder: string): boolean => lstatSync(folder, { throwIfNoEntry: false }) !== undefined;

/**
 * What a folder holds on the disk, to the first that is more than `most`. A link is followed nowhere; a file with several names counts once.
 * What is mounted in it, such as the gvfs of a desktop, counts nothing; nor what cannot be read, and what is gone by the time it is looked at.
 */
export async function holds(
  folder: string,
  most: { readonly bytes: number; readonly files: number },
): Promise<{ readonly bytes: number; readonly files: number }> {
  const counted = new Set<number>();
  const own = await lstat(folder).catch(() => undefined);
  const folders = [folder];
  let [bytes, files] = [0, 0];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of await readdir(next).catch(() => [])) {
      const path = join(next, name);
      const found = await lstat(path).catch(() => undefined);
      if (!found || found.dev !== own?.dev) continue;
      if (found.isDirectory()) folders.push(path);
      else if (found.nlink > 1) {
        if (counted.has(found.ino)) continue;
        counted.add(found.ino);
      }
      bytes += found.blocks * BLOCK;
      files++;
      if (bytes > most.bytes || files > most.files) return { bytes, files };
    }
  }
  return { bytes, files };
}

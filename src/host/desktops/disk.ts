/**
 * What the folders of a desktop may hold together: the settings, caches, data and temporary files of its programs.
 *
 * Promise: svc measures them at intervals, for at most a twentieth of its time. Who waits for `full` learns that they hold too much. Between two
 * looks they can hold more. No desktop waits for the look at another, and nothing that is mounted in them is asked anything.
 */
import { mkdirSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../lib/errors";
import { look } from "../../lib/look";
import { sizeText, sizeTextUp } from "../../lib/units";
import { mountPoints, realFolder } from "./mounts";

const GIB = 2 ** 30;

/** What the folders of a desktop may hold where nobody says otherwise, in bytes. */
export const DEFAULT_DISK = 2 * GIB;

/** Each of these many bytes of the limit allow one file, as on ext4 (mke2fs.conf(5), `inode_ratio`); {@link FEWEST_FILES} are always allowed. */
const BYTES_A_FILE = 16_384;
const FEWEST_FILES = 4_096;

/** How long there is between two looks, in milliseconds; at least so many times what a look has taken, up to a bound. */
const LOOK_EVERY_MS = 2_000;
const REST = 19;
const REST_MOST_MS = 600_000;

/** How long a look may take, in milliseconds: what it has counted by then is what the folder holds at least. */
const LOOK_MOST_MS = 30_000;

/** `st_blocks` counts these (inode(7)). */
const BLOCK = 512;

/** What the folders of a desktop hold, and may hold. */
export interface DiskUse {
  readonly limit_bytes: number;
  readonly used_bytes: number;
}

/** What they hold once it is too much. */
export interface FullDisk extends DiskUse {
  /** In words. */
  readonly text: string;
}

/** The folders of one desktop. */
export interface Disk {
  /** As of the last look. */
  use(): DiskUse;
  /** Resolves when it holds too much; never otherwise. */
  readonly full: Promise<FullDisk>;
}

/** What bounds the folders of the desktops of this process. */
export interface Disks {
  readonly limitBytes: number;
  /** Makes the folder, in which those of a desktop are to be. It is looked at until it is gone. @throws the system error. */
  make(folder: string, mode: number): Disk;
}

/** What {@link createDisks} is given. */
export interface DisksParts {
  readonly limitBytes: number;
  /** Between two looks, in milliseconds. */
  readonly lookEveryMs?: number;
  /** What measures a folder (default: {@link holds}). */
  readonly measure?: typeof holds;
}

export function createDisks({ limitBytes, lookEveryMs, measure = holds }: DisksParts): Disks {
  const looks = createLooks(lookEveryMs ?? LOOK_EVERY_MS);
  return {
    limitBytes,
    make(folder, mode) {
      mkdirSync(folder, { mode });
      const disk = new WatchedDisk(folder, limitBytes, measure);
      void looks.follow(disk);
      return disk;
    },
  };
}

const mostFiles = (bytes: number) => Math.max(FEWEST_FILES, Math.floor(bytes / BYTES_A_FILE));

/** Looks at each of them by itself; together they take a bounded share of the time. */
function createLooks(everyMs: number) {
  let count = 0;
  return {
    /** Resolves once there is nothing to look at any more. */
    async follow(one: WatchedDisk): Promise<void> {
      count++;
      for (let restMs = everyMs, isThere = true; isThere; ) {
        await new Promise<void>((resolve) => setTimeout(resolve, restMs).unref());
        const began = performance.now();
        isThere = await one.look();
        const wanted = REST * count * (performance.now() - began);
        restMs = Math.max(everyMs, Math.min(wanted, REST_MOST_MS));
      }
      count--;
    },
  };
}

/** Folders on the disk of the host. */
class WatchedDisk implements Disk {
  readonly #full = Promise.withResolvers<FullDisk>();
  readonly full = this.#full.promise;
  #used = 0;

  constructor(
    private readonly folder: string,
    private readonly bytes: number,
    private readonly measure: typeof holds,
  ) {}

  use(): DiskUse {
    return { limit_bytes: this.bytes, used_bytes: this.#used };
  }

  /** @returns false once there is nothing to look at any more. */
  async look(): Promise<boolean> {
    const most = { bytes: this.bytes, files: mostFiles(this.bytes) };
    const held = await this.measure(this.folder, most);
    if (!look(this.folder)) return false;
    this.#used = held.bytes;
    if (held.bytes <= most.bytes && held.files <= most.files) return true;
    const what = held.bytes > most.bytes ? sizeTextUp(held.bytes) : `more than ${most.files} files`;
    const text = `its folders hold ${what}, which is more than --desktop-disk ${sizeText(this.bytes)} allows`;
    this.#full.resolve({ ...this.use(), text });
    return false;
  }
}

/** Bytes and files. */
interface FolderSize {
  readonly bytes: number;
  readonly files: number;
}

/**
 * What a folder holds on the disk; counting stops once it is more than `most`. No link is followed. The bytes of a file with several names count
 * once, and each name counts as a file. What is mounted in it, such as the gvfs of a desktop, does not count and is not asked, nor does what cannot
 * be read count. A folder so deep that nobody can look into it by its path holds too many files.
 */
export async function holds(folder: string, most: FolderSize): Promise<FolderSize> {
  const counted = new Set<number>();
  const until = performance.now() + LOOK_MOST_MS;
  const root = realFolder(folder);
  const mounts = mountPoints();
  const own = await lstat(root).catch(() => undefined);
  const folders = [root];
  let [bytes, files] = [0, 0];
  const unlessDeep = (error: unknown): undefined => {
    if (systemCode(error) === "ENAMETOOLONG") files = most.files + 1;
  };
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of (await readdir(next).catch(unlessDeep)) ?? []) {
      const path = join(next, name);
      if (mounts.has(path)) continue;
      const found = await lstat(path).catch(unlessDeep);
      const isFolder = found?.isDirectory();
      // The files of an overlay may have another device than their folder (overlayfs.rst); what is mounted is a folder.
      if (!found || (isFolder && found.dev !== own?.dev)) continue;
      if (isFolder) folders.push(path);
      if (isFolder || found.nlink === 1 || !counted.has(found.ino)) bytes += found.blocks * BLOCK;
      if (!isFolder && found.nlink > 1) counted.add(found.ino);
      // Each name counts: a look takes as long as there are names.
      files++;
      if (bytes > most.bytes || files > most.files || performance.now() > until) return { bytes, files };
    }
    if (files > most.files) break;
  }
  return { bytes, files };
}

/**
 * Partial files: what has arrived of large files whose transfer was cut, for the next transfer of the same file.
 *
 * Each is `part-<key>` in the folder for files under way. While a transfer writes it, its name is `<pid>.<uuid>.<key>`. There
 * are few, none much older than a day, and they give way to any file that needs their room.
 */
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { oldestKept } from "../../lib/age";
import { look } from "../../lib/look";

/** How many there are at most, of all senders. */
const MOST = 64;

/** How long one is kept after the last byte that was written to it, milliseconds. */
const KEPT_MS = 86_400_000;

const PREFIX = "part-";

const KEY = /^[0-9a-f]{64}$/;

/** Identifies a file of a sender, with the token that it came with. */
export const partialKey = (...parts: ReadonlyArray<string | number | null>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");

/** A new name for a file under way. @param key where it may become a partial file. */
export const underWay = (key?: string): string =>
  [process.pid, randomUUID(), ...(key === undefined ? [] : [key])].join(".");

/** The name of the partial file. */
export const partialName = (key: string): string => PREFIX + key;

/** The bytes of the partial file at `path`; undefined when there is none. What is there and is no plain file is removed. */
export function partialSize(path: string): number | undefined {
  const found = look(path);
  if (found?.isFile() && found.nlink === 1) return found.size;
  rmSync(path, { recursive: true, force: true });
  return undefined;
}

/** A partial file. */
export interface PartialFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** The partial files in `folder`, oldest first. */
export function listPartials(folder: string): PartialFile[] {
  const names = look(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name.startsWith(PREFIX))
    .flatMap((name) => {
      const path = join(folder, name);
      const found = look(path);
      return found ? [{ path, size: found.size, mtimeMs: found.mtimeMs }] : [];
    })
    .sort((a, b) => a.mtimeMs - b.mtimeMs);
}

/** Removes partial files that are old, and the oldest where there are too many. @throws the system error. */
export function tidyPartials(folder: string): void {
  const [oldest, partials] = [oldestKept(KEPT_MS), listPartials(folder)];
  for (const [at, { path, mtimeMs }] of partials.entries())
    if (partials.length - at > MOST || mtimeMs < oldest) rmSync(path, { recursive: true, force: true });
}

/**
 * Removes the files of transfers that a crash ended, in the folder for files under way; those that may go on become partial
 * files. It opens no file: whoever took over the process of a session can write anything there.
 *
 * @param pid the process that has ended; without it, no transfer may be under way.
 * @throws the system error.
 */
export function settleUnderWay(folder: string, pid?: number): void {
  for (const name of readdirSync(folder)) {
    const [writer, , key, ...more] = name.split(".");
    if (name.startsWith(PREFIX) || (pid !== undefined && writer !== `${pid}`)) continue;
    const path = join(folder, name);
    const found = look(path);
    const isResumable = key !== undefined && KEY.test(key) && more.length === 0;
    // One with another name is in the inbox already: the crash came between the two steps of its move.
    const isPartial = isResumable && found?.isFile() && found.nlink === 1;
    const partial = isPartial ? join(folder, partialName(key)) : undefined;
    const size = found?.size ?? 0;
    if (partial !== undefined && size > 0 && size >= (partialSize(partial) ?? 0)) renameSync(path, partial);
    else rmSync(path, { recursive: true, force: true });
  }
  tidyPartials(folder);
}

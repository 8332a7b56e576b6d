/**
 * The room of an inbox for files under way. Partial files give way to any other file.
 */
import { renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { unavailable } from "../../lib/errors";
import { look } from "../../lib/look";
import type { InboxPlace } from "./inbox";
import { type InboxIndex, tooManyFiles } from "./inbox-index";
import { type IncomingFile, openIncoming } from "./incoming-file";
import { listPartials, type PartialFile, partialName, partialSize, tidyPartials, underWay } from "./partials";

interface RoomForFile {
  readonly file: IncomingFile;
  readonly temporary: string;
  /** Where its partial file was, and may be again; undefined where it becomes none. */
  readonly partial: string | undefined;
}

/**
 * Makes a file under way.
 *
 * @param paths its name and those of its folders; what it would be stored as, too.
 * @param key where it may continue a partial file, and become one.
 * @throws `unavailable` when the quota or the disk has no room for it.
 */
type OpenTemporary = (size: number, paths: readonly string[], key?: string) => RoomForFile;

/**
 * @param incomingFolder the folder for files under way.
 * @param index of the inbox.
 * @param ensureFolder makes a folder that somebody may have removed.
 * @returns a function that makes a file under way.
 */
export function createRoom(
  { folder, quota, maxFiles, minFree }: InboxPlace,
  incomingFolder: string,
  index: InboxIndex,
  ensureFolder: (path: string) => void,
): OpenTemporary {
  tidyPartials(incomingFolder);
  index.forgetEnded();
  const noted = new Set(index.incoming().map(({ path }) => path));
  for (const { path, size } of listPartials(incomingFolder)) if (!noted.has(path)) index.hold(path, size);

  /**
   * Notes a file under way, where there is room.
   *
   * @param partial its partial file, which becomes the file under way.
   * @returns whether there is one; else what has no room for it.
   */
  const makeRoom = (temporary: string, size: number, paths: readonly string[], partial?: string) => {
    const present = partial === undefined ? undefined : partialSize(partial);
    if (partial !== undefined) index.release(partial);
    const full = index.reserve(temporary, { size, paths, quota, maxFiles }) ?? lacksDisk(present ?? 0);
    if (full === null && partial !== undefined && present !== undefined) renameSync(partial, temporary);
    if (full === null) return present !== undefined;
    index.release(temporary);
    if (partial !== undefined && present !== undefined) index.hold(partial, present);
    return full;
  };
  /** @returns what would have no room for a file, even without these partial files; null when there would be room. */
  const lacksRoom = (
    temporary: string,
    size: number,
    paths: readonly string[],
    partials: readonly PartialFile[],
  ) => {
    for (const { path } of partials) index.release(path);
    const freed = partials.reduce((sum, partial) => sum + partial.size, 0);
    const full = index.reserve(temporary, { size, paths, quota, maxFiles }) ?? lacksDisk(freed);
    index.release(temporary);
    for (const partial of partials) index.hold(partial.path, partial.size);
    return full;
  };
  /** @param present how many bytes of the newest file under way are on disk already, or would become free. */
  const lacksDisk = (present: number) => {
    ensureFolder(incomingFolder);
    const { bavail, bsize } = statfsSync(folder);
    const missing = index.incoming().map((file) => Math.max(0, file.size - (look(file.path)?.size ?? 0)));
    return bavail * bsize - missing.reduce((a, b) => a + b, -present) < minFree ? "disk" : null;
  };

  return (size, paths, key) => {
    const temporary = join(incomingFolder, underWay(key));
    const partial = key === undefined ? undefined : join(incomingFolder, partialName(key));
    // Others see both the note and the file, or neither: a note without a file is of a process that was killed.
    const open = () =>
      index.alone(() => {
        const made = makeRoom(temporary, size, paths, partial);
        return typeof made === "string" ? made : openIncoming(temporary, size, made);
      });
    let opened = open();
    if (typeof opened === "string") {
      index.forgetEnded();
      if (opened !== "disk") index.forgetGone((from, name) => join(folder, from, name));
      opened = open();
    }
    const partials = typeof opened === "string" ? listPartials(incomingFolder) : [];
    // A file that has no room even without them must not remove them.
    const isOfUse =
      partials.length > 0 && index.alone(() => lacksRoom(temporary, size, paths, partials)) === null;
    for (const other of isOfUse ? partials : []) {
      if (other.path === partial) continue;
      rmSync(other.path, { recursive: true, force: true });
      index.release(other.path);
      opened = open();
      if (typeof opened !== "string") break;
    }
    if (opened === "disk") throw unavailable(`the disk would have less than ${minFree} bytes free`);
    if (opened === "bytes") throw unavailable(`the inbox would hold more than ${quota} bytes`);
    if (typeof opened === "string") throw tooManyFiles(maxFiles);
    return { file: opened, temporary, partial };
  };
}

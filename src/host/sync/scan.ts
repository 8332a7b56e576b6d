/**
 * Reading a folder: its regular files, and the state of each.
 *
 * Runs in slices of a few milliseconds, so that a folder of a hundred thousand files delays nothing else.
 */
import { lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { join, sep } from "node:path";
import { messageOf, systemCode } from "../../lib/errors";
import { nextTurn } from "../../lib/turn";
import { type FileState, openFolder, toState } from "./file-state";

/** How long a slice may take, milliseconds: too short for a request to the same process to notice. */
const SLICE_MS = 4;

/** Deeper than any tree that a person makes; ends a loop of bind mounts. */
const MAX_DEPTH = 64;

/**
 * Called for each file.
 *
 * @param name relative to the folder, `/`-separated, NFC.
 * @param path with links resolved.
 */
export type FoundFile = (name: string, path: string, state: FileState) => void;

/** What a scan found besides files to send. */
export interface Scan {
  /** The reasons why entries were skipped, by name. */
  readonly passedOver: Map<string, string>;
  /** The names of files, and of folders with a `/` at the end, that could not be read: their content is unknown. */
  readonly unread: string[];
}

/** How many steps of a few microseconds are done before the clock is read: for most entries, that would be a good part. */
const STEPS = 16;

/**
 * Divides work into slices: `isOver` is called for each step, and says when to await `next`, which lets the event loop run.
 * There is no promise where there is no pause.
 */
export function createSlices() {
  let end = performance.now() + SLICE_MS;
  let steps = 0;
  return {
    isOver: () => ++steps % STEPS === 0 && performance.now() >= end,
    async next(): Promise<void> {
      await nextTurn();
      end = performance.now() + SLICE_MS;
    },
  };
}

/** @throws the system error when `folder` itself cannot be read: that is no sign of deletions. */
export async function scanFolder(folder: string, includeSubdirs: boolean, found: FoundFile): Promise<Scan> {
  const root = realpathSync(folder);
  const passedOver = new Map<string, string>();
  const unread: string[] = [];
  const folders = [{ path: root, name: "", depth: 0 }];
  const slices = createSlices();

  /** Records that an entry cannot be read, unless it was deleted after its folder was read. */
  const fail = (name: string, error: unknown) => {
    const gone = systemCode(error) === "ENOENT";
    if (gone && !name.includes("\ufffd")) return;
    passedOver.set(name, gone ? "its name is not valid UTF-8" : messageOf(error));
    unread.push(name);
  };
  const readEntries = (path: string, name: string) => {
    try {
      return readdirSync(path, { withFileTypes: true });
    } catch (error) {
      if (name === "") throw error;
      fail(name, error);
      return [];
    }
  };
  const readFile = (path: string, name: string, isLink: boolean) => {
    try {
      const file = isLink ? followLink(root, path) : { path, stats: lstatSync(path) };
      if (typeof file === "string") passedOver.set(name, file);
      else if (!file.stats.isFile()) passedOver.set(name, `is ${kindOf(file.stats)}`);
      else found(name, file.path, toState(file.stats));
    } catch (error) {
      fail(name, error);
    }
  };

  for (let at = folders.pop(); at; at = folders.pop()) {
    const entries = readEntries(at.path, at.name);
    using opened = openFolder(at.path);
    const above = at.path + sep;
    // Only where a name is not in NFC can two become one.
    const names = entries.some(({ name }) => name !== name.normalize("NFC")) ? new Set<string>() : undefined;
    for (const entry of entries) {
      if (slices.isOver()) await slices.next();
      const path = above + entry.name;
      const name = at.name + (names ? entry.name.normalize("NFC") : entry.name);
      const state = entry.isFile() ? opened.stateOf(entry.name) : undefined;
      if (names?.has(name)) passedOver.set(name, "another file has the same name in NFC");
      else if (state) found(name, path, state);
      else if (!entry.isDirectory()) readFile(path, name, entry.isSymbolicLink());
      else if (includeSubdirs && at.depth < MAX_DEPTH)
        folders.push({ path, name: `${name}/`, depth: at.depth + 1 });
      else if (includeSubdirs) passedOver.set(name, `more than ${MAX_DEPTH} folders deep`);
      names?.add(name);
    }
  }
  return { passedOver, unread };
}

/** The target of a link, or why it is not sent. */
function followLink(root: string, path: string): { path: string; stats: Stats } | string {
  let target: string;
  try {
    target = realpathSync(path);
  } catch (error) {
    return `a link that leads nowhere (${systemCode(error) ?? messageOf(error)})`;
  }
  if (!target.startsWith(join(root, sep))) return "a link that leaves the folder";
  const stats = lstatSync(target);
  return stats.isDirectory() ? "a link to a folder" : { path: target, stats };
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a pipe";
  if (stats.isSocket()) return "a socket";
  if (stats.isDirectory()) return "a folder";
  return "a device";
}

/**
 * The inbox of one sender: the folder for the files that it sends.
 *
 * Promises. No name leads out of the folder, whatever links are in it. A file appears whole. A file that this sender did not
 * write, or that somebody changed since, is never overwritten: the new one becomes `<name>.conflict-<sender>-<time>`.
 */
import { closeSync, constants, fstatSync, linkSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { conflict, systemCode } from "../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FOLDER, syncFolder } from "../../lib/files";
import { look } from "../../lib/look";
import { requireOwnInbox } from "../../lib/owner";
import { MAX_COMPONENT_BYTES, parseName } from "./file-name";
import { type InboxIndex, openInboxIndex } from "./inbox-index";
import { createRoom } from "./inbox-room";
import { type IncomingFile, openPlain } from "./incoming-file";
import { partialKey, partialSize, settleUnderWay, tidyPartials } from "./partials";

/** The folder for files under way: on the same file system as the inbox, so that the last step is a rename. */
export const INCOMING = ".incoming";

/** The inbox for the files of a peer. */
export interface InboxPlace {
  readonly folder: string;
  /** The database that records which sender wrote which file. */
  readonly index: string;
  /** The folder of this sender; a safe file name. */
  readonly sender: string;
  /** The name of the token that it came with, which alone replaces what it sent; null for the owner's. */
  readonly token?: string | null;
  /** When that token got its name, milliseconds since 1970: what came before is of another that had it. */
  readonly since?: number;
  /** The most that all inboxes may hold together, bytes; 0 for no limit. */
  readonly quota: number;
  /** The most files and folders that all inboxes may hold together; 0 for no limit. */
  readonly maxFiles: number;
  /** What must stay free on the disk, bytes. */
  readonly minFree: number;
}

/** The version of a file that another one replaces. */
interface FormerVersion {
  /** Its descriptor. */
  readonly file: number;
  readonly size: number;
}

/** A file under way to an inbox. Callers must end it: with `commit`, `abort` or `keep`; what follows does nothing. */
export interface IncomingTransfer extends Omit<IncomingFile, "finish" | "close"> {
  /** The version that it replaces, whose bytes may be used; null where there is none that this sender wrote. */
  readonly former: FormerVersion | null;
  /** Flushes the file and moves it to its name. @returns that name, relative to the sender's folder. */
  commit(): string;
  abort(): void;
  /** Keeps what has arrived as a partial file, where the transfer may be resumed and no partial file has more. */
  keep(): void;
}

/** The inbox of one sender. */
export interface Inbox extends Disposable {
  /**
   * @param size the number of bytes that will be written.
   * @param isResumable whether a transfer that is cut leaves a partial file, and the next one may use its bytes and those of
   *   the version before.
   * @throws a `bad_input` failure for a name that is not allowed, `conflict` for one that clashes with another,
   *   `unavailable` when there is no room; the system error of the disk.
   */
  begin(name: string, size: number, isResumable?: boolean): IncomingTransfer;
}

/**
 * Makes the folders that the process of a session writes to. @returns them.
 *
 * @throws what {@link requireOwnInbox} throws; the system error.
 */
export function ensureInbox({ folder, index }: InboxPlace): string[] {
  requireOwnInbox(folder);
  const folders = [folder, dirname(index)];
  for (const path of folders) ensurePrivateFolder(path);
  return folders;
}

/** @throws the system or SQLite error when the folder or the index cannot be opened. */
export function openInbox(place: InboxPlace, now = () => new Date()): Inbox {
  const { folder, sender, token, since, maxFiles } = place;
  const root = join(folder, sender);
  const incomingFolder = join(folder, INCOMING);
  ensureFolder(incomingFolder);
  const index = openInboxIndex(place.index, sender, token, since);
  const openTemporary = createRoom(place, incomingFolder, index, ensureFolder);
  const { prefixesOf, targetOf, openFormer } = createNames(root, index, sender, now);

  return {
    begin(rawName, size, isResumable = false) {
      const parts = parseName(rawName);
      const name = parts.join("/");
      const prefixes = prefixesOf(parts);
      const { storedAs, ours } = targetOf(name);
      const key = isResumable ? partialKey(sender, token ?? null, since ?? 0, name) : undefined;
      const { temporary, partial, file } = openTemporary(size, [...prefixes, storedAs], key);
      const former = isResumable && ours ? openFormer(name) : null;
      let ended = false;
      const end = (settle: () => void) => {
        if (ended) return;
        ended = true;
        file.close();
        if (former) closeSync(former.file);
        settle();
        index.release(temporary);
      };
      const drop = () => end(() => rmSync(temporary, { force: true }));
      return {
        ...file,
        former,
        commit() {
          try {
            const version = file.finish();
            const prefixes = prefixesOf(parts);
            const { storedAs, ours } = targetOf(name);
            // First the index, then the file: after a crash between the two, it must not look like somebody else's.
            index.add(storedAs, version, prefixes, maxFiles);
            ensureFolder(dirname(join(root, name)));
            index.alone(() => {
              // Another sender of that name may have put a file there meanwhile.
              if (ours && !targetOf(name).ours) throw appeared();
              moveTo(join(root, storedAs), temporary, ours);
              index.settle(storedAs, version, prefixes);
            });
            syncFolder(dirname(join(root, storedAs)));
            return storedAs;
          } finally {
            drop();
          }
        },
        abort: drop,
        keep() {
          const present = Math.max(file.position(), file.before);
          if (partial === undefined || present === 0) return drop();
          end(() => {
            index.alone(() => {
              // Another session may have kept more of the file meanwhile.
              if (present < (partialSize(partial) ?? 0)) return rmSync(temporary, { force: true });
              renameSync(temporary, partial);
              index.hold(partial, present);
            });
            tidyPartials(incomingFolder);
            index.forgetEnded();
          });
        },
      };
    },
    [Symbol.dispose]: index[Symbol.dispose],
  };
}

/** For each file: a person who empties an inbox may also delete its folders. */
const ensureFolder = (path: string) => void mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });

function createNames(root: string, index: InboxIndex, sender: string, now: () => Date) {
  return {
    /** The name and its folders. @throws `conflict` when one is a link or a file, or differs from another in case only. */
    prefixesOf(parts: readonly string[]): string[] {
      const name = JSON.stringify(parts.join("/"));
      const prefixes = parts.map((_part, at) => parts.slice(0, at + 1).join("/"));
      for (const prefix of prefixes) {
        const other = index.claimant(prefix);
        if (other === undefined || other === prefix || !look(join(root, other))) continue;
        const names = `${JSON.stringify(prefix)} differs from ${JSON.stringify(other)}`;
        throw conflict(`the file name ${names} in case only`);
      }
      for (const folder of ["", ...prefixes.slice(0, -1)]) {
        const found = look(join(root, folder));
        if (found && !found.isDirectory()) throw conflict(`${name} is below a file or a link, not a folder`);
      }
      if (look(join(root, ...parts))?.isDirectory()) throw conflict(`${name} is a folder`);
      return prefixes;
    },
    /** The name under which a file is stored now, and whether it replaces one that this sender wrote. */
    targetOf(name: string): { readonly storedAs: string; readonly ours: boolean } {
      const existing = look(join(root, name));
      const ours = existing?.isFile() === true && index.has(name, existing);
      return { storedAs: existing && !ours ? freeName(root, name, sender, now()) : name, ours };
    },
    /** The stored version of `name`, which this sender wrote; null when it is gone meanwhile. */
    openFormer(name: string): FormerVersion | null {
      let file: number | undefined;
      try {
        file = openPlain(join(root, name), constants.O_RDONLY);
        const found = fstatSync(file);
        if (found.isFile() && index.has(name, found)) return { file, size: found.size };
      } catch {
        // It cannot be read: the whole file travels.
      }
      if (file !== undefined) closeSync(file);
      return null;
    },
  };
}

/** Moves the file to its name; overwrites what is there only if it is `ours`. */
function moveTo(target: string, temporary: string, ours: boolean): void {
  if (ours) {
    renameSync(temporary, target);
    return;
  }
  try {
    linkSync(temporary, target);
  } catch (error) {
    // The second: a file system without hard links (FAT).
    if (systemCode(error) === "EEXIST" || look(target)) throw appeared();
    renameSync(temporary, target);
  }
}

const appeared = () => conflict("another file of that name has just appeared");

/** A free name for a conflicting version of `name`, shortened if it would be too long. */
function freeName(root: string, name: string, sender: string, now: Date): string {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const parent = name.slice(0, name.lastIndexOf("/") + 1);
  for (let n = 1; n < 1_000; n++) {
    const ending = `.conflict-${sender}-${time}${n === 1 ? "" : `-${n}`}`;
    const letters = [...name.slice(parent.length)];
    while (Buffer.byteLength(letters.join("") + ending) > MAX_COMPONENT_BYTES) letters.pop();
    const candidate = parent + letters.join("") + ending;
    if (!look(join(root, candidate))) return candidate;
  }
  throw conflict(`${JSON.stringify(name)} already has a thousand conflicts in this second`);
}

/**
 * Removes the files of transfers that a crash ended, below the `folder` of all inboxes; those that may go on are kept for a
 * day. It does not open the index: whoever took over the process of a session can write anything there.
 *
 * @param pid the process that has ended; without it, no transfer may be under way.
 * @throws the system error.
 */
export function clearIncoming(folder: string, pid?: number): void {
  const incoming = join(folder, INCOMING);
  if (look(incoming)) settleUnderWay(incoming, pid);
}

/**
 * Taking over the JSON file in which an earlier svc had the address book.
 *
 * The promises: it is taken over once and whole, and is kept under another name. One that comes later, also the same from a backup, is
 * not read, and stays as it is.
 */
import { chmodSync, existsSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import { sha256 } from "../../../lib/checksum";
import { messageOf, unavailable } from "../../../lib/errors";
import { ensurePrivateFolder, fileStamp, writeFileAtomic } from "../../../lib/files";
import { unlistFile } from "../../../lib/folder-files";
import type { JsonStore } from "../../../lib/json-store";
import { withLock } from "../../../lib/lock";
import type { Log } from "../../../lib/log";
import { requireWhole } from "../../../lib/sqlite";
import { readTrustFile, sizeOf } from "../../../lib/trust-files";
import type { Host } from "../host";
import type { BookItem, BookItems } from "./items";
import type { BookReader } from "./read";
import { bookBytes, forgetTaken, headOf } from "./rows";

/** Where the book is. */
export interface BookPaths {
  readonly file: string;
  /** The JSON file in which an earlier svc had it. */
  readonly former: string;
  /** The lock of those who change it. */
  readonly lock: string;
  /**
   * Is called before the database is made: gives the folder the format that an earlier svc does not open, as it would find no hosts.
   *
   * @throws where a server of an earlier svc runs.
   */
  prepare?(): Promise<void>;
}

/** What takes the file over. */
export interface TakeOver {
  /**
   * Makes the database with what `before` has become, in place of the JSON file where there is one, for who holds the lock.
   *
   * @returns as `leaveFormer`. @throws where it is not made: all is as it was.
   */
  begin(before: BookItems, items: readonly BookItem[]): Promise<boolean>;
  /**
   * Gives the JSON file that was taken over a name that says so, where it still has its own, and is as it was. Never throws.
   *
   * @returns whether it is another file, which came later.
   */
  leaveFormer(): Promise<boolean>;
  /** As `HostStore` has it. */
  takeOver(): Promise<void>;
  ignored(): string | undefined;
}

/** @param list the JSON file. @param field the field of it that has the hosts. */
export function createTakeOver(
  { file, former, lock, prepare = async () => {} }: BookPaths,
  list: JsonStore<Host>,
  { reading, database, current, forget }: BookReader,
  field: string,
  log: Log,
): TakeOver {
  /** The JSON file that came later, as it was when that was reported; or one that was not taken over, and until when it is not tried again. */
  let refused: { readonly stamp: string; readonly until: number } | undefined;

  const begin = async (before: BookItems, items: readonly BookItem[]): Promise<boolean> => {
    const bytes = readTrustFile(former);
    if (current() !== before) throw unavailable(`${basename(former)} was changed meanwhile: try again`);
    const { [field]: _, ...others } = list.whole().content;
    requireWhole(file);
    ensurePrivateFolder(dirname(file));
    writeFileAtomic(
      file,
      bookBytes(items, { others: JSON.stringify(others), taken: bytes ? sha256(bytes) : null }),
    );
    forget();
    return leaveFormer();
  };
  const leaveFormer = async (): Promise<boolean> => {
    let kept: string | undefined;
    try {
      const db = database();
      if (!db || !existsSync(former)) return false;
      const { taken } = reading(() => headOf(db));
      if (taken === null) return true;
      if (sha256(readTrustFile(former) ?? "") === taken) kept = setBeside(former);
      // The same content that comes again, from a backup, is another file.
      forgetTaken(db);
      if (kept === undefined) return true;
      log.info(`${former} was taken over into ${basename(file)}, and is kept as ${basename(kept)}`);
      await unlistFile(dirname(former), basename(former));
    } catch (error) {
      const name = kept === undefined ? "keeps its name" : `is kept as ${basename(kept)}`;
      log.warn(`${former} was taken over into ${basename(file)}, and ${name}: ${messageOf(error)}`);
    }
    return false;
  };
  const ignoredText = () =>
    `${basename(former)} is not read any more: the address book is ${basename(file)}; ${IMPORT}`;
  const takeOver = async (): Promise<void> => {
    const stamp = fileStamp(former);
    if (stamp === "" || (stamp === refused?.stamp && performance.now() < refused.until)) return;
    if (!database()) await prepare();
    // One that is broken is tried again once it is another. Where there is a database, it is that which cannot be read.
    refused = { stamp, until: database() ? performance.now() + RETRY_MS : Number.POSITIVE_INFINITY };
    current();
    refused = { stamp, until: performance.now() + RETRY_MS };
    const isOther = await withLock(lock, async () => {
      const items = current();
      return database() ? leaveFormer() : begin(items, [...items.items()]);
    });
    if (!isOther) return;
    refused = { stamp, until: Number.POSITIVE_INFINITY };
    log.warn(ignoredText());
  };
  return {
    begin,
    leaveFormer,
    takeOver,
    ignored: () => (existsSync(former) && sizeOf(file) > 0 ? ignoredText() : undefined),
  };
}

/** Gives a file that was taken over a name that says so, and keeps its tokens to its user. @returns its new path. */
function setBeside(former: string): string {
  const kept = freeName(`${former}.taken-over`);
  chmodSync(former, 0o600);
  renameSync(former, kept);
  return kept;
}

/** How long a file that was not taken over is left alone while it stays as it is, in milliseconds. */
const RETRY_MS = 60_000;

const IMPORT = "`svc admin import FILE` adds the hosts of a file; then move this one away";

/** `path`, else the first of `path-2`, `path-3`, … where nothing is. */
function freeName(path: string): string {
  for (let nth = 1; ; nth++) {
    const name = nth === 1 ? path : `${path}-${nth}`;
    if (!existsSync(name)) return name;
  }
}

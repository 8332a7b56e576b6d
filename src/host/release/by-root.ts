/**
 * Root carries out the order of a daemon of the machine, which may not write the program itself.
 *
 * Promises. Root takes nothing of the daemon but that there is an order, and two files that the release key has to have signed. It follows no
 * link in the folder of the daemon and writes nothing there; what became of the order is beside the program. However often the daemon
 * orders, root has little to do.
 */
import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync } from "node:fs";
import * as v from "valibot";
import { SHA256 } from "../../core/fields";
import { rejected, systemCode } from "../../lib/errors";
import { readSmallFile } from "../../lib/files";
import { orElse } from "../../lib/or-else";
import { upgradeFiles } from "../../wire/release/files";
import {
  MAX_SIGNATURE_BYTES,
  parseSignature,
  SIGNATURE_EXTENSION,
  verifyComment,
} from "../../wire/release/minisign";
import { MAX_BINARY_BYTES } from "../../wire/release/released-binary";
import { errorOf, ORDER, ORDER_FILE, readVerdict, START_MS, writeVerdict } from "./order";
import { type UpgradeOptions, upgrade } from "./upgrade";

/** Many times an order. */
const MAX_ORDER_BYTES = 10_000;

/**
 * How long root waits before it reads an order, in milliseconds: at least so long, and until so long after the end of the one before. systemd
 * starts it for each that is written meanwhile, but for those while it runs: of these, it reads the newest.
 */
const PAUSES = { pauseMs: 1_000, restMs: 15_000 };

/** What root reads of an order. */
const TAKEN = v.object({
  /** As it is shown later. */
  id: v.pipe(v.string(), v.regex(/^[\w-]{1,100}$/)),
  /** A name in the folder of the daemon. */
  sha256: SHA256,
  began: ORDER.entries.began,
  ended: v.null(),
});

/**
 * Carries out the order in `folder` where there is one that nobody has taken. Never throws.
 *
 * @param folder that of the daemon's files for upgrades; the folder that it is in is one that the daemon cannot move.
 * @param binary the program, absolute and without links, in a folder that root alone may write.
 * @param may whether root may write where the program is: asked after the pause, which somebody may have used to change that.
 * @param options without what the order says; what it throws ends the order.
 * @param pauses for tests.
 */
export async function carryOutByRoot(
  folder: string,
  binary: string,
  may: () => boolean,
  options: () => Promise<Omit<UpgradeOptions, "id" | "allowDowngrade" | "announce" | "binary">>,
  { pauseMs, restMs } = PAUSES,
): Promise<void> {
  const restedMs = Date.now() - Date.parse(readVerdict(binary)?.ended ?? "");
  // Not where the clock was set back.
  await Bun.sleep(restedMs >= 0 ? Math.max(pauseMs, restMs - restedMs) : pauseMs);
  if (!may()) return;
  using given = openFolder(folder);
  const order = given && readTaken(given);
  if (!given || !order || readVerdict(binary)?.id === order.id) return;
  // Nobody has taken an order that is this old: the host has already reported it as failed.
  if (Math.abs(Date.now() - Date.parse(order.began)) > START_MS) return;
  const { id, sha256 } = order;
  const note = (ended: string | null, error: string | null) =>
    writeVerdict(binary, { format: 1, id, pid: process.pid, ended, error });
  const work = async () => {
    const { folder: own } = upgradeFiles(binary);
    mkdirSync(own, { recursive: true });
    chmodSync(own, 0o755);
    note(null, null);
    const all = await options();
    using signature = given.open(`${sha256}${SIGNATURE_EXTENSION}`, MAX_SIGNATURE_BYTES);
    // Before a large file is copied for nothing.
    verifyComment(all.key, parseSignature(readSmallFile(signature.path, MAX_SIGNATURE_BYTES) ?? ""));
    using file = given.open(sha256, MAX_BINARY_BYTES);
    const candidate = { file: file.path, signature: signature.path };
    // The server has put on record that it begins.
    await upgrade(candidate, { ...all, binary, id, allowDowngrade: false, announce: async () => {} });
  };
  const error = await errorOf(work());
  try {
    note(new Date().toISOString(), error);
  } catch {
    // Once this process has ended, it is known from the state beside the program, or counts as dead.
  }
}

/** A folder, whatever has its name later. */
interface FolderHandle extends Disposable {
  /**
   * The regular file `name` of the folder's owner. @returns a path that is this file, whatever has its name later.
   *
   * @throws `rejected` for anything else, and for more than `maxBytes`.
   */
  open(name: string, maxBytes: number): Disposable & { readonly path: string };
}

function openFolder(path: string): FolderHandle | undefined {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const fd = orElse(() => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), undefined);
  if (fd === undefined) return undefined;
  const { uid } = fstatSync(fd);
  return {
    open(name, maxBytes) {
      const opened = openWithin(fd, name);
      const found = fstatSync(opened);
      const close = { path: `/proc/self/fd/${opened}`, [Symbol.dispose]: () => closeSync(opened) };
      // A second name of somebody else's file is a regular file too.
      if (found.isFile() && found.uid === uid && found.size <= maxBytes) return close;
      close[Symbol.dispose]();
      throw rejected(`${name} is not a regular file of the daemon with at most ${maxBytes} bytes`);
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function openWithin(folder: number, name: string): number {
  try {
    // A pipe would have its reader wait.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return openSync(`/proc/self/fd/${folder}/${name}`, flags);
  } catch (error) {
    throw rejected(`${name} of the daemon cannot be opened (${systemCode(error)})`);
  }
}

function readTaken(given: FolderHandle) {
  try {
    using file = given.open(ORDER_FILE, MAX_ORDER_BYTES);
    return v.parse(TAKEN, JSON.parse(readSmallFile(file.path, MAX_ORDER_BYTES) ?? ""));
  } catch {
    return null;
  }
}

/**
 * Where root writes a file that a person named: beside somebody's files, their owner could put a link on the way between the
 * check and the use. So the folder is opened without following a link, and the file is reached through the open folder.
 */
import { closeSync, constants, lstatSync, openSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { badInput } from "./errors";
import { foreignOwner } from "./owner";

/** A path, until it is disposed of. */
interface Place extends Disposable {
  /** Leads to the file; not for messages. */
  readonly path: string;
  /** For opening it: `O_NOFOLLOW` where a link there may be somebody's. */
  readonly flags: number;
}

/** `fcntl.h` of Linux: a descriptor that only names a file. */
const O_PATH = 0o10000000;

/**
 * Holds the folder of the file at `path`. Only root on Linux needs that, and gets it; elsewhere it is `path` itself.
 *
 * @throws a `bad_input` failure when a link of somebody's leads elsewhere; the system error when there is no such folder.
 */
export function holdPlace(path: string): Place {
  const absolute = resolve(path);
  const folder = dirname(absolute);
  const owner = foreignOwner(folder);
  if (!owner || process.platform !== "linux") {
    return {
      path: absolute,
      flags: isOfSomebody(absolute) ? constants.O_NOFOLLOW : 0,
      [Symbol.dispose]() {},
    };
  }
  if (!`${owner.folder}${sep}`.startsWith(`${owner.owns}${sep}`)) {
    throw badInput(`${path} leads through a link of uid ${owner.uid} to elsewhere: name the folder itself`);
  }
  statSync(folder);
  let held = openSync("/", O_PATH | constants.O_DIRECTORY);
  for (const name of owner.folder.split(sep).filter(Boolean)) {
    const outer = held;
    try {
      held = openSync(inside(outer, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } finally {
      closeSync(outer);
    }
  }
  return {
    path: inside(held, basename(absolute)),
    flags: constants.O_NOFOLLOW,
    [Symbol.dispose]: () => closeSync(held),
  };
}

const inside = (folder: number, name: string) => join("/proc/self/fd", `${folder}`, name);

/** Whether root finds something there that is not root's, or nothing yet: somebody could put a link there. */
function isOfSomebody(path: string): boolean {
  return process.geteuid?.() === 0 && lstatSync(path, { throwIfNoEntry: false })?.uid !== 0;
}

/**
 * Where root writes a file that a person named: beside somebody's files, their owner could put a link on the way between the
 * check and the use. So the folder is opened without following a link, and the file is reached through the open folder.
 */
import { closeSync, constants, mkdirSync, openSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { badInput } from "./errors";
import { nearestExisting } from "./files";
import { look } from "./look";
import { unlessCode } from "./or-else";
import { foreignOwner, type Owner } from "./owner";

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
 * @param make the mode of folders that are missing and that this makes (default: makes none).
 * @throws a `bad_input` failure when a link of somebody's leads elsewhere; the system error when there is no such folder.
 */
export function holdPlace(path: string, make?: number): Place {
  const absolute = resolve(path);
  const held = hold(dirname(absolute), make);
  if (held === null) {
    return {
      path: absolute,
      flags: isOfSomebody(absolute) ? constants.O_NOFOLLOW : 0,
      [Symbol.dispose]() {},
    };
  }
  return {
    path: inside(held, basename(absolute)),
    flags: constants.O_NOFOLLOW,
    [Symbol.dispose]: () => closeSync(held),
  };
}

/** As {@link holdPlace}, but holds the folder `path` itself. */
export function holdFolder(path: string, make?: number): Place {
  const held = hold(resolve(path), make);
  if (held === null) return { path, flags: constants.O_NOFOLLOW, [Symbol.dispose]() {} };
  return { path: inside(held, ""), flags: 0, [Symbol.dispose]: () => closeSync(held) };
}

/** A descriptor of `folder`; null where it needs none: root alone decides where the path leads, and makes nothing. */
function hold(folder: string, make: number | undefined): number | null {
  // First: what somebody puts there from now on is found below, or is in the way.
  const nearest = nearestExisting(folder);
  const owner = foreignOwner(folder);
  if (owner && !`${owner.folder}${sep}`.startsWith(`${owner.owns}${sep}`)) throw ledElsewhere(folder, owner);
  const isRoot = process.geteuid?.() === 0;
  if (process.platform !== "linux" || !isRoot || !(owner || nearest !== folder)) {
    if (make !== undefined) mkdirSync(folder, { recursive: true, mode: make });
    return null;
  }
  if (make === undefined) statSync(folder);
  const real = realpathSync(nearest);
  if (owner && owner.folder !== real) throw ledElsewhere(folder, owner);
  let held = openSync("/", O_PATH | constants.O_DIRECTORY);
  const enter = (name: string) => {
    const outer = held;
    held = openSync(inside(outer, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    closeSync(outer);
  };
  try {
    for (const name of real.split(sep).filter(Boolean)) enter(name);
    for (const name of relative(nearest, folder).split(sep).filter(Boolean)) {
      makeIn(held, name, make);
      enter(name);
    }
    return held;
  } catch (error) {
    closeSync(held);
    throw error;
  }
}

/** Makes a folder in an open one, unless another process was first. */
const makeIn = (folder: number, name: string, mode: number | undefined): void =>
  unlessCode("EEXIST", () => mkdirSync(inside(folder, name), mode));

const ledElsewhere = (path: string, { uid }: Owner) =>
  badInput(`${path} leads through a link of uid ${uid} to elsewhere: name the folder itself`);

const inside = (folder: number, name: string) => join("/proc/self/fd", `${folder}`, name);

/** Whether root finds something there that is not root's, or nothing yet: somebody could put a link there. */
function isOfSomebody(path: string): boolean {
  return process.geteuid?.() === 0 && look(path)?.uid !== 0;
}

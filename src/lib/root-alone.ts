/** Whether root alone decides what is at a path. */
import { dirname } from "node:path";
import { look } from "./look";

/** Bits of a mode. */
const OTHERS_WRITE = 0o022;

/**
 * Whether nobody but root may change or replace what is at `path`: it and each folder above it are root's, and nobody else may write them.
 * False where that cannot be seen, and for a link.
 *
 * @param path absolute. @param seen what is at a path, for tests.
 */
export function isOfRootAlone(
  path: string,
  seen: (
    path: string,
  ) => { readonly uid: number; readonly mode: number; isSymbolicLink(): boolean } | undefined = look,
): boolean {
  try {
    const found = seen(path);
    if (found?.uid !== 0 || found.isSymbolicLink() || (found.mode & OTHERS_WRITE) !== 0) return false;
    return dirname(path) === path || isOfRootAlone(dirname(path), seen);
  } catch {
    return false;
  }
}

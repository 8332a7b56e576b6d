/**
 * A PNG on its way to a file.
 */
import { statSync } from "node:fs";
import { badInput, systemCode } from "../lib/errors";
import { writeFileAtomic } from "../lib/files";

/**
 * Replaces the file at `path` (0600).
 *
 * @param field what the caller calls the path.
 * @throws a `bad_input` failure when something other than a regular file is there, or it cannot be written.
 */
export function writePng(path: string, png: Uint8Array, field: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw badInput(`${field}: what is there is not a regular file`);
    }
    writeFileAtomic(path, png);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput(`${field}: its folder does not exist`);
    if (code?.startsWith("E")) throw badInput(`${field}: cannot be written (${code})`);
    throw error;
  }
}

/** Files that somebody names: they may be no file at all, or without end. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Failure } from "./errors";

/**
 * The content of the regular file at `path`.
 *
 * @param most bytes that it may have.
 * @param refused the failure for a file that is not as `expected`.
 * @throws what `refused` returns; the system error where it cannot be read.
 */
export async function readRegularFile(
  path: string,
  most: number,
  refused: (expected: string) => Failure,
): Promise<Buffer> {
  // Without O_NONBLOCK, opening a FIFO waits for a writer (open(2)); Windows has none.
  await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const found = await file.stat();
  if (!found.isFile()) throw refused("expected a regular file");
  if (found.size > most) throw refused(`expected at most ${most} bytes`);
  return await file.readFile();
}

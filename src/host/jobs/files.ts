/**
 * The files that travel with a job, on the host: in a private folder while it runs, and nowhere afterwards.
 *
 * The promise: no name leads out of that folder.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { badInput } from "../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, PRIVATE_FOLDER } from "../../lib/files";

/** Files in place. Disposing of it removes them. */
interface JobFiles extends Disposable {
  /** The path that the list of the job has, from which they are found; empty for a list that is in no file. */
  readonly path: string;
}

/**
 * @param folder where each job has a folder of its own.
 * @param name that of the list, where there are any.
 * @throws the system error.
 */
export function placeFiles(folder: string, name: string, files: ReadonlyMap<string, Uint8Array>): JobFiles {
  if (name === "") return { path: "", [Symbol.dispose]() {} };
  const own = join(folder, crypto.randomUUID());
  const pathOf = (file: string) => {
    const path = join(own, ...file.split("/"));
    if (!path.startsWith(join(own, sep))) throw badInput("content: a name leads out of its folder");
    return path;
  };
  const remove = () => rmSync(own, { recursive: true, force: true });
  try {
    ensurePrivateFolder(own);
    for (const [file, bytes] of files) {
      mkdirSync(dirname(pathOf(file)), { recursive: true, mode: PRIVATE_FOLDER });
      // Nothing is replaced: on some file systems two names are one file.
      writeFileSync(pathOf(file), bytes, { flag: "wx", mode: PRIVATE_FILE });
    }
    return { path: pathOf(name), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Removes the files of jobs that no longer run. Never throws. */
export function removeFiles(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // What stays is private, and removed the next time.
  }
}

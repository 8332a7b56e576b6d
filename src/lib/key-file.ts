/** Making the file of a key: once, whichever processes want it first. */
import { linkSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf, systemCode, unavailable } from "./errors";
import { ensurePrivateFolder, writeFileAtomic } from "./files";

/**
 * Writes `text` to `file` (0600) unless another process has made the file meanwhile: then that one stays.
 *
 * @throws `unavailable` when it cannot be written.
 */
export function writeKeyOnce(file: string, text: string): void {
  const made = `${file}.new-${crypto.randomUUID()}`;
  try {
    ensurePrivateFolder(dirname(file));
    writeFileAtomic(made, text);
    // Unlike a rename, it leaves the key that another process has made meanwhile.
    linkSync(made, file);
  } catch (error) {
    const code = systemCode(error);
    // Some file systems have no hard links (exFAT, some network shares).
    if (/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS)$/.test(code ?? "")) writeFileAtomic(file, text);
    else if (code !== "EEXIST") {
      throw unavailable(`${basename(file)} cannot be written (${code ?? messageOf(error)})`);
    }
  } finally {
    rmSync(made, { force: true });
  }
}

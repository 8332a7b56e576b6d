/** Making the file of a key: once, whichever processes want it first; and what keys look like. */
import { linkSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf, systemCode, unavailable } from "./errors";
import { ensurePrivateFolder, writeFileAtomic } from "./files";

/** An age identity (X25519), as `age-keygen` writes it. */
export const AGE_IDENTITY = /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/;

/**
 * Writes `text` to `file` (0600) unless another process has made the file meanwhile: then that one stays.
 *
 * @param read the key in a file; undefined where there is none.
 * @returns the key that is in the file then.
 * @throws `unavailable` when it cannot be written, or is removed at once; as `read`.
 */
export function makeKey<T>(file: string, text: string, read: (file: string) => T | undefined): T {
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
  const key = read(file);
  if (key !== undefined) return key;
  throw unavailable(`${basename(file)} was removed while it was made`);
}

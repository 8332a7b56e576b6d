/**
 * `{config_dir}/nats_key` (0600): who this host is to NATS servers. It signs their nonces (`connect.ts`), and for the desk that this host
 * joins that it has the key: a text that is no nonce, so that no server can ask for it.
 */
import { dirname } from "node:path";
import { ensurePrivateFolder, writeFileAtomic } from "../../lib/files";
import { readTrustFile, unusable } from "../../lib/trust-files";
import { type NKey, newNKey, nkey } from "../../wire/nats/nkeys";

/** The key in `file`; undefined where there is none. @throws `unavailable` when it cannot be read, or is something else. */
export function readHostKey(file: string): NKey | undefined {
  const seed = readTrustFile(file);
  if (seed === undefined) return undefined;
  try {
    return nkey(seed.toString().trim());
  } catch {
    throw unusable(file, "is not the key of a host");
  }
}

/** The same, made where there is none. Called under the lock of joining. */
export function openHostKey(file: string): NKey {
  const known = readHostKey(file);
  if (known) return known;
  const made = newNKey("U");
  ensurePrivateFolder(dirname(file));
  writeFileAtomic(file, `${made.seed}\n`);
  return made;
}

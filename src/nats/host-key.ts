/**
 * `{config_dir}/nats_key` (0600): who this host is to NATS servers. It signs their nonces (`connect.ts`), and for the desk that this host
 * joins that it has the key: a text that is no nonce, so that no server can ask for it.
 */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder, writeFileAtomic } from "../lib/files";
import { type NKey, newNKey, nkey } from "./nkeys";

/** The key in `file`; undefined where there is none. @throws `unavailable` when it cannot be read, or is something else. */
export function readHostKey(file: string): NKey | undefined {
  let seed: string;
  try {
    seed = readFileSync(file, "utf8").trim();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw unavailable(`${basename(file)} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
  try {
    return nkey(seed);
  } catch {
    throw unavailable(`${basename(file)} is not the key of a host: move it away, and join the desk again`);
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

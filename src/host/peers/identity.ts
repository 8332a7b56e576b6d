/**
 * The id of this host for its peers: a file of one line in `{config_dir}`, made on first use.
 */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { systemCode, unavailable } from "../../lib/errors";
import { ensurePrivateFolder, unlessMissing, watchFile, writeFileAtomic } from "../../lib/files";
import { DEVICE_NAME } from "./file-name";

/** Safe as the name of a folder on every platform: the inbox of the peer has a folder of that name. */
export const PEER_ID = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}[A-Za-z0-9]$/,
    "2 to 64 letters, digits, - and _, without - or _ at the start or the end",
  ),
  v.check((id) => !DEVICE_NAME.test(id), "not the name of a device on Windows"),
);

/**
 * The id in the file at `path`; a new one, from the machine's name and random digits, when there is no file.
 *
 * @throws an `unavailable` failure when the file holds something else.
 */
export function readIdentity(path: string): string {
  const kept = findIdentity(path);
  if (kept !== null) return kept;
  const machine = hostname()
    .split(".")[0]
    ?.replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 40);
  const id = `${machine || "host"}-${crypto.getRandomValues(new Uint8Array(4)).toHex()}`;
  ensurePrivateFolder(dirname(path));
  writeFileAtomic(path, `${id}\n`);
  return id;
}

/** As {@link readIdentity}, but null when there is no file. */
export function findIdentity(path: string): string | null {
  const text = unlessMissing(() => readFileSync(path, "utf8"));
  if (text === undefined) return null;
  const [fault] = identityFaults(text);
  if (fault === undefined) return text.trim();
  throw unavailable(`${basename(path)}: ${fault}`);
}

/** {@link findIdentity} from memory. */
export function watchIdentity(path: string) {
  const found = watchFile<() => string | null>(
    path,
    () => {
      const id = findIdentity(path);
      return () => id;
    },
    (error) => {
      // What the system refuses, such as one more open file, it may grant at once.
      if (systemCode(error) !== undefined) return () => findIdentity(path);
      return () => {
        throw error;
      };
    },
  );
  return {
    /** As {@link findIdentity}; a file that has changed is read within a second. */
    known: (): string | null => found()(),
    /** Reads a file that has changed now. Never throws. */
    look: () => void found(true),
  };
}

/** Why a file with this `content` holds no id; empty when it does. */
export const identityFaults = (content: unknown): string[] =>
  v.is(PEER_ID, String(content).trim()) ? [] : [`expected ${PEER_ID.pipe[1].message}`];

/**
 * A folder of files that set up a server of somebody else's on another machine: as a systemd unit and as a container.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { badInput, conflict, systemCode } from "./errors";
import { PRIVATE_FOLDER, writeFileAtomic } from "./files";
import { holdPlace } from "./held-place";

export const PUBLIC_FILE = 0o644;

export interface BundleFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** @throws `conflict` when `folder` is not empty and `force` is off; `bad_input` when it cannot be read. */
export function checkBundleFolder(folder: string, force: boolean): void {
  const path = resolve(folder);
  inFolder(() => {
    if (existsSync(path) && readdirSync(path).length > 0 && !force) {
      throw conflict(`${path} is not empty: expected an empty or new folder, or --force`);
    }
  });
}

/**
 * Writes `files` to `folder`, which is made (0700) if it does not exist. Returns its absolute path.
 *
 * @param force overwrite files of these names in a folder that is not empty.
 * @throws as {@link checkBundleFolder}; `bad_input` when it cannot be written to.
 */
export function writeBundle(files: readonly BundleFile[], folder: string, force: boolean): string {
  checkBundleFolder(folder, force);
  const path = resolve(folder);
  inFolder(() => {
    for (const { name, text, mode } of files) {
      using place = holdPlace(join(path, name), PRIVATE_FOLDER);
      writeFileAtomic(place.path, text, mode);
    }
  });
  return path;
}

function inFolder(work: () => void): void {
  try {
    work();
  } catch (error) {
    const code = systemCode(error);
    throw code?.startsWith("E") ? badInput(`output_dir: cannot be written to (${code})`) : error;
  }
}

/** Whether `path` can stand in a unit and in a compose file as it is: absolute, and of characters without a meaning there. */
const isPlainPath = (path: string) =>
  path.length <= 900 && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.+@,=-]+)+$/.test(path);

/** What {@link isPlainPath} expects, in words. */
const PLAIN_PATH =
  "expected the absolute path of a file on the server, without . and .., of the characters A-Z a-z 0-9 . _ + @ , = / - (others would need quoting in a unit or a compose file)";

/** What is wrong with the paths of a certificate and its key on the server. */
export function* certificateFaults({
  tls_cert,
  tls_key,
}: {
  readonly tls_cert?: string | undefined;
  readonly tls_key?: string | undefined;
}): Generator<string> {
  for (const [field, path] of Object.entries({ tls_cert, tls_key })) {
    if (path !== undefined && !isPlainPath(path)) yield `${field}: ${PLAIN_PATH}`;
  }
  if ((tls_cert === undefined) !== (tls_key === undefined))
    yield "tls_cert, tls_key: expected both or neither";
}

/** Folders that `PrivateTmp` and `ProtectHome` hide. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** The values of `ProtectHome=` and `BindReadOnlyPaths=` with which a unit reads `files`. */
export function readableIn(files: readonly string[]) {
  const hidden = files.filter((path) => HIDDEN.test(path));
  return {
    protect_home: hidden.length > 0 ? "tmpfs" : "yes",
    bind_paths: hidden.map((path) => `BindReadOnlyPaths=${path}`),
  };
}

/** A file that a container reads, in a compose file. */
export const mount = (source: string, target: string) => `      - type: bind
        source: "${source}"
        target: "${target}"
        read_only: true
        bind:
          create_host_path: false`;

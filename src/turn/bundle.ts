/** The TURN bundle: the four files with which coturn runs on another machine. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { badInput, conflict, systemCode } from "../lib/errors";
import { PRIVATE_FILE, PRIVATE_FOLDER, writeFileAtomic } from "../lib/files";
import { turnserverConf } from "./conf";
import { readme } from "./readme";
import type { Settings } from "./settings";
import { composeFile, systemdUnit } from "./units";

const PUBLIC_FILE = 0o644;

/** A file of the bundle. */
export interface BundleFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** The files, as text. Nothing in `settings` can add a line to any of them. */
export function renderBundle(settings: Settings): BundleFile[] {
  return [
    { name: "turnserver.conf", text: turnserverConf(settings), mode: PRIVATE_FILE },
    { name: "coturn.service", text: systemdUnit(settings), mode: PUBLIC_FILE },
    { name: "docker-compose.yml", text: composeFile(settings), mode: PUBLIC_FILE },
    { name: "README.txt", text: readme(settings), mode: PRIVATE_FILE },
  ];
}

/**
 * Writes `files` to `folder`, which is made (0700) if it does not exist. Returns its absolute path.
 *
 * @param force overwrite files of these names in a folder that is not empty.
 * @throws `conflict` when the folder is not empty and `force` is off; `bad_input` when it cannot be written to.
 */
export function writeBundle(files: readonly BundleFile[], folder: string, force: boolean): string {
  const path = resolve(folder);
  try {
    if (existsSync(path) && readdirSync(path).length > 0 && !force) {
      throw conflict(`${path} is not empty: expected an empty or new folder, or --force`);
    }
    mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
    for (const { name, text, mode } of files) writeFileAtomic(join(path, name), text, mode);
  } catch (error) {
    const code = systemCode(error);
    throw code?.startsWith("E") ? badInput(`output_dir: cannot be written to (${code})`) : error;
  }
  return path;
}

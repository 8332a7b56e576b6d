/**
 * `{config_dir}` and the inbox of one process: refused where they belong to somebody else or a newer svc, made before the first file.
 */
import { resolve } from "node:path";
import { badInput, messageOf, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder } from "../lib/files";
import { requireKnownFormat } from "../lib/format";
import { requireInboxApart } from "../lib/inside";
import { foreignOwner, isOpenToOthers, requireOwnInbox } from "../lib/owner";
import { configFiles } from "../lib/paths";

interface FolderOptions {
  /** `{config_dir}`, absolute. */
  readonly configDir: string;
  /** The folder for files from peers, as it was given; without it, one in `{config_dir}`. */
  readonly givenInbox?: string | undefined;
  /** Whether this process may take files from peers: then the inbox must lie apart from `{config_dir}`. */
  readonly takesFiles: boolean;
}

/**
 * @returns `inbox`, absolute, and `check`, to be called before anything is written: reading needs no folder.
 * @throws (`check`) an `unavailable` failure where a folder belongs to somebody else, `conflict` where a newer svc wrote it, `bad_input` where the inbox cannot be made.
 */
export function createFolders({ configDir, givenInbox, takesFiles }: FolderOptions) {
  const inbox = resolve(givenInbox ?? configFiles(configDir).inbox);
  let isChecked = false;
  const refuseForeign = () => {
    const uid = foreignOwner(configDir)?.uid;
    if (uid)
      throw unavailable(`${configDir} belongs to uid ${uid}, which root must become before it uses it`);
    requireOwnInbox(inbox);
    // Other processes take no files from peers: they work also where the folder leads astray.
    if (givenInbox !== undefined || takesFiles) requireInboxApart(inbox, configDir);
  };
  const check = () => {
    if (isChecked) return;
    refuseForeign();
    requireKnownFormat(configDir);
    if (process.geteuid?.() === 0 && isOpenToOthers(configDir)) ensurePrivateFolder(configDir);
    if (givenInbox !== undefined) makeInbox(inbox);
    // Somebody may have made one of them a moment before.
    refuseForeign();
    isChecked = true;
  };
  return { inbox, check };
}

/** Made at the start, where a person reads what is wrong with it. */
function makeInbox(path: string): void {
  try {
    ensurePrivateFolder(path);
  } catch (error) {
    throw badInput(`inbox: ${path} cannot be made (${systemCode(error) ?? messageOf(error)})`);
  }
}

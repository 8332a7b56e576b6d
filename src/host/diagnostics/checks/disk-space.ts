/** `disk_space`: room at the user's home and, when that is another file system, at `{config_dir}`. */
import { stat, statfs } from "node:fs/promises";
import { nearestExisting } from "../../../lib/files";
import { home } from "../../../lib/paths";
import { check, type Finding, failed, fine, warning } from "../check";

const WARN_BELOW_BYTES = 1_000_000_000;
const ERROR_BELOW_BYTES = 100_000_000;

export const diskSpace = check({
  name: "disk_space",
  summary:
    "At least 100 MB are free at the user's home and at the configuration folder; a warning below 1 GB",
  advice: ["check that the disk, or the file server it is on, can be reached"],
  async run({ configDir }: { readonly configDir: string }) {
    // What is not there yet will be made on the disk of the folder above it.
    const [ofHome, ofConfig] = [nearestExisting(home()), nearestExisting(configDir)];
    const [there, here] = await Promise.all([stat(ofHome), stat(ofConfig)]);
    const paths = there.dev === here.dev ? [ofHome] : [ofHome, ofConfig];
    const [homeFree = 0, configFree] = await Promise.all(paths.map(freeBytes));
    return judgeSpace(homeFree, configFree);
  },
});

/** Bytes that this user may still write at `path` (statvfs(3), f_bavail). */
async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

/** @param configFree undefined when `{config_dir}` is on the file system of the home. */
export function judgeSpace(homeFree: number, configFree?: number): Finding {
  const least = Math.min(homeFree, configFree ?? homeFree);
  const extra = { home_free_bytes: homeFree, config_dir_free_bytes: configFree ?? homeFree };
  const atConfig = configFree === undefined ? "" : `, ${shown(configFree)} at the configuration folder`;
  const detail = `${shown(homeFree)} free at the user's home${atConfig}`;
  if (least >= WARN_BELOW_BYTES) return fine(detail, extra);
  const advice = ["delete what is not needed, or add space: without any, changes are refused"];
  return least < ERROR_BELOW_BYTES ? failed(detail, advice, extra) : warning(detail, advice, extra);
}

function shown(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.floor(bytes / 1e6)} MB`;
}

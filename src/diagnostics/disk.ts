/** `disk_space`: room at the user's home and, when that is another file system, at `{config_dir}`. */
import { stat, statfs } from "node:fs/promises";
import { type Check, failed, fine, warning } from "./check";

const WARN_BELOW_BYTES = 1_000_000_000;
const ERROR_BELOW_BYTES = 100_000_000;

/** What the check asks of a folder. */
export interface DiskProbe {
  /** Bytes that this user may still write there (statvfs(3), f_bavail). */
  freeBytes(path: string): Promise<number>;
  /** Tells file systems apart. */
  device(path: string): Promise<number>;
}

const disk: DiskProbe = {
  async freeBytes(path) {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
  device: async (path) => (await stat(path)).dev,
};

export function diskSpaceCheck(home: string, configDir: string, probe: DiskProbe = disk): Check {
  return {
    name: "disk_space",
    advice: ["see whether the disk, or the file server it is on, is there"],
    async run() {
      const [there, here] = await Promise.all([probe.device(home), probe.device(configDir)]);
      const paths = there === here ? [home] : [home, configDir];
      const [homeFree = 0, configFree = homeFree] = await Promise.all(paths.map(probe.freeBytes));
      const extra = { home_free_bytes: homeFree, config_dir_free_bytes: configFree };
      const atConfig = there === here ? "" : `, ${shown(configFree)} at the configuration folder`;
      const detail = `${shown(homeFree)} free at the user's home${atConfig}`;
      const least = Math.min(homeFree, configFree);
      if (least >= WARN_BELOW_BYTES) return fine(detail, extra);
      const advice = ["delete what is not needed, or give it more room: without any, changes are refused"];
      return least < ERROR_BELOW_BYTES ? failed(detail, advice, extra) : warning(detail, advice, extra);
    },
  };
}

function shown(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.floor(bytes / 1e6)} MB`;
}

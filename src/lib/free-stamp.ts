/** When a file was put aside, in the name of its backup: `<name>.bak.<unix time>`. */
import { join } from "node:path";
import { look } from "./look";

/** Unix time of `now`, in seconds, or later where one of `names` in `folder` has a backup of then, which so is never replaced. */
export function freeStamp(folder: string, names: readonly string[], now: Date): number {
  let stamp = Math.floor(now.getTime() / 1_000);
  while (names.some((name) => look(join(folder, `${name}.bak.${stamp}`)))) stamp++;
  return stamp;
}

/** `config_dir`: svc can keep what it has to keep. */
import { accessSync, constants, statSync } from "node:fs";
import { messageOf, systemCode } from "../../../lib/errors";
import { nearestExisting } from "../../../lib/files";
import { check, type Finding, failed, fine, warning } from "../check";
import type { SkipSettings } from "../skipped-checks";

const ADVICE = [
  "give the user that svc runs as a folder of its own: --config-dir, or SVC_CONFIG_DIR",
  "until then svc answers questions only: it starts no server, and refuses what changes or reveals something",
];

interface Uses {
  readonly configDir: string;
  settings(): Promise<SkipSettings>;
}

export const configDir = check({
  name: "config_dir",
  summary:
    "The configuration folder can be read and written, or made; a warning when the settings in it cannot be read",
  advice: ADVICE,
  async run({ configDir, settings }: Uses) {
    const found = judgeFolder(configDir);
    if (!found.ok) return found;
    try {
      (await settings()).get("diagnose.skip");
      return found;
    } catch (error) {
      return warning(messageOf(error), ["until then, svc uses the defaults of all settings"], found.extra);
    }
  },
});

/** Writes nothing: asks the system what this user may do (access(2)). */
export function judgeFolder(path: string): Finding {
  const extra = { path };
  try {
    const folder = nearestExisting(path);
    const all = constants.R_OK | constants.W_OK | constants.X_OK;
    accessSync(folder, folder === path ? all : constants.W_OK | constants.X_OK);
    if (!statSync(folder).isDirectory()) return failed(`${folder} is not a folder`, ADVICE, extra);
    return fine(folder === path ? path : `${path} is made when it is needed`, extra);
  } catch (error) {
    return failed(`${path} cannot be used (${systemCode(error) ?? messageOf(error)})`, ADVICE, extra);
  }
}

/** The folder of the service of the machine, which packages and `svc service install --system` start. */
import { existsSync } from "node:fs";
import { resolveConfigDir } from "./paths";

/** Where the service of the machine keeps its state: as its unit, property list or task has it. */
export function machineFolder(platform: NodeJS.Platform = process.platform): string {
  if (platform === "win32") return "C:\\ProgramData\\svc";
  return platform === "darwin" ? "/Library/Application Support/svc" : "/var/lib/svc";
}

/**
 * How to reach the service of this machine, for whoever looks for it in a folder of their own, as the end of a message; empty where there
 * is none, or another folder was meant.
 *
 * @param configDir the folder that was looked in.
 */
export function machineHint(configDir: string, machine = machineFolder()): string {
  const isOwn = configDir === resolveConfigDir(undefined, {});
  return isOwn && existsSync(machine)
    ? `; the service of this machine keeps its state in ${machine}: \`sudo svc --system …\` uses it`
    : "";
}

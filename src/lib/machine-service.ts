/** The folder of the service of the machine, which packages and `svc service install --system` start. */
import { readdirSync } from "node:fs";
import { systemCode } from "./errors";
import { look } from "./look";
import { orElse } from "./or-else";
import { resolveConfigDir } from "./paths";

/** Where the service of the machine keeps its state: as its unit, property list or task has it. */
export function machineFolder(): string {
  const { platform } = process;
  if (platform === "win32") return "C:\\ProgramData\\svc";
  return platform === "darwin" ? "/Library/Application Support/svc" : "/var/lib/svc";
}

/** Whether this process may look into a folder; true where there is none. */
export function mayEnter(folder: string): boolean {
  try {
    readdirSync(folder);
    return true;
  } catch (error) {
    return systemCode(error) !== "EACCES";
  }
}

/** Whether this machine has a service, or had one. Others than root see only the link to its folder (systemd.exec(5), DynamicUser). */
export function hasMachineService(machine = machineFolder()): boolean {
  return orElse(() => look(machine) !== undefined, false);
}

/**
 * How to reach the service of this machine, for whoever looks for it in a folder of their own, as the end of a message; empty where there
 * is none, or another folder was meant.
 *
 * @param configDir the folder that was looked in.
 */
export function machineHint(configDir: string, machine = machineFolder()): string {
  const isOwn = configDir === resolveConfigDir(undefined, {});
  return isOwn && hasMachineService(machine)
    ? `; the service of this machine keeps its state in ${machine}: \`sudo svc --system …\` uses it`
    : "";
}

/**
 * The daemons of this user and of the machine that run a given program: what an upgrade of the program has to restart.
 */
import { readFileSync, realpathSync } from "node:fs";
import { resolveConfigDir } from "../lib/paths";
import { type DaemonPlan, planHere } from "./daemon";

/** A daemon that `svc service install` has installed. */
export interface InstalledDaemon {
  /** For the machine rather than for this user. */
  readonly system: boolean;
  /** Absolute. */
  readonly configDir: string;
  /** As of the plan. */
  readonly restart: string[][];
}

/** The daemons whose program is `binary`, an absolute path without links. A file that svc has not written counts as none. */
export function daemonsOf(binary: string): InstalledDaemon[] {
  return [true, false].flatMap((system) => {
    const { file, read, restart } = planHere(system);
    const found = contentOf(file);
    const said = found === undefined ? undefined : read(found);
    if (said === undefined || realPath(said.binary) !== binary) return [];
    return [{ system, configDir: resolveConfigDir(said.configDir ?? undefined, {}), restart }];
  });
}

/** Undefined where it cannot be read: then it is not there, or another user's. */
function contentOf({ path, encoding }: DaemonPlan["file"]): string | undefined {
  try {
    const bytes = readFileSync(path);
    return encoding ? bytes.toString(encoding).replace(/^\ufeff/, "") : bytes.toString();
  } catch {
    return undefined;
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

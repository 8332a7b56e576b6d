/**
 * The daemons of this user and of the machine that run a given program: what an upgrade of the program has to restart.
 */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { orElse } from "../../lib/or-else";
import { accountOf } from "../../lib/owner";
import { resolveConfigDir } from "../../lib/paths";
import { type DaemonPlan, planDaemon, thisUser, type User } from "./daemon";
import { isUpgradedByRoot } from "./systemd";

/** A daemon that `svc service install` has installed. */
interface InstalledDaemon {
  /** Whose it is; null for the machine. */
  readonly user: User | null;
  /** Absolute. */
  readonly configDir: string;
  /** Whether root upgrades it at the order of its desk. */
  readonly byRoot: boolean;
  /** As of the plan. */
  readonly restart: string[][];
}

/**
 * The daemons whose program is `binary`, an absolute path without links. A file that svc has not written counts as none.
 *
 * @param user besides those of the machine, the daemons of this user.
 */
export function daemonsOf(
  binary: string,
  user: User = thisUser(),
  platform: NodeJS.Platform = process.platform,
): InstalledDaemon[] {
  return [true, false].flatMap((system) => {
    const options = { binary: "/usr/local/bin/svc", flags: [], configDir: null, system, ...user };
    const { file, read, restart } = planDaemon(options, platform);
    const found = contentOf(file);
    const said = found === undefined ? undefined : read(found);
    if (said === undefined || realPath(said.binary) !== binary) return [];
    const configDir = resolveConfigDir(said.configDir ?? join(user.home, ".svc"), {});
    const byRoot = system && platform === "linux" && isUpgradedByRoot(binary);
    return [{ user: system ? null : user, configDir, restart, byRoot }];
  });
}

/**
 * Whose daemons an upgrade restarts: those of this user. On macOS, where a program in `/usr/local/bin` belongs to root and runs as an
 * agent of whoever is logged in, root has no agents of its own, but restarts those of the user who has called sudo.
 */
export async function upgradingUser(
  { SUDO_UID }: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): Promise<User> {
  const user = thisUser();
  const userId = Number(SUDO_UID);
  if (platform !== "darwin" || user.userId !== 0 || !(userId > 0)) return user;
  const account = await accountOf(userId);
  return account ? { home: account.home, userId, userName: account.name } : user;
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

const realPath = (path: string): string | undefined => orElse(() => realpathSync(path), undefined);

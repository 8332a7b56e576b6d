/**
 * The user as whom a desktop runs. A server of root is told one by a flag, so that no desktop runs as root by accident.
 */
import { badInput, unavailable } from "../../lib/errors";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";

/** A user of this host. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

const LOOKUP_MS = 2_000;

/**
 * @param name as `--desktop-user` gives it. @param uid of this process.
 * @returns the user; undefined for that of this process.
 * @throws `unavailable` for root without a name, and where getent(1) is missing; `bad_input` for an unknown user, or one that this process cannot become.
 */
export async function accountOf(
  name: string | undefined,
  uid: number | undefined,
): Promise<Account | undefined> {
  if (name === undefined) {
    if (uid !== 0) return undefined;
    throw unavailable(
      "svc serve runs as root here, and starts no desktop as root by itself: name the user of desktops (svc serve --desktop-user ann)",
    );
  }
  const found = await lookUp(name);
  if (!found) throw badInput(`--desktop-user: this host has no user ${printable(name, 100)}`);
  if (found.uid === uid) return undefined;
  if (uid !== 0) throw badInput(`--desktop-user: only root can start desktops of ${printable(name, 100)}`);
  return found;
}

/** The entry of the user database (getent(1), passwd(5)). */
async function lookUp(name: string): Promise<Account | undefined> {
  if (Bun.which("getent") === null)
    throw unavailable("--desktop-user: users are looked up by getent, which is not on PATH");
  // getent(1) fails for a user that is not there.
  const printed = await runProgram(["getent", "passwd", "--", name], LOOKUP_MS).catch(() => new Uint8Array());
  const [line = ""] = new TextDecoder().decode(printed).split("\n");
  const [found = "", , uid = "", gid = "", , home = "/"] = line.split(":");
  if (found === "" || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name: found, uid: Number(uid), gid: Number(gid), home };
}

/** The command line that runs `command` as that user (setpriv(1), util-linux). */
export const asUser = (account: Account | undefined, command: readonly string[]): readonly string[] =>
  account === undefined
    ? command
    : ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--init-groups", "--", ...command];

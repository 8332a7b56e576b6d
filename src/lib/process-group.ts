/**
 * Programs in process groups of their own, which are ended as a whole.
 */
import { readFileSync } from "node:fs";
import { orElse } from "./or-else";
import { spawn } from "./spawn";

/** How long a program has to end before it is killed, in milliseconds. */
const KILL_AFTER_MS = 2_000;

/** Options of `spawn` for a program that {@link endGroup} can end with all that it starts (setsid(2)). */
export const OWN_GROUP = { detached: process.platform !== "win32" };

type GroupLeader = Pick<Bun.Subprocess, "pid" | "exited" | "kill">;

/** The command line of `command`: a line for the shell, or a program and its arguments. */
export function commandLine(command: string | readonly string[]): readonly string[] {
  if (typeof command !== "string") return command;
  return process.platform === "win32" ? ["cmd.exe", "/d", "/c", command] : ["/bin/sh", "-c", command];
}

/** Whether a process of the group that `pid` began still runs; false on Windows, where nobody knows. */
export function groupLives(pid: number): boolean {
  return orElse(() => process.platform !== "win32" && process.kill(-pid, 0), false);
}

/** The group that the process `pid` is in; undefined where it has ended, and on other systems than Linux. */
export function groupOf(pid: number): number | undefined {
  try {
    // pid (name) state parent group … (proc(5)): a name may have brackets and blanks in it.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, , group] = stat
      .slice(stat.lastIndexOf(")") + 1)
      .trim()
      .split(" ");
    return group === undefined ? undefined : Number(group);
  } catch {
    return undefined;
  }
}

/** Asks the program and its descendants to end, and kills those that do not. */
export async function endGroup(child: GroupLeader): Promise<void> {
  signalGroup(child, "SIGTERM");
  const kill = () => signalGroup(child, "SIGKILL");
  const timer = setTimeout(kill, KILL_AFTER_MS);
  await child.exited;
  clearTimeout(timer);
  // Also when the program itself has ended: its descendants may still run.
  kill();
}

function signalGroup(child: GroupLeader, signal: "SIGTERM" | "SIGKILL"): void {
  if (process.platform === "win32") {
    void endTree(child, ["taskkill", "/pid", `${child.pid}`, "/t", "/f"]);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is empty.
  }
}

/** Ends the program and its descendants by `killer`, a command line; the program alone where that fails. Never throws. */
export async function endTree(child: Pick<GroupLeader, "kill">, killer: readonly string[]): Promise<void> {
  try {
    if ((await spawn(killer, { stdio: ["ignore", "ignore", "ignore"] }).exited) === 0) return;
  } catch {
    // There is no such program.
  }
  child.kill("SIGKILL");
}

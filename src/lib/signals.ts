/**
 * Being asked to end: by Ctrl-C (SIGINT), `kill` (SIGTERM) or a terminal that closes (SIGHUP).
 *
 * The process finishes what it has to, and then ends by that very signal: a shell stops a loop only for a program that died of
 * SIGINT, and systemd counts these signals as a clean end. A shell shows 130, 143 or 129.
 */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { openLibc } from "./libc";

type Ending = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Resolves when the process is asked to end; it ends by that signal once nothing is left to do. A second Ctrl-C ends it at once. */
export function terminated(): Promise<void> {
  return new Promise((resolve) => {
    const asked = (signal: Ending) => {
      endBy(signal);
      resolve();
    };
    process.once("SIGINT", asked);
    process.once("SIGTERM", asked);
    // A terminal that closes sends it more than once: the kernel does, and the shell.
    void survivesHangup().then((survives) => survives || process.on("SIGHUP", asked));
  });
}

/** Aborted once the process is asked to end: {@link terminated}. */
export function untilTerminated(): AbortSignal {
  const ended = new AbortController();
  void terminated().then(() => ended.abort());
  return ended.signal;
}

/** Makes the process end by `signal` rather than with an exit code, when it ends. */
function endBy(signal: Ending): void {
  process.once("exit", () => {
    // Windows has no signals, and the first process of a container survives its own.
    process.exitCode = 128 + constants.signals[signal];
    if (process.platform === "win32") return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Whether SIGHUP is ignored: whoever started the process wants it to outlive its terminal (`nohup`). */
async function survivesHangup(): Promise<boolean> {
  if (process.platform === "linux") {
    const [, ignored = "0"] = /^SigIgn:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (BigInt(`0x${ignored}`) & 1n) === 1n;
  }
  if (process.platform === "win32") return false;
  const { ptr } = await import("bun:ffi");
  const { sigaction } = openLibc({ sigaction: { args: ["i32", "ptr", "ptr"], returns: "i32" } });
  // struct sigaction begins with the handler; SIG_IGN is 1 (signal.h).
  const action = new BigUint64Array(8);
  sigaction(constants.signals.SIGHUP, null, ptr(action));
  return action[0] === 1n;
}

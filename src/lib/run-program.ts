/**
 * Running a program of the host and reading its output.
 */
import { messageOf, timedOut, unavailable } from "./errors";
import { spawn } from "./spawn";

/** `system_profiler` and PowerShell take seconds on a slow machine. */
const DEADLINE_MS = 15_000;

/** More than any report of devices. */
const MAX_REPORT_BYTES = 16_000_000;

/**
 * The output of `command`: a program and its arguments, without a shell.
 *
 * @throws `timeout` when it takes longer than `deadlineMs`; `unavailable` when it cannot be started or fails.
 */
export async function runProgram(command: readonly string[], deadlineMs = DEADLINE_MS): Promise<Uint8Array> {
  const name = command[0] ?? "";
  let child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  try {
    child = spawn(command, {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: deadlineMs,
      killSignal: "SIGKILL",
      maxBuffer: MAX_REPORT_BYTES,
    });
  } catch (error) {
    throw unavailable(`${name} cannot be started (${messageOf(error)})`);
  }
  const printed = new Response(child.stdout).bytes();
  // Not awaited after a failure: a child of the program may keep the pipe open.
  printed.catch(() => {});
  const status = await child.exited;
  if (status === 0) return printed;
  if (child.signalCode === "SIGKILL") throw timedOut(`${name} did not answer within ${deadlineMs / 1_000} s`);
  throw unavailable(`${name} failed with status ${status}`);
}

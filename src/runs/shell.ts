/**
 * Running a program for a script.
 *
 * Promise: it runs in its own process group, which is ended as a whole when the run is cancelled or the time is up.
 * Background processes of a program that ended by itself live on.
 */
import { deadline } from "../lib/deadline";
import { badInput, Failure, rejected, systemCode } from "../lib/errors";

/** How much of stdout, and of stderr, is kept, in bytes; the rest is read and dropped. */
const MAX_OUTPUT = 64 * 1_024;

/** How long a program has to end before it is killed, in milliseconds. */
const KILL_AFTER_MS = 2_000;

/** How long to wait for output once the program has ended, in milliseconds: a background process may hold the pipe. */
const DRAIN_MS = 250;

export interface ShellCommand {
  /** A line for the shell (`/bin/sh -c`, on Windows `cmd /c`), or a program and its arguments. */
  readonly command: string | readonly string[];
  /** Working folder (default: that of svc). */
  readonly cwd?: string | undefined;
  readonly timeoutSeconds: number;
}

export interface ShellResult {
  /** Null when a signal ended it. */
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether some output was dropped. */
  readonly truncated: boolean;
}

/**
 * Runs a program to its end.
 *
 * @throws a `rejected` failure when it ends with anything but 0, `timeout` when the time is up, both with the
 *   {@link ShellResult} beside it; the signal's reason when it is aborted; `bad_input` when the program cannot be started.
 */
export async function runShell(
  { command, cwd, timeoutSeconds }: ShellCommand,
  signal: AbortSignal,
): Promise<ShellResult> {
  if (signal.aborted) throw signal.reason;
  const child = start(typeof command === "string" ? shellLine(command) : [...command], cwd);
  const enough = new AbortController();
  const output = Promise.all([collect(child.stdout, enough.signal), collect(child.stderr, enough.signal)]);
  let late: boolean;
  try {
    late =
      (await deadline(child.exited, { ms: timeoutSeconds * 1_000, late: () => "late", signal })) === "late";
    if (late) await endGroup(child);
  } catch (reason) {
    await endGroup(child);
    throw reason;
  } finally {
    setTimeout(() => enough.abort(), DRAIN_MS).unref();
  }
  const [stdout, stderr] = await output;
  const result: ShellResult = {
    exit_code: child.signalCode ? null : child.exitCode,
    signal: child.signalCode === null ? null : `${child.signalCode}`,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.truncated || stderr.truncated,
  };
  if (late) {
    throw new Failure("timeout", `the program was ended: its ${timeoutSeconds} s are over`, { ...result });
  }
  if (result.exit_code === 0) return result;
  const how = result.signal ? `ended by ${result.signal}` : `exit code ${result.exit_code}`;
  throw rejected(how, { ...result });
}

type Child = Bun.Subprocess<"ignore", "pipe", "pipe">;

function start(cmd: string[], cwd: string | undefined): Child {
  const { SVC_TOKEN: _secret, ...env } = process.env;
  try {
    return Bun.spawn(cmd, {
      ...(cwd !== undefined && { cwd }),
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // In its own group, which can be ended as a whole (setsid(2)).
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    // The message quotes the command, which may hold a secret.
    throw badInput(`shell_command, cwd: cannot be started (${systemCode(error) ?? "not a usable program"})`);
  }
}

const shellLine = (line: string) =>
  process.platform === "win32" ? ["cmd.exe", "/d", "/c", line] : ["/bin/sh", "-c", line];

/** Asks the program and its descendants to end, and kills those that do not. */
async function endGroup(child: Child): Promise<void> {
  signalGroup(child, "SIGTERM");
  const kill = () => signalGroup(child, "SIGKILL");
  const timer = setTimeout(kill, KILL_AFTER_MS);
  await child.exited;
  clearTimeout(timer);
  // Also when the program itself has ended: its descendants may still run.
  kill();
}

function signalGroup(child: Child, signal: "SIGTERM" | "SIGKILL"): void {
  if (process.platform === "win32") {
    Bun.spawnSync(["taskkill", "/pid", `${child.pid}`, "/t", "/f"]);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is empty.
  }
}

/** The text of the first {@link MAX_OUTPUT} bytes, up to the end of `stream` or until `enough`. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  enough: AbortSignal,
): Promise<{ readonly text: string; readonly truncated: boolean }> {
  const reader = stream.getReader();
  enough.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (bytes < MAX_OUTPUT) chunks.push(value.subarray(0, MAX_OUTPUT - bytes));
    bytes += value.length;
  }
  return { text: Buffer.concat(chunks).toString("utf8"), truncated: bytes > MAX_OUTPUT };
}

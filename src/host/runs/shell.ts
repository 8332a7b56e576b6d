/**
 * Running a program for a script.
 *
 * Promise: it runs in its own process group, which is ended as a whole when the run is cancelled or the time is up.
 * Background processes of a program that ended by itself live on.
 */
import * as v from "valibot";
import { between, field, judged, seconds } from "../../core/fields";
import { operation } from "../../core/operation";
import { COMMAND, ENV, FOLDER } from "../../core/program";
import { notPermitted, type Permission } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { badInput, Failure, rejected, systemCode } from "../../lib/errors";
import { commandLine, endGroup, OWN_GROUP } from "../../lib/process-group";
import { spawn } from "../../lib/spawn";
import type { ProgramSession } from "../desktop/programs";

/** How much of stdout, and of stderr, is kept, in bytes; the rest is read and dropped. */
const MAX_OUTPUT = 64 * 1_024;

/** How long to wait for output once the program has ended, in milliseconds: a background process may hold the pipe. */
const DRAIN_MS = 250;

const INPUT = v.strictObject({
  shell_command: COMMAND,
  cwd: FOLDER,
  timeout_s: field(
    v.optional(seconds(between(0.001, 86_400)), 300),
    "Seconds after which the program and everything it started are ended",
  ),
  env: ENV,
  stdin: field(
    v.optional(judged(v.pipe(v.string(), v.maxLength(1_000_000)))),
    "What the program reads on standard input (default: nothing); it may have secrets",
  ),
});

const RESULT = v.object({
  /** Null when a signal ended it. */
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  stdout: v.string(),
  stderr: v.string(),
  /** Whether some output was dropped. */
  truncated: v.boolean(),
});

type Result = v.InferOutput<typeof RESULT>;

export const operations = [
  operation({
    name: "shell.run",
    summary: "Run a program and wait until it ends; any exit code but 0 is a failure",
    scope: "admin",
    changes: "announces",
    needs: "shell",
    command: "AC_shell_command",
    leftOut: {
      http: "a program runs as an action only, where the run has an id, a deadline and an audit row",
      cli: "the shell that would call it runs programs itself",
    },
    example: { shell_command: "uname -a", timeout_s: 10 },
    input: INPUT,
    output: RESULT,
    async run(service: ShellUses, input, { announce, signal }) {
      if (!service.permits("shell")) throw notPermitted("AC_shell_command", "shell");
      // Its digest alone: command lines hold secrets.
      await announce(`shell.run args=sha256:${Bun.SHA256.hash(JSON.stringify(input), "hex")}`);
      return runProgram(input, signal, service.session);
    },
  }),
];

interface ShellUses {
  permits(need: Permission): boolean;
  /** That of the run, where it has a desktop of its own. */
  readonly session?: ProgramSession;
}

/**
 * Runs a program to its end.
 *
 * @param session where it is started (default: as svc itself).
 * @throws a `rejected` failure when it ends with anything but 0, `timeout` when the time is up, both with
 *   the result; the signal's reason when it is aborted; `bad_input` when the program cannot be started.
 */
export async function runProgram(
  {
    shell_command,
    cwd,
    timeout_s,
    env = {},
    stdin,
  }: v.InferInput<typeof INPUT> & { readonly timeout_s: number },
  signal: AbortSignal,
  session: ProgramSession = { env: process.env, as: (command) => command },
): Promise<Result> {
  if (signal.aborted) throw signal.reason;
  const child = start(session.as(commandLine(shell_command)), cwd, { ...session.env, ...env }, stdin);
  const enough = new AbortController();
  const output = Promise.all([collect(child.stdout, enough.signal), collect(child.stderr, enough.signal)]);
  let late: boolean;
  try {
    late = (await deadline(child.exited, { ms: timeout_s * 1_000, late: () => "late", signal })) === "late";
    if (late) await endGroup(child);
  } catch (reason) {
    await endGroup(child);
    throw reason;
  } finally {
    setTimeout(() => enough.abort(), DRAIN_MS).unref();
  }
  const [stdout, stderr] = await output;
  const result: Result = {
    exit_code: child.signalCode ? null : child.exitCode,
    signal: child.signalCode === null ? null : `${child.signalCode}`,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.truncated || stderr.truncated,
  };
  if (late) {
    throw new Failure("timeout", `the program was ended after ${timeout_s} s`, { ...result });
  }
  if (result.exit_code === 0) return result;
  const how = result.signal ? `ended by ${result.signal}` : `exit code ${result.exit_code}`;
  throw rejected(how, { ...result });
}

type Child = Bun.Subprocess<"ignore" | Blob, "pipe", "pipe">;

function start(
  cmd: readonly string[],
  cwd: string | undefined,
  env: NodeJS.ProcessEnv,
  stdin: string | undefined,
): Child {
  try {
    return spawn(cmd, {
      ...(cwd !== undefined && { cwd }),
      ...OWN_GROUP,
      env,
      stdin: stdin === undefined ? ("ignore" as const) : new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    });
  } catch (error) {
    // The message quotes the command, which may hold a secret.
    throw badInput(`shell_command, cwd: cannot be started (${systemCode(error) ?? "not a usable program"})`);
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

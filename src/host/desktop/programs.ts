/**
 * Programs that scripts start and do not wait for: windows to work in.
 *
 * Promise: a program ends with its run, with all of its process group, unless it is detached.
 */
import type { Publish } from "../../core/events";
import { resolvesWithin } from "../../lib/deadline";
import { badInput, systemCode, unavailable } from "../../lib/errors";
import { commandLine, endGroup, groupLives, OWN_GROUP } from "../../lib/process-group";
import { spawn } from "../../lib/spawn";
import { programExited } from "./events";
import { desktopVariables } from "./session";

/** How many programs may run at once, detached ones included. */
const MAX_PROGRAMS = 64;

/** How long a line for the shell may go on by itself when its run has ended, in milliseconds. */
const FINISH_MS = 200;

interface Launch {
  /** A line for the shell, or a program and its arguments. */
  readonly command: string | readonly string[];
  readonly cwd?: string | undefined;
  readonly detach: boolean;
  /** Variables of its environment, besides those of svc. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Where the programs of a desktop are started (`host/desktops`). */
export interface ProgramSession {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** The command line that runs `command` as the user of the desktop. */
  as(command: readonly string[]): readonly string[];
}

/** The run that starts a program. */
interface Starter {
  readonly id: string;
  atEnd(work: () => Promise<void>): void;
}

/** The programs that scripts have started. */
export interface Programs {
  /**
   * Starts a program where the windows of this user's desktop are, or those of `session`.
   *
   * @returns its process id.
   * @throws `bad_input` when it cannot be started, `unavailable` when too many run.
   */
  launch(launch: Launch, run: Starter, session?: ProgramSession): Promise<number>;
  /** Ends those that are not detached. */
  stop(): Promise<void>;
}

/** @param publish takes the end of each program. */
export function createPrograms(publish: Publish): Programs {
  /** Those that still run, and how to end those that do not outlive svc. */
  const running = new Map<number, () => Promise<void>>();
  return {
    async launch({ command, cwd, detach, env: own = {} }, run, session) {
      const { env, as } = session ?? (await sessionOfHost());
      if (running.size >= MAX_PROGRAMS) {
        throw unavailable(`${MAX_PROGRAMS} programs that scripts have started still run`);
      }
      const child = start(as(commandLine(command)), cwd, { ...env, ...own });
      const { pid } = child;
      let isOver = false;
      const end = async () => {
        // A line may have more to do once the window is gone that the script waited for: `zenity … && echo yes >>answers`.
        if (typeof command === "string") await resolvesWithin(FINISH_MS, child.exited);
        if (!isOver) await endGroup(child);
      };
      running.set(pid, detach ? async () => {} : end);
      void child.exited.then(() => {
        running.delete(pid);
        // Once its group is empty, the number may become another's.
        isOver = !groupLives(pid);
        const { exitCode, signalCode } = child;
        const signal = signalCode === null ? null : `${signalCode}`;
        const exit_code = signal === null ? exitCode : null;
        publish(programExited, { run_id: run.id, pid, exit_code, signal, detached: detach });
      });
      if (detach) child.unref();
      else run.atEnd(end);
      return pid;
    },
    async stop() {
      await Promise.all([...running.values()].map((end) => end()));
    },
  };
}

/** That of the desktop on which this user works. */
async function sessionOfHost(): Promise<ProgramSession> {
  const env = process.platform === "linux" ? await desktopVariables(process.env) : {};
  return { env: { ...process.env, ...env }, as: (command) => command };
}

function start(command: readonly string[], cwd: string | undefined, env: NodeJS.ProcessEnv) {
  try {
    return spawn(command, {
      ...(cwd !== undefined && { cwd }),
      ...OWN_GROUP,
      env,
      stdio: ["ignore", "ignore", "ignore"],
    });
  } catch (error) {
    // The message quotes the command, which may hold a secret.
    throw badInput(`command, cwd: cannot be started (${systemCode(error) ?? "not a usable program"})`);
  }
}

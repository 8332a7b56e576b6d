/**
 * The desktop of this host: screen, pointer, keyboard and windows.
 *
 * Promise: none of it runs in this process. A missing display, a library that crashes or hangs fail only the call that
 * met them (`worker.ts`).
 */
import { type Remote, remote } from "../lib/child";
import type { Log } from "../lib/log";
import { selfCommand } from "../lib/self-command";
import type { DesktopCalls } from "./backend";
import { createInputLock, type InputLock } from "./input-lock";
import { PressedKeys } from "./pressed-keys";
import { Worker } from "./worker";

/** How long a call may take, in milliseconds. */
const DEADLINE_MS = 10_000;
/** How long the child is kept without calls, in milliseconds. */
const IDLE_MS = 60_000;
/** How many characters one call types: each may need a keycode mapped to it first. */
const TYPED_AT_ONCE = 64;

export interface DesktopOptions {
  /** The lock file that the processes of one `{config_dir}` share. */
  readonly lockFile: string;
  readonly log: Log;
  /** The command line of the child (default: svc's own). */
  readonly command?: readonly string[];
  /** The child's environment (default: this process's). */
  readonly env?: NodeJS.ProcessEnv;
  /** How long a call may take, in milliseconds (default 10,000). */
  readonly deadlineMs?: number;
  /** How long the child is kept without calls, in milliseconds (default 60,000). */
  readonly idleMs?: number;
}

/** The child's methods; a call whose signal aborts before it is sent is not sent. */
type Calls = Remote<DesktopCalls, [signal?: AbortSignal]>;

/** Every method throws Failure: `unavailable` without a display, `timeout` after the deadline, `bad_input`, … */
export interface Desktop extends Calls {
  /** For runs of operations that say `uses: "input"`. */
  readonly inputLock: InputLock;
  /** The process id of the child; null while there is none. */
  readonly childPid: number | null;
  /** Ends the child, which releases what is down if a run is cut off. */
  stop(): Promise<void>;
}

export function createDesktop(options: DesktopOptions): Desktop {
  const { lockFile, log, command = selfCommand(["desktop-child"]), env = process.env } = options;
  const { deadlineMs = DEADLINE_MS, idleMs = IDLE_MS } = options;
  const pressed = new PressedKeys();
  const mayLeave = () => !pressed.isDown();
  const worker = new Worker({ command, env, deadlineMs, idleMs, mayLeave, log });
  const call = worker.call.bind(worker);
  const calls = remote<Calls>(call);
  const inputLock = createInputLock(lockFile, () => pressed.releaseAll(calls));
  return remote<Desktop>(call, {
    ...pressed.track<[signal?: AbortSignal]>(calls),
    /** In pieces. When it is cancelled between two, the rest is left out. */
    async type(text, signal) {
      const characters = [...text.replaceAll(/\r\n?/g, "\n")];
      for (let at = 0; at < characters.length; at += TYPED_AT_ONCE) {
        await calls.type(characters.slice(at, at + TYPED_AT_ONCE).join(""), signal);
      }
    },
    inputLock,
    get childPid() {
      return worker.pid;
    },
    stop: () => worker.stop(inputLock.taken() ? undefined : "keepPressed"),
  });
}

/**
 * Turns at the input devices: of all the runs that move the pointer or press keys, one at a time.
 *
 * Promise: turns are given in the order in which they were asked for within a process, and never to two processes on
 * the same `{config_dir}` at once (`svc serve` and a `svc execute` beside it share a pointer too). A process whose runs
 * queue up lets another in between. A holder that dies gives up its turn.
 */
import { deadline, sleep } from "../lib/deadline";
import { cancelled } from "../lib/errors";
import { type Release, tryLock } from "../lib/lock";

/** The right to use pointer and keyboard until {@link Turn.end}. */
export interface Turn {
  /**
   * Passes the turn on; a second call does nothing.
   *
   * @param how `"finished"` leaves pressed keys and buttons as the run left them (a later run may release them);
   *   `"broken"` (failed, cancelled, out of time) releases them first. Never throws.
   */
  end(how: "finished" | "broken"): Promise<void>;
}

export interface Turns {
  /**
   * Waits for a turn. A run that holds one does not take another for its nested lists.
   *
   * @throws a `cancelled` failure when `signal` is aborted before the turn comes.
   */
  take(signal: AbortSignal): Promise<Turn>;
  /** Whether a run of this process has one now. */
  taken(): boolean;
}

/** How often a turn that another process holds is asked for again, in milliseconds. */
const POLL_MS = 25;

const calledOff = (): never => {
  throw cancelled("cancelled while waiting for a turn at pointer and keyboard");
};

/**
 * @param lockFile the lock shared by the processes of a `{config_dir}`.
 * @param letGo releases every key and button that is still pressed.
 */
export function createTurns(lockFile: string, letGo: () => Promise<void>): Turns {
  let last: Promise<void> = Promise.resolve();
  let taken = false;
  return {
    taken: () => taken,
    async take(signal) {
      const before = last;
      const { promise: passedOn, resolve: passOn } = Promise.withResolvers<void>();
      last = before.then(() => passedOn);
      try {
        await deadline(before, { signal, aborted: calledOff });
        const release = await lockBetweenProcesses(lockFile, signal);
        taken = true;
        return turn(letGo, () => {
          taken = false;
          release();
          passOn();
        });
      } catch (error) {
        passOn();
        throw error;
      }
    },
  };
}

function turn(letGo: () => Promise<void>, passOn: () => void): Turn {
  let held = true;
  return {
    async end(how) {
      if (!held) return;
      held = false;
      if (how === "broken") await letGo().catch(() => {});
      passOn();
    },
  };
}

/** Whoever waits for the lock has that of the next in line: a process that has just had a turn queues up behind it. */
async function lockBetweenProcesses(lockFile: string, signal: AbortSignal): Promise<Release> {
  const next = await lockPatiently(`${lockFile}-next`, signal);
  try {
    return await lockPatiently(lockFile, signal);
  } finally {
    next();
  }
}

async function lockPatiently(lockFile: string, signal: AbortSignal): Promise<Release> {
  for (;;) {
    const release = tryLock(lockFile);
    if (release) return release;
    await sleep(POLL_MS, signal, calledOff);
  }
}

/**
 * The lock on the input devices: of all the runs that move the pointer or press keys, one at a time.
 *
 * Promise: within a process, runs get the lock in the order in which they asked for it; two processes on the same
 * `{config_dir}` (`svc serve` and `svc execute` share a pointer) never hold it at once, and a process whose runs queue
 * up lets another in between. The lock of a process that dies is free.
 */
import { deadline, sleep } from "../lib/deadline";
import { cancelled } from "../lib/errors";
import { type Release, tryLock } from "../lib/lock";

export type InputLock = ReturnType<typeof createInputLock>;

/** How often a lock that another process holds is tried again, in milliseconds. */
const POLL_MS = 25;

const aborted = (): never => {
  throw cancelled("cancelled while waiting for pointer and keyboard");
};

/**
 * @param lockFile shared by the processes of a `{config_dir}`.
 * @param releaseAll releases every key and button that is still pressed.
 */
export function createInputLock(lockFile: string, releaseAll: () => Promise<void>) {
  let last: Promise<void> = Promise.resolve();
  let taken = false;
  return {
    /** Whether a run of this process holds it now. */
    taken: () => taken,
    /**
     * Waits for the right to use pointer and keyboard. A run that has it does not take it again for its nested lists.
     *
     * @throws a `cancelled` failure when `signal` aborts first.
     */
    async take(signal: AbortSignal) {
      const before = last;
      const { promise: ended, resolve: passOn } = Promise.withResolvers<void>();
      last = before.then(() => ended);
      try {
        await deadline(before, { signal, aborted });
        const release = await lockBetweenProcesses(lockFile, signal);
        taken = true;
        let held = true;
        return {
          /**
           * Frees the lock; a second call does nothing. Never throws.
           *
           * @param how `"finished"` leaves pressed keys and buttons as the run left them (a later run may release them);
           *   `"broken"` (failed, cancelled, out of time) releases them first.
           */
          async end(how: "finished" | "broken") {
            if (!held) return;
            held = false;
            if (how === "broken") await releaseAll().catch(() => {});
            taken = false;
            release();
            passOn();
          },
        };
      } catch (error) {
        passOn();
        throw error;
      }
    },
  };
}

/** A second lock is that of the next in line: a process that has just held the first queues up behind it. */
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
    await sleep(POLL_MS, signal, aborted);
  }
}

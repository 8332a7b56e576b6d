/**
 * The lock on the input devices: of all the runs that move the pointer or press keys, one at a time.
 *
 * Promise: within a process, runs get the lock in the order in which they asked for it; two processes on the same
 * `{config_dir}` (`svc serve` and `svc execute` share a pointer) never hold it at once, and a process whose runs queue
 * up lets another in between. The lock of a process that dies is free.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { deadline, sleep } from "../lib/deadline";
import { cancelled } from "../lib/errors";
import { isLocked, type Release, tryLock } from "../lib/lock";
import { type Log, silentLog } from "../lib/log";
import { printable } from "../lib/sanitize";

export type InputLock = ReturnType<typeof createInputLock>;

/** How often a lock that another process holds is tried again, in milliseconds. */
const POLL_MS = 25;

const aborted = (): never => {
  throw cancelled("cancelled while waiting for pointer and keyboard");
};

/**
 * @param lockFile shared by the processes of a `{config_dir}`.
 * @param releaseAll releases every key and button that is still pressed.
 * @param log has a line for each that waits.
 */
export function createInputLock(lockFile: string, releaseAll: () => Promise<void>, log: Log = silentLog) {
  /** Those of this process that wait, in the order of their turns. */
  let queue: Array<() => void> = [];
  /** Whether one of this process has its turn: it holds the lock, or waits for another process. */
  let isBusy = false;
  let taken: string | undefined;
  const holderFile = `${lockFile}-holder`;

  /** Who holds it now, for messages: `run 9f1c2e4a (rest 10.0.0.7)`, of this process or another. */
  const holder = () => taken ?? otherHolder(holderFile);
  const passOn = () => {
    const next = queue.shift();
    if (next) next();
    else isBusy = false;
  };
  /** Resolves when it is the turn of this one. */
  const turn = async (signal: AbortSignal, isFirst: boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let hasCome = false;
    const come = () => {
      hasCome = true;
      resolve();
    };
    queue = isFirst ? [come, ...queue] : [...queue, come];
    try {
      await deadline(promise, { signal, aborted });
    } catch (error) {
      if (hasCome) passOn();
      else queue = queue.filter((one) => one !== come);
      throw error;
    }
  };

  return {
    /** Whether a run of this process holds it now. */
    taken: () => taken !== undefined,
    holder,
    /** Who holds it now, in words; null for nobody. It looks at the lock, where another process may hold it. */
    user(): string | null {
      if (taken !== undefined) return taken;
      return existsSync(lockFile) && isLocked(lockFile) ? otherHolder(holderFile) : null;
    },
    /**
     * Waits for the right to use pointer and keyboard. A run that has it does not take it again for its nested lists.
     *
     * @param who takes it, for those that wait.
     * @param waiting is called once when it is not free.
     * @param isFirst whether it is next, before those that wait already: a person.
     * @throws a `cancelled` failure when `signal` aborts first.
     */
    async take(signal: AbortSignal, who = "a program", waiting = () => {}, isFirst = false) {
      let isNotified = false;
      const notify = () => {
        if (isNotified) return;
        isNotified = true;
        log.info(`${who} waits for pointer and keyboard: ${holder()} uses them`);
        waiting();
      };
      if (isBusy) {
        notify();
        await turn(signal, isFirst);
      }
      isBusy = true;
      try {
        const release = await lockBetweenProcesses(lockFile, signal, notify);
        taken = who;
        leaveName(holderFile, who);
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
            taken = undefined;
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

/** For other processes. Without it, they only know that somebody holds the lock. */
function leaveName(file: string, who: string): void {
  try {
    writeFileSync(file, `${who} of process ${process.pid}`, { mode: 0o600 });
  } catch {
    // The disk is full.
  }
}

/** The name that the last holder left: nobody asks while there is none. */
function otherHolder(file: string): string {
  try {
    return printable(readFileSync(file, "utf8"), 200);
  } catch {
    return "another process";
  }
}

/** A second lock is that of the next in line: a process that has just held the first queues up behind it. */
async function lockBetweenProcesses(
  lockFile: string,
  signal: AbortSignal,
  notify: () => void,
): Promise<Release> {
  const next = await lockPatiently(`${lockFile}-next`, signal, notify);
  try {
    return await lockPatiently(lockFile, signal, notify);
  } finally {
    next();
  }
}

async function lockPatiently(lockFile: string, signal: AbortSignal, notify: () => void): Promise<Release> {
  for (;;) {
    const release = tryLock(lockFile);
    if (release) return release;
    notify();
    await sleep(POLL_MS, signal, aborted);
  }
}

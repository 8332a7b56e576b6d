/**
 * The lock on the input devices: of all the runs that move the pointer or press keys, one at a time.
 *
 * Promise: within a process, those who wait get the lock in the order of `lib/slots.ts`, the runs of one token in that in which
 * they asked for it; two processes on the same
 * `{config_dir}` (`svc serve` and `svc execute` share a pointer) never hold it at once, and a process whose runs queue
 * up lets another in between. The lock of a process that dies is free.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { sleep } from "../../lib/deadline";
import { cancelled, messageOf } from "../../lib/errors";
import { isLocked, type Release, tryLock } from "../../lib/lock";
import { type Log, silentLog } from "../../lib/log";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { createSlots, type Requester } from "../../lib/slots";

/** How often a lock that another process holds is tried again, in milliseconds. */
const POLL_MS = 25;

/** How many runs of tokens may wait: more than there may be at once (`host/runs/runs.ts`). */
const MAX_WAITING = 256;

const left = () => cancelled("cancelled while waiting for pointer and keyboard");

/** The right to use pointer and keyboard. */
interface InputHold {
  /**
   * Frees the lock; a second call does nothing. Never throws.
   *
   * @param how `"finished"` leaves pressed keys and buttons as the run left them (a later run may release them);
   *   `"broken"` (failed, cancelled, out of time) releases them first.
   */
  end(how: "finished" | "broken"): Promise<void>;
}

/** Pointer and keyboard as the owner of the folder gives them. */
interface InputPlace {
  release(): void;
  /** Resolves when the owner holds them no longer for this process. */
  readonly lost: Promise<unknown>;
}

/**
 * Asks the owner of the folder for them, where that is another process. @param waiting is called when they are not free.
 * @returns undefined where there is none that gives them.
 */
export type AskPlace = (
  who: string,
  signal: AbortSignal | undefined,
  waiting: () => void,
) => Promise<InputPlace | undefined>;

/** The lock of a process. */
export interface InputLock {
  /** Whether a run of this process holds it now. */
  taken(): boolean;
  /** Who holds it now, for messages: `run 9f1c2e4a (rest 10.0.0.7)`, of this process or another. */
  holder(): string;
  /** Who holds it now, in words; null for nobody. It looks at the lock, where another process may hold it. */
  user(): string | null;
  /**
   * Waits for the right to use pointer and keyboard. A run that has it does not take it again for its nested lists.
   *
   * @param who takes it, for those that wait.
   * @param waiting is called once when it is not free.
   * @param isFirst whether it is next, before those that wait already: a person.
   * @throws a `cancelled` failure when the signal of `requester` aborts first; `unavailable` when too many wait.
   */
  take(requester: Requester, who?: string, waiting?: () => void, isFirst?: boolean): Promise<InputHold>;
}

/**
 * @param lockFile shared by the processes of a `{config_dir}`.
 * @param releaseAll releases every key and button that is still pressed.
 * @param log has a line for each that waits.
 * @param place asks the owner of the folder, which then holds the lock for this process.
 */
export function createInputLock(
  lockFile: string,
  releaseAll: () => Promise<void>,
  log: Log = silentLog,
  place: AskPlace = async () => undefined,
): InputLock {
  /** One of this process has the slot: it holds the lock, or waits for another process. */
  const slots = createSlots({ most: 1, what: "runs", mostWaiting: MAX_WAITING, left });
  let taken: string | undefined;
  const holderFile = `${lockFile}-holder`;

  const holder = () => taken ?? otherHolder(holderFile);
  return {
    taken: () => taken !== undefined,
    holder,
    user() {
      if (taken !== undefined) return taken;
      return existsSync(lockFile) && isLocked(lockFile) ? otherHolder(holderFile) : null;
    },
    async take(requester, who = "a program", waiting = () => {}, isFirst = false) {
      let isNotified = false;
      const notify = () => {
        if (isNotified) return;
        isNotified = true;
        log.info(`${who} waits for pointer and keyboard: ${holder()} uses them`);
        waiting();
      };
      if (!slots.isFree()) notify();
      const giveBack = await slots.take(requester, isFirst);
      try {
        const given = await place(who, requester.signal, notify);
        let release = given?.release ?? (await lockBetweenProcesses(lockFile, requester.signal, notify));
        taken = who;
        if (!given) leaveName(holderFile, who);
        let held = true;
        // An owner that ends holds it no longer, and the run goes on.
        const takeOver = async () => {
          if (!held) return;
          const own = await lockBetweenProcesses(lockFile, undefined, () => {});
          if (!held) return own();
          release = own;
          leaveName(holderFile, who);
        };
        void given?.lost
          .then(takeOver)
          .catch((error) =>
            log.warn(`${who} goes on without the lock on pointer and keyboard: ${messageOf(error)}`),
          );
        return {
          async end(how) {
            if (!held) return;
            held = false;
            if (how === "broken") await releaseAll().catch(() => {});
            taken = undefined;
            release();
            giveBack();
          },
        };
      } catch (error) {
        giveBack();
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
const otherHolder = (file: string): string =>
  orElse(() => printable(readFileSync(file, "utf8"), 200), "another process");

/** A second lock is that of the next in line: a process that has just held the first queues up behind it. */
async function lockBetweenProcesses(
  lockFile: string,
  signal: AbortSignal | undefined,
  notify: () => void,
): Promise<Release> {
  const next = await lockPatiently(`${lockFile}-next`, signal, notify);
  try {
    return await lockPatiently(lockFile, signal, notify);
  } finally {
    next();
  }
}

async function lockPatiently(
  lockFile: string,
  signal: AbortSignal | undefined,
  notify: () => void,
): Promise<Release> {
  for (;;) {
    const release = tryLock(lockFile);
    if (release) return release;
    notify();
    await sleep(POLL_MS, signal, left);
  }
}

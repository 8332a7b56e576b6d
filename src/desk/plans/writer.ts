/**
 * Writing to the ledger: the steps of some milliseconds are one commit, so that a plan with thousands of hosts waits for the disk
 * some dozens of times. Note is taken of all of them in the turn of the commit, so that this process never knows less than the file: what
 * is decided next is decided by that. Those who wait for them go on some at a time, in the order of the steps.
 */
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { Ledger } from "./ledger/ledger";
import type { Step } from "./ledger/rows";

/** The pause between two commits, and after one that failed, in milliseconds. */
const COMMIT_MS = 20;
const AGAIN_MS = 1_000;

/** How many go on in one turn of the event loop: each may sign a job. */
const AT_ONCE = 128;

/** After so many that have gone on, the list of those who wait is cut: at a busy desk it is never empty, and would keep all of a plan. */
const GONE_ON = 1_024;

/** With more who wait than that, the writer is behind. */
const MANY = 2_048;

interface PendingStep {
  readonly step: Step;
  noted(): void;
  resolve(made: boolean): void;
}

export interface Writer {
  /**
   * Resolves when the step is on disk: with false where the host is not in a state for it.
   *
   * @param noted takes note of a step that was made, in the turn in which it is. Throws nothing.
   */
  write(step: Step, noted: () => void): Promise<boolean>;
  /** Writes what waits at once; nothing is written afterwards, and whoever waits for a step gets false. */
  close(): void;
  readonly isClosed: boolean;
  /** Whether so many wait for a step that nothing more is to begin: each takes memory meanwhile. */
  readonly isBehind: boolean;
}

/** A step that is in the ledger, or was refused there. */
interface TakenStep extends Pick<PendingStep, "resolve"> {
  readonly made: boolean;
}

/** @param written is called after each commit, and whenever some who wait for a step have gone on. */
export function createWriter(ledger: Pick<Ledger, "commit">, log: Log, written: () => void): Writer {
  let pending: PendingStep[] = [];
  let timer: Timer | NodeJS.Immediate | undefined;
  let last = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  let isClosed = false;
  /** Steps of which those who wait for them do not know yet, from the place `next` on. */
  const taken: TakenStep[] = [];
  let next = 0;

  const tell = (): void => {
    for (const end = Math.min(next + AT_ONCE, taken.length); next < end; next++) {
      const one = taken[next];
      one?.resolve(one.made);
    }
    if (next === taken.length || next >= GONE_ON) {
      taken.splice(0, next);
      next = 0;
    }
    if (taken.length > 0) setImmediate(tell);
    setImmediate(written);
  };
  const flush = (): void => {
    timer = undefined;
    if (pending.length === 0 || isClosed) return;
    const batch = pending;
    pending = [];
    let made: boolean[];
    try {
      made = ledger.commit(
        batch.map(({ step }) => step),
        Date.now(),
      );
    } catch (error) {
      if (!isFailing) log.error(`plans.db cannot be written, and is tried again: ${messageOf(error)}`);
      isFailing = true;
      pending = [...batch, ...pending];
      timer = setTimeout(flush, AGAIN_MS);
      return;
    }
    isFailing = false;
    last = performance.now();
    const isTelling = taken.length > 0;
    for (const [at, { noted, resolve }] of batch.entries()) {
      const isMade = made[at] ?? false;
      if (isMade) noted();
      taken.push({ resolve, made: isMade });
    }
    if (!isTelling) tell();
  };

  return {
    write(step: Step, noted: () => void): Promise<boolean> {
      if (isClosed) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      pending.push({ step, noted, resolve });
      const wait = COMMIT_MS - (performance.now() - last);
      timer ??= wait <= 0 ? setImmediate(flush) : setTimeout(flush, wait);
      return promise;
    },
    close(): void {
      flush();
      isClosed = true;
      clearTimeout(timer as Timer);
      for (const { resolve } of pending) resolve(false);
      pending = [];
    },
    get isClosed() {
      return isClosed;
    },
    get isBehind() {
      return pending.length + taken.length - next > MANY;
    },
  };
}

/**
 * An action on an element by the interface of its program, or by pointer and keyboard.
 *
 * Promise: whoever lets the program act waits for nobody who uses the pointer; the others act where it has done nothing, and never where it
 * may have done something.
 */
import { type Caller, requesterOf } from "../../../core/caller";
import { failureOf } from "../../../lib/errors";
import { type Uses, withInput, withLateInput } from "../operations/input-operation";
import type { WaitLimit } from "./elements";
import { desktopOf, type Hands } from "./real";

/** What acts on an element: the interface of its program, pointer and keyboard, or these where the program has done nothing. */
export type How = "program" | "real" | "either";

/** Hands that may have no turn at pointer and keyboard yet. */
export interface FreeHands extends Hands {
  /** What is left of the time for the action. */
  left(): WaitLimit;
  /** Says who acts: in the log of the run, or to the caller. */
  tell(text: string): void;
  /**
   * Does `work` in a turn, which is taken now where there is none.
   *
   * @param why it is needed. @param work is told whether it had to wait.
   * @throws `timeout` that says who uses pointer and keyboard: nothing is done then.
   */
  inTurn<T>(why: string, work: (hasWaited: boolean) => Promise<T>): Promise<T>;
}

/** What there is at least for a turn, and for finding an element again, in seconds: each takes a moment, also where nobody is in the way. */
const LEAST_S = 1;

/**
 * Does `work`: with a turn at pointer and keyboard where it is sure to use them.
 *
 * @param timeout in seconds.
 * @param name of the operation, for those that wait.
 */
export async function byHand<T>(
  service: Uses,
  how: How,
  caller: Caller,
  timeout: number,
  name: string,
  work: (hands: FreeHands) => Promise<T>,
): Promise<T> {
  const end = performance.now() + timeout * 1_000;
  const desktop = await desktopOf(service, caller);
  const { signal, run } = caller;
  const leftS = () => Math.max(LEAST_S, (end - performance.now()) / 1_000);
  const hands: FreeHands = {
    ...{ desktop, requester: requesterOf(caller), waiting: { timeout, signal }, run },
    left: () => ({ timeout: leftS(), whole: timeout, signal }),
    tell: (text) => void (run ? run.log(text) : caller.warn?.(text)),
    inTurn: (why, late) =>
      withLateInput(desktop, caller, { name, why, timeout: leftS(), whole: timeout }, late),
  };
  if (how !== "real") return work(hands);
  const inTurn: FreeHands["inTurn"] = (_, now) => now(false);
  return withInput(desktop, caller, name, () => work({ ...hands, inTurn }));
}

/** How something is found, and acted on. */
interface Deed<T, R> {
  find(waiting: WaitLimit): Promise<T>;
  byProgram(found: T): Promise<R>;
  byReal(found: T): Promise<R>;
}

/**
 * Finds something, and acts on it by the program, or by pointer and keyboard. With `either`, these act where the program has done nothing, and
 * that is said; where they were in use meanwhile, it is found once more.
 *
 * @returns what was found, and what the deed answers.
 */
export async function inWayOf<T, R>(
  how: How,
  { waiting, left, inTurn, tell }: Pick<FreeHands, "waiting" | "left" | "inTurn" | "tell">,
  { find, byProgram, byReal }: Deed<T, R>,
): Promise<{ readonly found: T; readonly done: R }> {
  const found = await find(waiting);
  if (how === "real") return { found, done: await byReal(found) };
  try {
    return { found, done: await byProgram(found) };
  } catch (error) {
    const failure = how === "either" ? failureOf(error) : undefined;
    if (!failure?.hasDoneNothing) throw error;
    return inTurn(failure.message, async (hasWaited) => {
      const now = hasWaited ? await find(left()) : found;
      tell(`by pointer and keyboard: ${failure.message}`);
      return { found: now, done: await byReal(now) };
    });
  }
}

/**
 * An action on an element by the interface of its program, or by pointer and keyboard.
 *
 * Promise: whoever lets the program act waits for nobody who uses the pointer; the others act where it has nothing that does it, on what is
 * there then, and on record; never where anything may have been done, nor where nobody can say what the pointer is over.
 */
import { type Caller, requesterOf } from "../../../core/caller";
import { Failure, failureOf, final, unavailable } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import { type Uses, withInput, withLateInput } from "../operations/input-operation";
import { sharing, type WaitLimit } from "./elements";
import { desktopOf, type Hands } from "./real";

/** What acts on an element: the interface of its program, pointer and keyboard, or these where the program has done nothing. */
export type How = "program" | "real" | "either";

/** Hands that may have no turn at pointer and keyboard yet. */
export interface FreeHands extends Hands {
  /** What is left of the time for the action. */
  left(): WaitLimit;
  /** Whether the platform says whose window is under the pointer: elsewhere nothing is clicked that nobody asked to click. */
  seesWindows(): Promise<boolean>;
  /**
   * Puts on record that pointer and keyboard are about to act, and says so: in the log of the run, or to the caller.
   *
   * @throws `unavailable` where that cannot be recorded: then nothing may be done.
   */
  announce(why: string): Promise<void>;
  /**
   * Does `work` in a turn, which is taken now where there is none.
   *
   * @param why it is needed.
   * @throws `timeout` that says who uses pointer and keyboard: nothing is done then.
   */
  inTurn<T>(why: string, work: () => Promise<T>): Promise<T>;
}

/** What there is at least for a turn, and for finding an element again, in seconds: each takes a moment, also where nobody is in the way. */
const LEAST_S = 1;

/**
 * Does `work`: with a turn at pointer and keyboard where it is sure to use them.
 *
 * @param timeout in seconds.
 * @param name of the operation, for those that wait, and for the record.
 */
export async function byHand<T>(
  service: Uses,
  how: How,
  caller: Caller,
  timeout: number,
  name: string,
  work: (hands: FreeHands) => Promise<T>,
): Promise<T> {
  const { signal, run } = caller;
  const waiting: WaitLimit = { timeout, signal };
  const left = sharing(waiting, LEAST_S);
  const desktop = await desktopOf(service, caller);
  const requester = requesterOf(caller);
  const hands: FreeHands = {
    desktop,
    requester,
    waiting,
    run,
    left,
    seesWindows: async () => (await desktop.session(requester)).system === "x11",
    async announce(why) {
      await caller.announce(`${name} by="pointer and keyboard" because=${jsonLine(why)}`);
      const text = `by pointer and keyboard: ${why}`;
      if (run) run.log(text);
      else caller.warn?.(text);
    },
    inTurn: (why, late) =>
      withLateInput(desktop, caller, { name, why, timeout: left().timeout, whole: timeout }, late),
  };
  if (how !== "real") return work(hands);
  return withInput(desktop, caller, name, () => work({ ...hands, inTurn: (_, now) => now() }));
}

/** How something is found, and acted on. */
interface Deed<T, R> {
  find(waiting: WaitLimit): Promise<T>;
  /** Why no program can be asked for what was found; undefined where one can. */
  onlyReal?(found: T): string | undefined;
  byProgram(found: T): Promise<R>;
  /** @param waiting what is left of the time. */
  byReal(found: T, waiting: WaitLimit): Promise<R>;
}

/** What was found, what the deed answers, and what did it. */
interface DeedResult<T, R> {
  readonly found: T;
  readonly done: R;
  readonly by: "program" | "real";
}

/**
 * Finds something, and acts on it by the program, or by pointer and keyboard. With `either`, these act where the program has nothing that
 * does it ({@link Failure.isUntouched}), and that is put on record; what they act on is found once more, in their turn.
 */
export async function inWayOf<T, R>(
  how: How,
  hands: Pick<FreeHands, "waiting" | "left" | "inTurn" | "announce" | "seesWindows">,
  deed: Deed<T, R>,
): Promise<DeedResult<T, R>> {
  const { waiting, left, inTurn, announce } = hands;
  const found = await deed.find(waiting);
  if (how === "real") {
    const done = await deed.byReal(found, left()).catch((error) => {
      throw final(error);
    });
    return { found, done, by: "real" };
  }
  const asked = await askProgram(how, hands, deed, found);
  if ("done" in asked) return { found, done: asked.done, by: "program" };
  return inTurn(asked.why, async () => {
    // It may be elsewhere by now, or have gone.
    const now = await deed.find(left());
    await announce(asked.why);
    const done = await deed.byReal(now, left()).catch((error) => {
      throw ofHands(error);
    });
    return { found: now, done, by: "real" };
  });
}

/** Has the program act. @returns what it answers, or why pointer and keyboard may act. @throws its failure, where they may not. */
async function askProgram<T, R>(
  how: How,
  { seesWindows }: Pick<FreeHands, "seesWindows">,
  { onlyReal, byProgram }: Deed<T, R>,
  found: T,
): Promise<{ readonly done: R } | { readonly why: string }> {
  const why = onlyReal?.(found);
  // What somebody named by its text or picture is meant to be clicked, on every platform.
  if (why !== undefined && how === "either") return { why };
  if (why !== undefined) throw unavailable(why);
  try {
    return { done: await byProgram(found) };
  } catch (error) {
    const failure = failureOf(error);
    if (how !== "either" || !failure?.isUntouched) throw error;
    if (!(await seesWindows().catch(() => false))) throw error;
    return { why: failure.message };
  }
}

/** A failure of pointer and keyboard, in whose place a program was asked first: something may have been done. */
function ofHands(error: unknown): unknown {
  const failure = failureOf(error);
  if (!failure) return error;
  return new Failure(failure.code, `by pointer and keyboard: ${failure.message}`, failure.more);
}

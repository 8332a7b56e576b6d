/**
 * How many connections to other servers this process may have at once, whoever in it opens them.
 *
 * Promises. There are never more. A caller that wants many leaves some free, so that others need not wait for its end;
 * when none is free, the caller that has the fewest gets the next one.
 */
import { deadline } from "../lib/deadline";
import { descriptorLimit, outgoingOf } from "../lib/descriptors";
import { isWithinShare } from "../lib/quota";
import { RemoteError } from "./carrier";

/**
 * A caller may have this many times as many slots as are free ({@link isWithinShare}): alone it gets seven eighths of all, the
 * next one seven eighths of the rest.
 */
const TIMES_FREE = 7;

interface Caller {
  used: number;
  readonly waiting: Set<() => void>;
}

/** @param most how many slots there are. */
export function createSlots(most: number) {
  const callers = new Map<string | object, Caller>();
  let free = most;
  let isServing = false;

  const mayTake = ({ used }: Caller) => isWithinShare(used, 1, free, TIMES_FREE);
  const take = (caller: Caller) => {
    free--;
    caller.used++;
  };
  const forgetIdle = (key: string | object, { used, waiting }: Caller) => {
    if (used === 0 && waiting.size === 0) callers.delete(key);
  };
  /** Hands out what is free, once a turn of the event loop: of callers that leave together, none gets a slot from the other. */
  const serve = () => {
    isServing = false;
    for (;;) {
      const able = [...callers.values()].filter((one) => one.waiting.size > 0 && mayTake(one));
      const [next, ...others] = able;
      if (!next) return;
      const least = others.reduce((a, b) => (b.used < a.used ? b : a), next);
      const [granted] = least.waiting;
      if (!granted) return;
      least.waiting.delete(granted);
      take(least);
      granted();
    }
  };

  /**
   * Waits for a slot.
   *
   * @param signal ends the wait; slots that are taken with the same signal belong to one caller.
   * @param token the named token for which the slot is; all that are taken for it belong to one caller, whatever the signal.
   * @returns a function that gives it back.
   * @throws a `cancelled` {@link RemoteError} once `signal` is aborted.
   */
  return async (signal?: AbortSignal, token?: string | null): Promise<() => void> => {
    const key = token ?? signal ?? {};
    const caller = callers.get(key) ?? { used: 0, waiting: new Set() };
    callers.set(key, caller);
    if (mayTake(caller)) take(caller);
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      caller.waiting.add(resolve);
      const aborted = () => {
        caller.waiting.delete(resolve);
        forgetIdle(key, caller);
        throw new RemoteError("cancelled", "cancelled", false);
      };
      await deadline<void, void>(promise, { signal, aborted });
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      free++;
      caller.used--;
      forgetIdle(key, caller);
      if (!isServing) setImmediate(serve);
      isServing = true;
    };
  };
}

let slots: ReturnType<typeof createSlots> | undefined;

/** How many slots this process has. */
export const countSlots = (): number => outgoingOf(descriptorLimit());

/** Waits for one of the slots of this process. The limit of open files is the process's, so no service owns them. */
export function takeSlot(signal?: AbortSignal, token?: string | null): Promise<() => void> {
  slots ??= createSlots(countSlots());
  return slots(signal, token);
}

/** How many of so many slots one caller gets that is alone. */
export const mostOfOne = (slots: number): number => Math.floor((TIMES_FREE * (slots + 1)) / (TIMES_FREE + 1));

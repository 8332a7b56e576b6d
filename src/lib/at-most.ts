/** Doing something often asked for, but not too often. */

/** Work that is often asked for. */
export interface Throttle {
  /** Asks for it. */
  call(): void;
  /** Ends it, and forgets what is still to be done. */
  end(): void;
  /** Does what is still to be done, and ends it. */
  finish(): void;
}

/**
 * `work`, at once and then every `ms` milliseconds at most: calls in between are made up for by one at the end of that time.
 */
export function atMost(ms: number, work: () => void): Throttle {
  let timer: NodeJS.Timeout | undefined;
  let isWanted = false;
  let isOver = false;
  const call = () => {
    isWanted = true;
    if (timer || isOver) return;
    isWanted = false;
    work();
    timer = setTimeout(() => {
      timer = undefined;
      if (isWanted) call();
    }, ms);
    timer.unref();
  };
  const end = () => {
    clearTimeout(timer);
    isOver = true;
  };
  return {
    call,
    end,
    finish() {
      if (isWanted && !isOver) work();
      end();
    },
  };
}

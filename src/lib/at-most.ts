/** Doing something often asked for, but not too often. */

/**
 * `work`, at once and then every `ms` milliseconds at most: calls in between are made up for by one at the end of that time.
 *
 * @returns `call` asks for it; `end` ends it, and forgets what is still to be done; `finish` does that first.
 */
export function atMost(ms: number, work: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
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

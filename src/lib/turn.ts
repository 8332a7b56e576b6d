/**
 * Turns of the event loop: long work is done in slices, between which everybody else is answered.
 *
 * The promise: all long work of the process together takes one slice of a turn, however much of it there is, and goes on in the order
 * in which it came.
 */

/** How long a slice takes, in milliseconds. */
const SLICE_MS = 5;

/** Ends with this turn of the event loop: what has arrived meanwhile is answered first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// The event loop is the process's, so no service owns this.
let lastOwn: Promise<void> = Promise.resolve();

/** @returns what has `work` done at the end of this turn of the event loop: once, however often it is called. */
export function oncePerTurn(work: () => void): () => void {
  let isDue = false;
  const begin = () => {
    isDue = false;
    work();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    setImmediate(begin);
  };
}

/** Resolves in a turn of its own: for work that cannot be done in slices. Two callers never get the same turn; the first one comes first. */
export function ownTurn(): Promise<void> {
  lastOwn = lastOwn.then(nextTurn);
  return lastOwn;
}

/** Those that wait for a slice, the first one first. */
const waiting: Array<() => void> = [];
/** When the slice of this turn ends; undefined before it has begun. */
let ends: number | undefined;

function begin(): void {
  ends = performance.now() + SLICE_MS;
  setImmediate(() => {
    ends = undefined;
    const next = waiting.shift();
    if (!next) return;
    begin();
    next();
  });
}

/** Resolves when long work may go on; undefined where it may now. It asks again after a few milliseconds at most. */
export function nextSlice(): Promise<void> | undefined {
  if (ends === undefined) begin();
  else if (waiting.length > 0 || performance.now() >= ends)
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  return undefined;
}

/**
 * Does a piece of work after the other, until one is the last, in slices.
 *
 * @param piece does the next piece, of at most a few milliseconds, and returns whether it was the last. What it throws ends the work.
 */
export async function inSlices(piece: () => boolean): Promise<void> {
  do {
    const waits = nextSlice();
    // To wait for nothing would let all begin that ask at the same moment.
    if (waits) await waits;
  } while (!piece());
}

/** How long a piece of a list takes, in milliseconds, whatever each of its items costs. */
const PIECE_MS = 2;

/** What `work` returns, in slices. It yields after a fraction of a millisecond each time. What it throws is thrown. */
export async function stepsInSlices<R>(work: Iterator<void, R>): Promise<R> {
  for (;;) {
    const waits = nextSlice();
    if (waits) await waits;
    const until = performance.now() + PIECE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < until);
  }
}

/** What `work` returns, in this turn. */
export function stepsNow<R>(work: Iterator<void, R>): R {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** What `make` makes of each item, in slices where that takes long. */
export async function mapInSlices<T, R>(items: readonly T[], make: (item: T) => R): Promise<R[]> {
  const made: R[] = [];
  await inSlices(() => {
    const until = performance.now() + PIECE_MS;
    while (made.length < items.length) {
      made.push(make(items[made.length] as T));
      if (performance.now() >= until) break;
    }
    return made.length === items.length;
  });
  return made;
}

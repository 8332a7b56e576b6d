/**
 * Messages that are published in one turn of the event loop leave together: the library writes to the socket after each microtask.
 */
import type { Publish } from "./wire";

/** Publishes at the end of the turn, in order. */
export function inBatches(publish: Publish): Publish {
  let waiting: Array<Parameters<Publish>> = [];
  const flush = () => {
    const batch = waiting;
    waiting = [];
    for (const message of batch) publish(...message);
  };
  return (...message) => {
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(message);
  };
}

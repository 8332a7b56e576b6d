/**
 * Messages that are published in one turn of the event loop leave together: the library writes to the socket after each microtask.
 */
import { createBatch } from "../../lib/batch";
import type { Publish } from "./wire";

/** Publishes at the end of the turn, in order. */
export function inBatches(publish: Publish): Publish {
  const publishSoon = createBatch<Parameters<Publish>>((messages) => {
    for (const message of messages) publish(...message);
  });
  return (...message) => publishSoon(message);
}

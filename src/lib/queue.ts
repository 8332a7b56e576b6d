/** Work of one process that goes on one after the other. */

/** Runs work in the order in which it came, each when the one before has ended. @returns what it resolves to. @throws what it rejects with. */
export type InTurn = <T>(work: () => T | Promise<T>) => Promise<T>;

/** @returns a queue in which nothing waits. */
export function createQueue(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work, work);
    last = done;
    return done;
  };
}

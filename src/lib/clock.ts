/**
 * Clocks that nobody sets.
 *
 * A duration is measured by `performance.now()`, which nobody sets; `build/wall-clock.ts` checks that. What is stored as a time, to go on
 * after a restart, is written and read by a steady clock, and bounded by the longest pause when it is read: the time may have been set in between.
 */

/** A clock in milliseconds since 1970: right as far as the time is when it is made, and steady from then on, whatever that is set to. */
export function steadyClock(): () => number {
  const origin = Date.now() - performance.now();
  return () => origin + performance.now();
}

/** Processor time of this thread, in milliseconds: on a busy machine, much of the time belongs to others. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

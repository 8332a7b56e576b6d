/**
 * From when something is too old to be kept: the one rule of all that is removed for good because of its age.
 *
 * The promise: a clock that is ahead for a while erases nothing. Ages are counted by a clock that begins with the process: it follows the time back, but not
 * ahead. In the first hour nothing is too old, as the process may have begun while the clock was ahead. So what is old may stay for longer: after a start, on a
 * machine that sleeps, and where the clock was far behind at the start. What is kept so is bounded in number or size as well, and gives way to what is newer.
 */

/** How long a process lets nothing be too old, in milliseconds: a clock that is wrong at a start is set right by then, or stays wrong. */
const UNSURE_MS = 3_600_000;

/** The clocks of a process; by default those of this one. */
export interface ProcessClocks {
  /** Milliseconds since 1970, as somebody may set them. */
  readonly now?: () => number;
  /** The same when the process began. */
  readonly begun?: number;
  /** Milliseconds since then, of a clock that nobody sets. */
  readonly steady?: () => number;
}

/** What says from when something is too old that is kept for so long, in milliseconds since 1970. */
export type OldestKept = (keptMs: number) => number;

/** From when what is kept for `keptMs` is too old: whatever is of an earlier time is removed. In milliseconds since 1970; 0 while nothing is. */
export function oldestKept(
  keptMs: number,
  { now = Date.now, begun = performance.timeOrigin, steady = () => performance.now() }: ProcessClocks = {},
): number {
  const passed = steady();
  return passed < UNSURE_MS ? 0 : Math.max(0, Math.min(now(), begun + passed) - keptMs);
}

/**
 * Wrong tokens: how many of each client came lately, and who is locked out for them.
 *
 * The promise: memory is bounded, however many clients guess, and no flood frees a client that is locked out.
 */
import { createKeys, NumberTable, RecentNumbers } from "../lib/number-table";

/** This many wrong tokens within {@link LOCKOUT_WINDOW_MS} lock a client out for as long again. */
export const LOCKOUT_GUESSES = 8;
export const LOCKOUT_WINDOW_MS = 60_000;

/** Clients whose guesses are kept; those unseen for longest are dropped first. */
const MAX_CLIENTS = 32_768;

/** The most clients locked out at a time. To reach it takes 2,000 guesses a second; see `count` for what happens then. */
const MAX_LOCKED = 131_072;

export function createGuesses() {
  const locks = createLocks();
  /** Of each client: how many guesses are kept, and when each of them came. The one that locks it out is not kept. */
  const guesses = new RecentNumbers(MAX_CLIENTS, Array<number>(LOCKOUT_GUESSES).fill(0));

  /** How many guesses of `client` there were within the window, with the one at `now`. */
  const recentOf = (client: string, now: number): number => {
    const own = guesses.touch(client);
    const { numbers } = guesses;
    const had = numbers[own] ?? 0;
    let recent = 0;
    for (let nth = 1; nth <= had; nth++) {
      const at = numbers[own + nth] ?? 0;
      if (at > now - LOCKOUT_WINDOW_MS) numbers[own + ++recent] = at;
    }
    if (++recent < LOCKOUT_GUESSES) numbers[own + recent] = now;
    numbers[own] = Math.min(recent, LOCKOUT_GUESSES - 1);
    return recent;
  };

  return {
    /** Until when `client` is locked out; 0 when it never was. */
    lockedUntil: locks.until,
    /**
     * Counts a guess of a client that is not locked out.
     *
     * @returns undefined, mostly. While {@link MAX_LOCKED} clients are locked out, no other can be: then until when to refuse this one.
     */
    count(client: string, now: number): number | undefined {
      const recent = recentOf(client, now);
      if (recent < LOCKOUT_GUESSES && locks.count() < MAX_LOCKED) return undefined;
      locks.forgetEnded(now);
      const until = now + LOCKOUT_WINDOW_MS;
      if (locks.count() >= MAX_LOCKED) return until;
      if (recent < LOCKOUT_GUESSES) return undefined;
      guesses.delete(client);
      locks.add(client, until);
      return undefined;
    },
  };
}

/** Who is locked out. Locks end in the order in which they were made. */
function createLocks() {
  const keyOf = createKeys();
  /** Of each client: until when, and where the lock is that was made after it. */
  const table = new NumberTable([0, 0]);
  let [oldest, newest] = [0, 0];
  return {
    count: () => table.size,
    until(client: string): number {
      // Nearly always.
      if (table.size === 0) return 0;
      const lock = table.find(keyOf(client));
      return lock < 0 ? 0 : (table.numbers[lock] ?? 0);
    },
    /** Locks out a client whose earlier lock, if there was one, is forgotten. */
    add(client: string, until: number): void {
      const lock = table.add(keyOf(client));
      table.numbers[lock] = until;
      if (table.size === 1) oldest = lock;
      else table.numbers[newest + 1] = lock;
      newest = lock;
    },
    forgetEnded(now: number): void {
      while (table.size > 0 && (table.numbers[oldest] ?? 0) <= now) {
        const next = table.numbers[oldest + 1] ?? 0;
        table.remove(oldest);
        oldest = next;
      }
    },
  };
}

/**
 * How much an agent may change: within a minute and within an hour, each token by itself.
 *
 * The promise: within any hour there are at most {@link HOUR} changes of a token, and within any minute {@link MINUTE}.
 */
import { RecentMap } from "../lib/buckets";
import { tooMany } from "../lib/errors";

export const HOUR = 60;
export const MINUTE = 10;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** How many tokens are counted. */
const MAX_USERS = 4_096;

export type Budget = ReturnType<typeof createBudget>;

/** @param now milliseconds of a clock that only goes forward. */
export function createBudget(now = () => performance.now()) {
  const users = new RecentMap<number[]>(MAX_USERS);
  const recent = (user: string) => (users.get(user) ?? []).filter((at) => at > now() - HOUR_MS);
  const left = (user: string) => {
    const all = recent(user);
    const inMinute = all.filter((at) => at > now() - MINUTE_MS);
    return { all, hour: HOUR - all.length, minute: MINUTE - inMinute.length, inMinute };
  };
  return {
    /** What is left, for the answer. */
    words(user: string): string {
      const { hour, minute } = left(user);
      return `Changes left for this token: ${Math.max(0, minute)} of ${MINUTE} this minute, ${Math.max(0, hour)} of ${HOUR} this hour.`;
    },
    /** @throws a `too_many` failure where nothing is left. */
    require(user: string): void {
      const { all, hour, minute, inMinute } = left(user);
      if (hour > 0 && minute > 0) return;
      const [first = now(), spanMs] = hour > 0 ? [inMinute[0], MINUTE_MS] : [all[0], HOUR_MS];
      const waitS = Math.ceil((first + spanMs - now()) / 1_000);
      const limit = hour > 0 ? `${MINUTE} changes a minute` : `${HOUR} changes an hour`;
      throw tooMany(`this token has made ${limit}, its limit over MCP: the next one in ${waitS} s`);
    },
    spend(user: string): void {
      users.set(user, [...recent(user), now()]);
    },
  };
}

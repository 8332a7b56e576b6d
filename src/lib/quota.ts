/**
 * What is limited and used by many: how much of it one of them may have.
 *
 * The promise: who wants all of it leaves some to others, and those leave some again. It is more than a fixed part while
 * nobody else wants any (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).
 */

/**
 * Whether one that has `own` may have `more` of what is `free`.
 *
 * @param times it may have this many times as much as is free: with 1, one alone gets half, the next one half of the rest.
 */
export const isWithinShare = (own: number, more: number, free: number, times: number): boolean =>
  more <= free && own + more <= times * free;

/** How many of `users` each of them is. */
const countsOf = (users: Iterable<string | null>): Map<string | null, number> => {
  const counts = new Map<string | null, number>();
  for (const user of users) counts.set(user, (counts.get(user) ?? 0) + 1);
  return counts;
};

/**
 * Whose oldest is given up where what is kept has become too many: that of who has most. So nobody pushes out what others
 * have, unless they have more.
 *
 * @param users who has each that is kept, oldest first.
 * @returns the index of that one in `users`; -1 where there is none.
 */
export function firstToGo(users: ReadonlyArray<string | null>): number {
  const counts = countsOf(users);
  const most = Math.max(...counts.values());
  // Of two who have as many, that of who came last.
  const who = users.findLast((user) => counts.get(user) === most);
  return who === undefined ? -1 : users.indexOf(who);
}

/** Something that is limited in number. */
export interface Quota {
  /** In words: `runs`. */
  readonly what: string;
  readonly most: number;
  /** As of {@link isWithinShare}. */
  readonly times: number;
}

/**
 * Why there is none for `user`, in words; undefined when there is one.
 *
 * @param users who has each of those that are in use: the name of a token, or null for the owner of the host, who has no share.
 * @param who stands for the user in the words.
 */
export function shortage(
  quota: Quota,
  users: Iterable<string | null>,
  user: string | null,
  who?: string,
): string | undefined {
  let [all, own] = [0, 0];
  for (const one of users) {
    all++;
    if (one === user) own++;
  }
  return shortageOf(quota, all, own, user, who);
}

/** As {@link shortage}, where `all` are in use, `own` of them by `user`. */
export function shortageOf(
  { what, most, times }: Quota,
  all: number,
  own: number,
  user: string | null,
  who = `the token ${user}`,
): string | undefined {
  if (all >= most) return `there are ${most} ${what} already, which is the limit`;
  if (user === null || isWithinShare(own, 1, most - all, times)) return undefined;
  return `${who} has ${own} ${what} already, and leaves the rest to others`;
}

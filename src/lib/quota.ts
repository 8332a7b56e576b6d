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

/** What there is a limited number of. */
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
  { what, most, times }: Quota,
  users: Iterable<string | null>,
  user: string | null,
  who = `the token ${user}`,
): string | undefined {
  let [all, own] = [0, 0];
  for (const one of users) {
    all++;
    if (one === user) own++;
  }
  if (all >= most) return `there are ${most} ${what} already, which is the limit`;
  if (user === null || isWithinShare(own, 1, most - all, times)) return undefined;
  return `${who} has ${own} ${what} already, and leaves the rest to others`;
}

/**
 * The states of a log as a desk sees it.
 */

/**
 * `unknown`: the desk has no checkpoint yet; `ok`: each goes on from the one before; `late` and `silent`: none came for a while;
 * `shrank`: the log has fewer rows than before; `forked`: it has other rows in the place of some before, as the desk or the
 * host itself has found; `key_changed`: another
 * key signs; `restored`: an operator has accepted a break within the last day.
 */
export const STATES = [
  "unknown",
  "ok",
  "late",
  "silent",
  "shrank",
  "forked",
  "key_changed",
  "restored",
] as const;

export type State = (typeof STATES)[number];

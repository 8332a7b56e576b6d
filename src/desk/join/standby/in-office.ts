/**
 * Whether this machine may act as a desk: not where a standby has taken it over, and not while it is the standby of another desk.
 *
 * The promise: a take-over that was cut off at any point leaves a machine that either acts as the desk with all that makes it one, or not at
 * all.
 */
import { conflict, Failure } from "../../../lib/errors";
import { orFailure } from "../../../lib/or-else";
import { printable } from "../../../lib/sanitize";
import { type FollowingFiles, followingNow } from "./following";
import { generationOf, type OfficeFiles, type TakenOver, takenOverBy } from "./office";

/** The files that say so. */
export type InOfficeFiles = OfficeFiles & Pick<FollowingFiles, "following">;

/**
 * @param unwritten who has taken it over, where that is not on disk yet.
 * @throws `conflict` where this machine is not the desk; `unavailable` where nobody knows.
 */
export function requireInOffice(files: InOfficeFiles, unwritten?: TakenOver): void {
  // A file that is broken says nothing good.
  generationOf(files);
  const taken = takenOverBy(files) ?? unwritten;
  if (taken)
    throw conflict(
      `the standby ${printable(taken.by, 100)} has taken this desk over at ${taken.since}: use that one; \`svc standby reinstate\` makes this machine the desk again`,
    );
  const following = followingNow(files);
  if (following?.taken_over === null)
    throw conflict(
      `this machine is the standby of the desk at ${printable(following.address, 300)}: use that one; \`svc standby take-over\` makes this machine the desk once it is gone`,
    );
}

/** Whether this machine may act as a desk. Where nobody knows, it may not. @param unwritten as of {@link requireInOffice}. */
export const isInOffice = (files: InOfficeFiles, unwritten?: TakenOver): boolean =>
  !(orFailure(() => requireInOffice(files, unwritten)) instanceof Failure);

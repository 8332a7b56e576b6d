/**
 * The barriers of blocks while these run: who has come to which.
 */
import type { Meetings } from "./blocks";

/** Barriers, of which each opens once all have come. */
export interface OpenMeetings {
  /** Resolves, with true, when all have come. */
  come(key: string, branch: number): Promise<boolean>;
  /** Who has not come, in words. */
  missing(key: string): string;
}

/** The barriers: who has come to which. @param nameOf who a branch is, in words. */
export function createMeetings(meetings: Meetings, nameOf: (branch: number) => string): OpenMeetings {
  const open = new Map(
    [...meetings].map(([key, branches]) => [
      key,
      { missing: new Set(branches), met: Promise.withResolvers<boolean>() },
    ]),
  );
  return {
    come(key: string, branch: number): Promise<boolean> {
      const one = open.get(key);
      one?.missing.delete(branch);
      if (one?.missing.size === 0) one.met.resolve(true);
      return one?.met.promise ?? Promise.resolve(true);
    },
    missing: (key: string): string => [...(open.get(key)?.missing ?? [])].map(nameOf).join("; "),
  };
}

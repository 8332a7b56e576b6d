/**
 * The barriers of blocks while these run: who has come to which.
 */
import type { Meetings } from "./blocks";

/** Values by the names of their variables. */
type Values = ReadonlyMap<string, unknown>;

/** Barriers, of which each opens once all have come. */
export interface OpenMeetings {
  /**
   * Resolves when all have come, with what all who meet had shared when they came.
   *
   * @param shared what the branch has shared so far.
   */
  come(key: string, branch: number, shared: Values): Promise<Values>;
  /** Who has not come, in words. */
  missing(key: string): string;
}

/** The barriers: who has come to which. @param nameOf who a branch is, in words. */
export function createMeetings(meetings: Meetings, nameOf: (branch: number) => string): OpenMeetings {
  const open = new Map(
    [...meetings].map(([key, branches]) => [
      key,
      {
        missing: new Set(branches),
        values: new Map<string, unknown>(),
        met: Promise.withResolvers<Values>(),
      },
    ]),
  );
  return {
    come(key: string, branch: number, shared: Values): Promise<Values> {
      const one = open.get(key);
      if (!one) return Promise.resolve(shared);
      one.missing.delete(branch);
      for (const [name, value] of shared) one.values.set(name, value);
      if (one.missing.size === 0) one.met.resolve(one.values);
      return one.met.promise;
    },
    missing: (key: string): string => [...(open.get(key)?.missing ?? [])].map(nameOf).join("; "),
  };
}

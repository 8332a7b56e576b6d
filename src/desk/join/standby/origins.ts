/**
 * From which addresses standby strings were used since this process started.
 *
 * The promise: memory is bounded, and who has a string alone pushes out no address from which its standby came.
 */
import type { Log } from "../../../lib/log";
import { unproved } from "./endpoints";

/** The most addresses that are kept of who proves to be a standby, and of who has its string. */
const MOST = 8;

/** Where a string was used. */
export interface Origin {
  readonly address: string;
  /** When it was used there first, ISO 8601, and how long ago last, in seconds. */
  readonly since: string;
  readonly asked_s: number;
  /** Whether who used it has proved to have a snapshot, as the standby has. */
  readonly proved: boolean;
}

export interface Origins {
  /** The string of that standby was used, by who `isProved` to be it. A further address of a standby is logged. */
  came(standby: { readonly id: string; readonly name: string }, address: string, isProved: boolean): void;
  /** Those of the string `id`: first those that have proved nothing, each in the order of its last use. */
  of(id: string): Origin[];
  forget(id: string): void;
}

export function createOrigins(log: Pick<Log, "warn">): Origins {
  /** By who asks, by address, in the order of the last use. */
  const known = new Map<string, Map<string, { readonly since: string; readonly at: number }>>();
  const usesOf = (as: string) => known.get(as) ?? new Map<string, { since: string; at: number }>();
  const listed = (as: string, proved: boolean): Origin[] =>
    Array.from(usesOf(as), ([address, { since, at }]) => ({
      address,
      since,
      proved,
      asked_s: Math.round((performance.now() - at) / 1_000),
    }));
  return {
    came({ id, name }, address, isProved) {
      const as = isProved ? id : unproved(id);
      const uses = usesOf(as);
      known.set(as, uses);
      const before = uses.get(address);
      const [last] = [...uses.keys()].slice(-1);
      if (isProved && !before && last !== undefined)
        log.warn(
          `the standby ${name} asks from ${address}, and has asked from ${last}: where it did not move, two machines have its key`,
        );
      uses.delete(address);
      uses.set(address, { since: before?.since ?? new Date().toISOString(), at: performance.now() });
      const [oldest] = uses.keys();
      if (uses.size > MOST && oldest !== undefined) uses.delete(oldest);
    },
    of(id) {
      const proved = listed(id, true);
      const others = listed(unproved(id), false);
      return [...others.filter(({ address }) => !usesOf(id).has(address)), ...proved];
    },
    forget(id) {
      known.delete(id);
      known.delete(unproved(id));
    },
  };
}

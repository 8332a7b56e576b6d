/**
 * The hosts of plans as the address book and the hub have them now.
 */
import { messageOf } from "../../lib/errors";
import type { Target } from "../../wire/job/job";
import type { Entry } from "./run";
import type { RunnerUses } from "./runner-parts";

/** What is known of hosts. Each throws {@link UnreadableBookError}. */
export interface Hosts {
  /** Where the job of the entry goes; undefined where the address book has no such host. */
  targetOf(entry: Entry): (Target & { readonly identity: string }) | undefined;
  isOffline(label: string): boolean;
  isExpected(label: string): boolean;
}

export const createHosts = (uses: Pick<RunnerUses, "hostOf" | "isOffline" | "isExpected">): Hosts => ({
  targetOf({ label, identity, run: { policy } }) {
    const target = policy.targetOf(label);
    return target ? { ...target, identity } : reading(() => uses.hostOf(label, identity));
  },
  isOffline: (label) => reading(() => uses.isOffline?.(label) ?? false),
  isExpected: (label) => reading(() => uses.isExpected?.(label) ?? false),
});

/** The address book cannot be read: what it says is not known. */
export class UnreadableBookError extends Error {}

/** @throws {@link UnreadableBookError} for whatever `read` throws. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UnreadableBookError(messageOf(error), { cause: error });
  }
}

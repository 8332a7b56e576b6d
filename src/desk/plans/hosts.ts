/**
 * The hosts of plans as the address book and the hub have them now.
 */
import { messageOf } from "../../lib/errors";
import type { Entry } from "./run";
import type { RunnerUses } from "./shared";

export type Hosts = ReturnType<typeof createHosts>;

/** What it returns throws {@link Unread}. */
export function createHosts(uses: Pick<RunnerUses, "hostOf" | "isOffline" | "isExpected">) {
  return {
    /** Where the job of the entry goes; undefined where the address book has no such host. */
    targetOf({ label, identity, run: { broadcast } }: Entry) {
      const target = broadcast?.targetOf(label);
      return target ? { ...target, identity } : reading(() => uses.hostOf(label));
    },
    isOffline: (label: string): boolean => reading(() => uses.isOffline?.(label) ?? false),
    isExpected: (label: string): boolean => reading(() => uses.isExpected?.(label) ?? false),
  };
}

/** The address book cannot be read: what it says is not known. */
export class Unread extends Error {}

/** @throws {@link Unread} for whatever `read` throws. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Unread(messageOf(error), { cause: error });
  }
}

/**
 * The hosts of plans as the address book and the hub have them now.
 */
import { messageOf } from "../../lib/errors";
import { orElse } from "../../lib/or-else";
import { serverOver } from "../../lib/per-server";
import { NOT_LINKED, type PlannedHost } from "./plan";
import type { Entry } from "./run";
import type { FoundHost, RunnerUses } from "./runner-parts";

/** What is known of hosts. Each throws {@link UnreadableBookError} unless it says otherwise. */
export interface Hosts {
  /** Where the job of the entry goes, which may be another host by now; undefined where the address book has none. */
  targetOf(entry: Entry): FoundHost | undefined;
  isOffline(label: string): boolean;
  /** Why a host that is offline is that. Never throws. */
  whyOffline(label: string): string;
  isExpected(label: string): boolean;
  /** The server over which its job goes (`lib/per-server.ts`), as far as that is known now. Never throws. */
  serverOf(entry: Entry): string;
  /** @returns what returns a host with the texts that the address book has in memory for it, where it has. Never throws. */
  sameTexts(): (host: PlannedHost) => PlannedHost;
}

type Uses = Pick<RunnerUses, "hostOf" | "isOffline" | "whyOffline" | "isExpected" | "serverAt" | "sameTexts">;

export const createHosts = (uses: Uses): Hosts => ({
  targetOf({ label, identity, run: { policy } }) {
    return policy.targetOf(label) ?? reading(() => uses.hostOf(label, identity));
  },
  isOffline: (label) => reading(() => uses.isOffline?.(label) ?? false),
  whyOffline: (label) => orElse(() => uses.whyOffline?.(label), undefined) ?? NOT_LINKED,
  isExpected: (label) => reading(() => uses.isExpected?.(label) ?? false),
  serverOf({ label, run: { policy } }) {
    // A broadcast goes by the hosts that it began with, whatever became of them in the address book.
    const itsServer = () => {
      const target = policy.targetOf(label);
      return target ? serverOver(target.server.url) : uses.serverAt?.(label);
    };
    return orElse(itsServer, undefined) ?? "";
  },
  sameTexts: () => orElse(() => uses.sameTexts?.(), undefined) ?? ((host) => host),
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

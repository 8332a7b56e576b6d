/**
 * What differs between a plan that goes on for itself and a broadcast, whose caller waits.
 */
import type { DeliverJob } from "../../wire/job/job";
import type { Plan } from "./ledger/rows";
import type { PlannedHost } from "./plan";
import type { Entry, Run } from "./run";
import type { FoundHost } from "./runner-parts";

/** How a plan is run. */
export interface Policy {
  /** Whether it gets slots before others. */
  readonly isUrgent: boolean;
  /** Whether it waits for hosts that are not there, and for earlier plans at a host. */
  readonly waits: boolean;
  /** Whether it pauses or ends with the token that applied it. */
  readonly followsToken: boolean;
  /** Whether its limit of hosts at once is for those at each server (`lib/per-server.ts`), and not for all. */
  readonly limitsEachServer: boolean;
  readonly deliver: DeliverJob;
  /** In whose share its connections count (`shareOf`). */
  clientOf(plan: Plan): string | null;
  /** The host as its caller knows it; undefined where the address book says it. */
  targetOf(label: string): FoundHost | undefined;
  /** The host at that place as its caller named it; undefined where the ledger says it. */
  hostAt(n: number): PlannedHost | undefined;
  /** Whether nobody waits for it any more, so that nothing more begins. */
  isLeft(): boolean;
  /** Why nothing more of it begins, though it neither pauses nor is cancelled; undefined as long as it goes on. */
  whyStopped(run: Run): string | undefined;
  /** Resolves when whoever waits for a step goes on. @param step resolves once it is written down. */
  written(step: Promise<boolean>): Promise<unknown>;
  /**
   * The host has ended.
   *
   * @param status and @param error are the result where there is no other.
   * @returns what resolves once its result has been handed over; nothing where it has been.
   */
  ended(
    entry: Pick<Entry, "label" | "way">,
    status: "failed" | "cancelled",
    error: string,
  ): Promise<unknown> | undefined;
}

/** The policy of a plan for which no caller waits. */
export const unattended = (deliver: DeliverJob): Policy => ({
  isUrgent: false,
  waits: true,
  followsToken: true,
  limitsEachServer: false,
  deliver,
  clientOf: ({ token }) => token,
  targetOf: () => undefined,
  hostAt: () => undefined,
  isLeft: () => false,
  whyStopped: () => undefined,
  written: (step) => step,
  ended: () => undefined,
});

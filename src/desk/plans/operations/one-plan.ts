/**
 * What the operations of plans share.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field } from "../../../core/fields";
import type { Grant } from "../../../core/rights";
import type { Plans } from "../plans";
import { PLAN_SUMMARY } from "../view";

/** What an operation of plans uses of the service. */
export interface Uses {
  plans(): Promise<Plans>;
}

/** What says whether a caller may use the commands of a plan. */
export interface Permits {
  /** @throws a `forbidden` failure when the caller may not use all of them. */
  permit(commands: readonly string[], grant: Grant, secrets?: readonly string[]): void;
  /** The same for what other hosts run by those commands: the list as it was written. */
  permitElsewhere(actions: unknown, grant: Grant): Promise<void>;
}

/** How a plan is named: its id, or how that begins. */
export const ID = field(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)),
  "The plan: its id, or how the id begins",
);
/** The input of an operation on one plan. */
export const ONE_PLAN = { id: ID };
/** The plan of examples. */
export const EXAMPLE = { id: "7d3f0c52" };

/** What the operations share that change a plan. */
export const CHANGE = {
  onHosts: true,
  serverInRuns: true,
  scope: "operate",
  changes: "announces",
  answeredBy: "owner",
  example: EXAMPLE,
  output: PLAN_SUMMARY,
} as const;

/** Does what somebody has decided about a plan: that is on record first, with the whole id, and where it fails once more. */
export async function decided<T>(
  caller: Pick<Caller, "announce" | "recordFailure">,
  subject: string,
  work: () => T | Promise<T>,
): Promise<T> {
  await caller.announce(subject);
  try {
    return await work();
  } catch (error) {
    // The caller gets the error itself, whether it can be recorded or not.
    await caller.recordFailure?.(subject, error).catch(() => {});
    throw error;
  }
}

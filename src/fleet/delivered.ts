/**
 * What becomes of an action list at a host.
 */
import * as v from "valibot";

/**
 * `ok`: every action of the list ran and none failed. `failed`: the host refused the list, an action failed, or the
 * connection broke while it ran. `unreachable`: the list did not get there, so nothing has run. `unauthorized`: nor has
 * anything, for the token is wrong. `timeout`: it got there, and was not done in time. `cancelled`: not begun, or nobody
 * waited for the end.
 */
export const DELIVERY_STATUS = [
  "ok",
  "failed",
  "unreachable",
  "unauthorized",
  "timeout",
  "cancelled",
] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUS)[number];

/** One host's result. */
export const DELIVERED = v.object({
  label: v.string(),
  ok: v.boolean(),
  status: v.picklist(DELIVERY_STATUS),
  /** Whether the list got to the host, which may then have run it. */
  delivered: v.boolean(),
  /** Milliseconds from the beginning to the result. */
  duration_ms: v.number(),
  /** What the host calls the run. */
  run_id: v.exactOptional(v.string()),
  /** `execute: <the action as JSON>` to what it returned, as the host's `/execute` answers. */
  result: v.exactOptional(v.record(v.string(), v.unknown())),
  outcomes: v.exactOptional(v.array(v.record(v.string(), v.unknown()))),
  /** Why it is not ok. */
  error: v.exactOptional(v.string()),
});

export type Delivered = v.InferOutput<typeof DELIVERED>;

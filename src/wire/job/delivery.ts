/**
 * What became of an action list at one host of a plan or a broadcast.
 */
import * as v from "valibot";
import { between, field, seconds, secret } from "../../core/fields";
import { MAX_TIMEOUT_S, STOP_ON_ERROR } from "../../core/run";

/** How a list runs on each host of many. */
export const RUN_ON_HOST = {
  stop_on_error: field(
    STOP_ON_ERROR,
    "On each host, stop at the first action that fails; `focus`: that fails to find or focus a window",
  ),
  delivery_timeout_s: field(
    v.optional(seconds(between(0.01, 3_600)), 10),
    "Time limit to deliver the list to a host, in seconds",
  ),
  timeout_s: field(
    v.optional(seconds(between(0.01, MAX_TIMEOUT_S)), 300),
    "Time limit for the run on a host, in seconds",
  ),
};

/**
 * `ok`: every action ran and none failed. `failed`: the host refused the list, an action failed, or the connection broke
 * during the run. `unreachable`: the list did not reach the host; nothing ran. `unauthorized`: the host refused the token;
 * nothing ran. `timeout`: the list arrived and the run did not end in time. `cancelled`: not sent, or not waited for.
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

/** What became of a broadcast at one host. */
export const DELIVERY = v.object({
  label: v.string(),
  ok: v.boolean(),
  status: v.picklist(DELIVERY_STATUS),
  /** Whether the list reached the host, which then may have run it. */
  delivered: v.boolean(),
  duration_ms: v.number(),
  /** The id that the host gave to the run. */
  run_id: v.exactOptional(v.string()),
  /**
   * What each action returned, by `execute: <the action as JSON>`, as in the host's answer to `/execute`. Nothing here knows
   * what is secret in it, or which scopes it needs.
   */
  result: v.exactOptional(secret(v.record(v.string(), v.unknown()))),
  outcomes: v.exactOptional(secret(v.array(v.record(v.string(), v.unknown())))),
  /** Why it is not ok. */
  error: v.exactOptional(v.string()),
});

export type Delivery = v.InferOutput<typeof DELIVERY>;

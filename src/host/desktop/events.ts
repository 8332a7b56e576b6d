import * as v from "valibot";
import { eventType } from "../../core/events";

export const programExited = eventType({
  name: "program.exited",
  summary: "A program that AC_launch started has ended",
  scope: "read",
  data: v.object({
    run_id: v.string(),
    pid: v.number(),
    /** Null when a signal ended it. */
    exit_code: v.nullable(v.number()),
    signal: v.nullable(v.string()),
    /** Whether it was to outlive its run. */
    detached: v.boolean(),
  }),
});

export const eventTypes = [programExited];

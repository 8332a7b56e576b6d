import * as v from "valibot";
import { eventType } from "../../core/events";
import { JOB_VIEW } from "./view";

const event = (name: string, summary: string) => eventType({ name, summary, scope: "read", data: JOB_VIEW });

/** The types of events of jobs. */
export const JOB_EVENTS = {
  added: event("job.added", "A job was added"),
  changed: event("job.changed", "A job has changed: its run has begun or ended, or its next time is another"),
  paused: event("job.paused", "A job was paused or disabled, or has had all its runs"),
  resumed: event("job.resumed", "A job was resumed"),
  removed: eventType({
    name: "job.removed",
    summary: "A job was removed",
    scope: "read",
    data: v.object({ job_id: v.string() }),
  }),
};

export const eventTypes = Object.values(JOB_EVENTS);

import * as v from "valibot";
import { eventType } from "../../core/events";
import { JOB_VIEW } from "./view";

const job = { scope: "read", data: JOB_VIEW } as const;

/** The types of events of jobs. */
export const JOB_EVENTS = {
  added: eventType({ name: "job.added", summary: "A job was added", ...job }),
  changed: eventType({
    name: "job.changed",
    summary: "A job has changed: its run has begun or ended, or its next time is another",
    ...job,
  }),
  paused: eventType({
    name: "job.paused",
    summary: "A job was paused or disabled, or has had all its runs",
    ...job,
  }),
  resumed: eventType({ name: "job.resumed", summary: "A job was resumed", ...job }),
  removed: eventType({
    name: "job.removed",
    summary: "A job was removed",
    scope: "read",
    data: v.object({ job_id: v.string() }),
  }),
};

export const eventTypes = Object.values(JOB_EVENTS);

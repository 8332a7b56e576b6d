/** The events of the black box. */
import * as v from "valibot";
import { eventType } from "../../../../core/events";
import { KEPT_RUN } from "../../../../wire/screen/black-box";

export const boxStarted = eventType({
  name: "black_box.started",
  summary: "The black box keeps what the screen shows from now on",
  scope: "read",
  data: v.object({
    /** How long it is kept, in seconds. */
    span_s: v.number(),
  }),
});

export const boxPaused = eventType({
  name: "black_box.paused",
  summary: "A person, or a file of what hosts should have, has paused the black box",
  scope: "read",
  data: v.object({
    /** The token that did it; null for the owner of the host. */
    token: v.nullable(v.string()),
  }),
});

export const boxKept = eventType({
  name: "black_box.kept",
  summary: "A run of a job or a plan has failed: what the screen showed in the minutes before is kept",
  scope: "read",
  data: KEPT_RUN,
});

export const eventTypes = [boxStarted, boxPaused, boxKept];

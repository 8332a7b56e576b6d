/** The events of the inspector. */
import * as v from "valibot";
import { LINK_SUMMARY } from "../../core/answer-schemas";
import { eventType } from "../../core/events";

export const inspectorSampled = eventType({
  name: "inspector.sampled",
  summary: "Samples of peer links were recorded: once a second at most, with the statistics of the window",
  scope: "read",
  data: LINK_SUMMARY,
});

export const inspectorReset = eventType({
  name: "inspector.reset",
  summary: "The samples of peer links were deleted",
  scope: "read",
  data: v.object({ /** How many. */ cleared: v.number() }),
});

export const eventTypes = [inspectorSampled, inspectorReset];

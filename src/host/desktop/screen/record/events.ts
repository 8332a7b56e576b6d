/** The events of recordings of the screen. */
import * as v from "valibot";
import { eventType } from "../../../../core/events";

const ABOUT = {
  file_path: v.string(),
  /** The token that started it; null for the host's own. */
  token: v.nullable(v.string()),
};

export const recordingStarted = eventType({
  name: "recording.started",
  summary: "The screen is being recorded",
  scope: "read",
  data: v.object(ABOUT),
});

export const recordingEnded = eventType({
  name: "recording.ended",
  summary: "A recording of the screen has ended: it was stopped, its time or size was reached, or it failed",
  scope: "read",
  data: v.object({
    ...ABOUT,
    ended: v.string(),
    error: v.nullable(v.string()),
    seconds: v.number(),
    bytes: v.number(),
  }),
});

export const eventTypes = [recordingStarted, recordingEnded];

/** The events of screens that differ from the others. */
import * as v from "valibot";
import { eventType, hostOfLabel } from "../../../core/events";

export const hostOdd = eventType({
  name: "host.odd",
  summary:
    "The screen of a host has differed from the others with the same tag for as long as --odd-after says",
  scope: "screen",
  host: hostOfLabel,
  data: v.object({
    label: v.string(),
    tag: v.string(),
    /** 75 to 100. */
    score: v.number(),
    /** The largest difference, in one sentence. */
    why: v.string(),
    /** Since when, as far as svc has looked. */
    since: v.string(),
  }),
});

export const hostAlike = eventType({
  name: "host.alike",
  summary: "The screen of a host that stood out is as the others again, or could not be compared for a while",
  scope: "screen",
  host: hostOfLabel,
  data: v.object({
    label: v.string(),
    /** Whether it was compared; false where it did not answer, or too few others did. */
    compared: v.boolean(),
  }),
});

export const eventTypes = [hostOdd, hostAlike];

import * as v from "valibot";
import { eventType } from "../../core/events";
import { FINDING } from "./check";
import { ABOUT_HOSTS } from "./checks";

export const diagnosisChanged = eventType({
  name: "diagnosis.changed",
  summary:
    "A check of this host found something else than when it ran before; who runs the checks decides when",
  scope: "read",
  // What a check says of other hosts is in its text.
  host: ({ name }) => (ABOUT_HOSTS.has(String(name)) ? null : undefined),
  data: v.object({
    name: v.string(),
    ...v.pick(FINDING, ["ok", "severity", "detail"]).entries,
    /** Where there is no screen: whether one is `expected`, or that is `undecided`. */
    screen: v.optional(v.string()),
  }),
});

export const eventTypes = [diagnosisChanged];

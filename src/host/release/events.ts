import * as v from "valibot";
import { eventType } from "../../core/events";

export const upgradeEnded = eventType({
  name: "upgrade.ended",
  summary:
    "The program of this host was replaced by another version, or put back, or an upgrade was interrupted",
  scope: "read",
  data: v.object({
    id: v.string(),
    from: v.string(),
    to: v.string(),
    /** Whether the new version is in place and answers. */
    ok: v.boolean(),
    error: v.nullable(v.string()),
  }),
});

export const eventTypes = [upgradeEnded];

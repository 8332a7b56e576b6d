import * as v from "valibot";
import { eventType } from "../../core/events";
import { LAST_UPGRADE } from "../../wire/release/released-binary";

export const upgradeEnded = eventType({
  name: "upgrade.ended",
  summary:
    "The program of this host was replaced by another version, or put back, or an upgrade was interrupted",
  scope: "read",
  data: v.object({
    ...LAST_UPGRADE.entries,
    /** Whether the new version is in place and answers. */
    ok: v.boolean(),
  }),
});

export const eventTypes = [upgradeEnded];

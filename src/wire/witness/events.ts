/** The events of a desk that watches the audit logs of its hosts. */
import * as v from "valibot";
import { eventType, hostOfLabel } from "../../core/events";
import { STATES } from "./log-state";

export const witnessChanged = eventType({
  name: "witness.changed",
  summary: "This desk has found another state of the audit log of a host than before",
  scope: "read",
  host: hostOfLabel,
  data: v.object({
    label: v.string(),
    host_id: v.string(),
    state: v.picklist(STATES),
    former: v.picklist(STATES),
    /** The number of leaves that this desk has cosigned. */
    size: v.number(),
    reason: v.string(),
  }),
});

export const witnessContradicted = eventType({
  name: "witness.contradicted",
  summary: "A log showed this witness a checkpoint that contradicts one which it has cosigned",
  scope: "read",
  // A log has a name of its own.
  host: () => null,
  data: v.object({ origin: v.string(), size: v.number() }),
});

export const eventTypes = [witnessChanged, witnessContradicted];

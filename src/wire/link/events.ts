/** The events of links: whether a host is there is `host.up` and `host.down`. */
import * as v from "valibot";
import { eventType, hostOfLabel } from "../../core/events";

export const linkReplaced = eventType({
  name: "link.replaced",
  summary:
    "Two hosts with one identity are linked to this desk: the newer one has the link, the other one has lost it",
  scope: "read",
  host: hostOfLabel,
  data: v.object({
    label: v.string(),
    host_id: v.string(),
    address: v.string(),
    /** Of the one that has lost it. */
    replaced: v.string(),
  }),
});

export const eventTypes = [linkReplaced];

/** The events of leases. */
import * as v from "valibot";
import { eventType } from "../../core/events";
import { LEASE } from "./lease";

/** Not all of its terms: an event is short. */
const LEASE_ABOUT = v.pick(LEASE, [
  ...([
    "id",
    "what",
    "agent",
    "token",
    "desktop",
    "desktop_name",
    "minutes",
    "actions",
    "used",
    "reason",
  ] as const),
]);

const event = <const N extends string>(name: N, summary: string) =>
  eventType({ name, summary, scope: "operate", data: LEASE_ABOUT });

export const leaseBegan = event("lease.began", "An agent has pointer and keyboard of a desktop for a while");
export const leaseEnded = event("lease.ended", "The lease of an agent has ended, or did not come about: why");

export const eventTypes = [leaseBegan, leaseEnded];

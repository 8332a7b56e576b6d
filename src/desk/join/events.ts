/** The events of join strings, without their secrets. */
import * as v from "valibot";
import { eventType } from "../../core/events";

const event = (name: string, summary: string) =>
  eventType({ name, summary, scope: "admin", data: v.object({ id: v.string() }) });

export const joinAdded = event("join.added", "A join string was made");
export const joinUsed = event(
  "join.used",
  "A host used a join string, or the use was taken back as the host could not be kept",
);
export const joinRemoved = event("join.removed", "A join string was removed");

export const eventTypes = [joinAdded, joinUsed, joinRemoved];

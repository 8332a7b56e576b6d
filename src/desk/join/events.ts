/** The events of join strings, without their secrets. */
import * as v from "valibot";
import { eventType } from "../../core/events";

const data = v.object({ id: v.string() });

export const joinAdded = eventType({
  name: "join.added",
  summary: "A join string was made",
  scope: "admin",
  data,
});

export const joinUsed = eventType({
  name: "join.used",
  summary: "A host used a join string, or the use was taken back as the host could not be kept",
  scope: "admin",
  data,
});

export const joinRemoved = eventType({
  name: "join.removed",
  summary: "A join string was removed",
  scope: "admin",
  data,
});

export const eventTypes = [joinAdded, joinUsed, joinRemoved];

/** The events of desks and their standbys. */
import * as v from "valibot";
import { eventType } from "../../../core/events";

export const standbyLate = eventType({
  name: "standby.late",
  summary:
    "A standby has not asked this desk for a minute, or the desk that this machine follows has not answered for one",
  scope: "admin",
  data: v.object({ name: v.string() }),
});

export const standbyFollows = eventType({
  name: "standby.follows",
  summary: "A standby follows this desk, or this machine its desk, for the first time or again",
  scope: "admin",
  data: v.object({ name: v.string() }),
});

export const deskTakenOver = eventType({
  name: "desk.taken_over",
  summary: "A standby has taken this desk over: this machine sends no jobs to hosts any more",
  scope: "admin",
  data: v.object({ name: v.string(), generation: v.number() }),
});

export const eventTypes = [standbyLate, standbyFollows, deskTakenOver];

import * as v from "valibot";
import { eventType } from "../../core/events";
import { LISTED_ROW } from "./row";
import { ALTERED_ROW, WITNESSED } from "./witness/findings";

export const auditAppended = eventType({
  name: "audit.appended",
  summary: "Rows were appended to the audit log; one event for all of a tenth of a second",
  scope: "audit",
  data: v.object({
    /** How many rows the log has. */
    rows: v.number(),
    /** How many were appended, by this process, since the event before. */
    appended: v.number(),
    /** The last of them, newest first. */
    newest: v.array(LISTED_ROW),
  }),
});

export const auditRemoved = eventType({
  name: "audit.removed",
  summary: "The audit log was cleared, or its oldest rows were moved to an archive",
  scope: "audit",
  data: v.object({
    /** How many rows. */
    removed: v.number(),
  }),
});

export const auditWitnessed = eventType({
  name: "audit.witnessed",
  summary: "Witnesses cosigned a checkpoint of the audit log",
  scope: "audit",
  data: WITNESSED,
});

export const auditAltered = eventType({
  name: "audit.altered",
  summary: "A row of the audit log is not as it was written, or is gone: the server verifies all in turn",
  scope: "audit",
  data: ALTERED_ROW,
});

export const eventTypes = [auditAppended, auditRemoved, auditWitnessed, auditAltered];

import * as v from "valibot";
import { eventType } from "../../core/events";
import { OUTCOME } from "../../core/run";
import { LOG_LINE, RUN_VIEW } from "./types";

export const runStarted = eventType({
  name: "run.started",
  summary: "A run has begun",
  scope: "read",
  data: RUN_VIEW,
});

export const runStep = eventType({
  name: "run.step",
  summary: "A run has done an action, or waits for pointer and keyboard, or goes on",
  scope: "read",
  data: v.object({
    run_id: v.string(),
    ...v.pick(RUN_VIEW, ["status", "waiting_for"]).entries,
    /** How many actions it has done. */
    done: v.number(),
    /** What became of the newest, without what it answered; null before the first. */
    outcome: v.nullable(v.pick(OUTCOME, ["command", "ok", "duration_ms"])),
  }),
});

export const runEnded = eventType({
  name: "run.ended",
  summary: "A run has ended",
  scope: "read",
  data: RUN_VIEW,
});

export const runLog = eventType({
  name: "run.log",
  summary: "A script has logged a message",
  // It may have what any command answers with.
  scope: "admin",
  data: v.object({ run_id: v.string(), message: LOG_LINE.entries.message }),
});

export const eventTypes = [runStarted, runStep, runEnded, runLog];

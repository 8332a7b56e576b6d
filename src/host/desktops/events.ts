/** The events of desktops on demand. */
import * as v from "valibot";
import { eventType } from "../../core/events";

const ABOUT = {
  name: v.string(),
  /** The run that it belongs to; null for one that is kept. */
  run_id: v.nullable(v.string()),
  /** The token that started it; null for the owner of the host. */
  token: v.nullable(v.string()),
};

export const desktopStarted = eventType({
  name: "desktop.started",
  summary: "A desktop of its own runs: that of a run, or one that is kept under a name",
  scope: "read",
  data: v.object({ ...ABOUT, size: v.string() }),
});

export const desktopEnded = eventType({
  name: "desktop.ended",
  summary: "A desktop of its own has ended, with whatever was started on it",
  scope: "read",
  data: v.object({ ...ABOUT, /** Why it ended. */ reason: v.string() }),
});

export const desktopFull = eventType({
  name: "desktop.full",
  summary: "The folders of a desktop of its own hold more than they may: it ends",
  scope: "read",
  data: v.object({
    ...ABOUT,
    limit_bytes: v.number(),
    used_bytes: v.number(),
  }),
});

export const eventTypes = [desktopStarted, desktopFull, desktopEnded];

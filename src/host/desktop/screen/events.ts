/** The events of the live screen. */
import * as v from "valibot";
import { eventType } from "../../../core/events";
import { VIEWER } from "../../../wire/screen/viewer";

const data = v.omit(VIEWER, ["stats"]);

export const screenWaiting = eventType({
  name: "screen.waiting",
  summary: "A viewer of the screen, or one that wants to control, waits for a person to allow it",
  scope: "read",
  data,
});

export const screenOpened = eventType({
  name: "screen.opened",
  summary: "Somebody watches the screen live",
  scope: "read",
  data,
});

export const screenControl = eventType({
  name: "screen.control",
  summary: "A viewer of the screen took pointer and keyboard, waits for them, or has left them",
  scope: "read",
  data,
});

export const screenClosed = eventType({
  name: "screen.closed",
  summary: "A viewer of the screen has ended, or was refused",
  scope: "read",
  data: v.object({ ...data.entries, /** Why it ended. */ reason: v.string() }),
});

export const eventTypes = [screenWaiting, screenOpened, screenControl, screenClosed];

/** The events of the live screen. */
import * as v from "valibot";
import { eventType } from "../../../core/events";
import { VIEWER } from "../../../wire/screen/viewer";

const ABOUT = v.omit(VIEWER, ["stats"]);

const event = (name: string, summary: string) => eventType({ name, summary, scope: "read", data: ABOUT });

export const screenWaiting = event(
  "screen.waiting",
  "A viewer of the screen, or one that wants to control, waits for a person to allow it",
);
export const screenOpened = event("screen.opened", "Somebody watches the screen live");
export const screenControl = event(
  "screen.control",
  "A viewer of the screen took pointer and keyboard, waits for them, or has left them",
);
export const screenClosed = eventType({
  name: "screen.closed",
  summary: "A viewer of the screen has ended, or was refused",
  scope: "read",
  data: v.object({ ...ABOUT.entries, /** Why it ended. */ reason: v.string() }),
});

export const eventTypes = [screenWaiting, screenOpened, screenControl, screenClosed];

/** The events of peer sessions. */

import * as v from "valibot";
import { SESSION } from "../../core/answer-schemas";
import { eventType } from "../../core/events";

export const sessionOpened = eventType({
  name: "session.opened",
  summary: "A session with a peer began; it is `connecting` until `session.changed` says that it is `open`",
  scope: "read",
  data: SESSION,
});

export const sessionChanged = eventType({
  name: "session.changed",
  summary:
    "The state, route or files of a session changed, or bytes went through it: every other second at most",
  scope: "read",
  data: SESSION,
});

export const sessionClosed = eventType({
  name: "session.closed",
  summary: "A session ended",
  scope: "read",
  data: v.object({ ...SESSION.entries, /** Why it ended. */ reason: v.string() }),
});

export const eventTypes = [sessionOpened, sessionChanged, sessionClosed];

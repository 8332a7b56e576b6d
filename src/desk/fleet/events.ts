/** The events of a desk: hosts of the address book, and what polls find. */
import * as v from "valibot";
import { eventType, hostOfLabel } from "../../core/events";

const label = v.string();
const entry = v.object({ label, base_url: v.string(), tags: v.array(v.string()) });

export const hostAdded = eventType({
  name: "host.added",
  summary: "A host was added to the address book, or joined this desk",
  scope: "read",
  host: hostOfLabel,
  data: entry,
});

export const hostChanged = eventType({
  name: "host.changed",
  summary: "An entry of the address book changed",
  scope: "read",
  host: hostOfLabel,
  data: entry,
});

export const hostRemoved = eventType({
  name: "host.removed",
  summary: "A host was removed from the address book",
  scope: "read",
  host: (data) => ({ ...hostOfLabel(data), isGone: true }),
  data: v.object({ label }),
});

export const hostDown = eventType({
  name: "host.down",
  summary:
    "A host lost its link, or does not answer a poll as a healthy one does, and did before or is polled for the first time",
  scope: "read",
  host: hostOfLabel,
  data: v.object({
    label,
    base_url: v.string(),
    /** As the poll says it, or why the link ended. */ error: v.string(),
    /** When it was there last, ISO 8601; null where it never was since this desk started. */
    seen: v.optional(v.nullable(v.string())),
  }),
});

export const hostUp = eventType({
  name: "host.up",
  summary: "A host linked to this desk, or a poll found one healthy that was down",
  scope: "read",
  host: hostOfLabel,
  data: v.object({ label, base_url: v.string() }),
});

export const eventTypes = [hostAdded, hostChanged, hostRemoved, hostDown, hostUp];

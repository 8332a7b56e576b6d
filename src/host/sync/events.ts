/** The events of syncs. */
import * as v from "valibot";
import { type EventHost, eventType } from "../../core/events";
import { SYNC } from "./operations";

const { sending: _, errors: __, passed_over: ___, ...state } = SYNC.entries;

/** The state of a sync without its lists, which `sync.status` has. */
export const SYNC_STATE = v.object(state);

const data = SYNC_STATE;
const host = ({ to }: Readonly<Record<string, unknown>>): EventHost => ({ label: String(to) });

export const syncStarted = eventType({
  name: "sync.started",
  summary: "A sync began, also one that sends once",
  scope: "read",
  host,
  data,
});

export const syncChanged = eventType({
  name: "sync.changed",
  summary:
    "A sync found, sent or failed to send files, or connected or lost its connection: twice a second at most",
  scope: "read",
  host,
  data,
});

export const syncEnded = eventType({
  name: "sync.ended",
  summary: "A sync ended",
  scope: "read",
  host,
  data,
});

export const eventTypes = [syncStarted, syncChanged, syncEnded];

import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";

const SYNC = v.object({
  id: v.string(),
  to: v.string(),
  connected: v.boolean(),
  connection_error: v.nullable(v.string()),
  running: v.boolean(),
  watch_dir: v.string(),
  tracked: v.number(),
  pending: v.number(),
  sending: v.array(v.string()),
  sent_files: v.number(),
  sent_bytes: v.number(),
  failures: v.number(),
  error: v.nullable(v.string()),
  errors: v.array(v.object({ name: v.string(), error: v.string(), attempts: v.number() })),
  passed_over: v.array(v.object({ name: v.string(), reason: v.string() })),
});

const text = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096));

/** The shortest and the longest time between two looks, seconds. */
export const MIN_INTERVAL_S = 0.25;
export const MAX_INTERVAL_S = 86_400;

/** What `svc sync` takes too. */
export const SYNC_INPUT = v.strictObject({
  dir: field(text, "The folder to watch, on the host that runs this"),
  to: field(text, "Label of the host in the address book that gets the files"),
  include_subdirs: field(v.optional(v.boolean(), false), "Also what is in folders below it"),
  poll_interval_s: field(
    v.optional(v.pipe(v.number(), v.minValue(MIN_INTERVAL_S), v.maxValue(MAX_INTERVAL_S)), 3),
    "Seconds between two looks at the folder",
  ),
  resume: field(
    v.optional(v.boolean(), false),
    "Send what changed since the last sync of this folder to this host; else what changes from now on",
  ),
});

export const startSync = operation({
  name: "sync.start",
  summary: "Watch a folder and send each new or changed file to another host",
  scope: "operate",
  changes: "announces",
  command: "AC_sync_start",
  http: { method: "POST", path: "/sync/start" },
  input: SYNC_INPUT,
  output: SYNC,
  async run(service: Service, input, caller) {
    await caller.announce(`sync.start dir=${JSON.stringify(input.dir)} to=${JSON.stringify(input.to)}`);
    return (await (await service.syncs()).start(input)).info();
  },
});

export const stopSync = operation({
  name: "sync.stop",
  summary: "Stop watching a folder; what is on its way is given up",
  scope: "operate",
  changes: true,
  command: "AC_sync_stop",
  http: { method: "POST", path: "/sync/stop" },
  input: v.strictObject({ id: field(text, "The sync, as sync.start and sync.status give its id") }),
  output: SYNC,
  async run(service: Service, { id }) {
    return (await service.syncs()).stop(id);
  },
});

export const syncStatus = operation({
  name: "sync.status",
  summary: "List the folders that are being sent to other hosts",
  scope: "read",
  command: "AC_sync_status",
  http: { method: "GET", path: "/sync/status" },
  input: NO_INPUT,
  output: v.object({ syncs: v.array(SYNC), count: v.number() }),
  async run(service: Service) {
    const syncs = (await service.syncs()).list();
    return { syncs, count: syncs.length };
  },
});

export const operations = [startSync, stopSync, syncStatus];

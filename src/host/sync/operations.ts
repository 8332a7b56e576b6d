import * as v from "valibot";
import { between, field, flag, NO_INPUT, path, seconds } from "../../core/fields";
import { operation } from "../../core/operation";
import { requireOwnToken, shareOf } from "../../core/rights";
import type { Syncs } from "./manager";

interface Uses {
  syncs(): Promise<Syncs>;
}

interface ListUses extends Uses {
  /** Of a caller for some hosts, with these alone. */
  addressBook(): Promise<{ hosts(): ReadonlyArray<{ readonly label: string }> }>;
}

/** The state of an engine. Lists are cut to the first hundred items. */
const STATUS = v.object({
  running: v.boolean(),
  watch_dir: v.string(),
  /** Files that were sent as they are now, or were there at the start. */
  tracked: v.number(),
  /** Files that changed and are not sent yet. */
  pending: v.number(),
  sending: v.array(v.string()),
  sent_files: v.number(),
  sent_bytes: v.number(),
  /** Attempts to send that failed. */
  failures: v.number(),
  /** Why the folder could not be read, last time. */
  error: v.nullable(v.string()),
  errors: v.array(v.object({ name: v.string(), error: v.string(), attempts: v.number() })),
  passed_over: v.array(v.object({ name: v.string(), reason: v.string() })),
});

export type SyncStatus = v.InferOutput<typeof STATUS>;

export const SYNC = v.object({
  id: v.string(),
  to: v.string(),
  connected: v.boolean(),
  /** Why there is no connection, when there should be one. */
  connection_error: v.nullable(v.string()),
  ...STATUS.entries,
});

const STARTED = v.object({
  ...SYNC.entries,
  /** After a dry run, what would be sent. */
  files: v.exactOptional(v.array(v.object({ name: v.string(), size: v.number() }))),
});

export type SyncInfo = v.InferOutput<typeof STARTED>;

const text = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096));

const NOT_LISTED = "the files are not listed, as this client has not read the answers that it has";

const INPUT = v.strictObject({
  dir: field(path(text), "Folder to watch"),
  to: field(text, "Label of the host in the address book that receives the files"),
  include_subdirs: flag("Include subfolders"),
  interval_s: field(v.optional(seconds(between(0.25, 86_400)), 3), "Seconds between two scans of the folder"),
  resume: flag("First send what changed since the last sync to that host"),
  once: flag("Send what changed since the last sync to that host, then end"),
  dry_run: flag("List what `once` would send; send nothing"),
});

export type SyncRequest = v.InferOutput<typeof INPUT>;

/** What progress reports as `item`: the state of one file. */
export type SyncEvent =
  | { readonly event: "sending"; readonly name: string; readonly bytes: number; readonly size: number }
  | { readonly event: "sent"; readonly name: string }
  | { readonly event: "failed"; readonly name: string; readonly error: string };

export const startSync = operation({
  name: "sync.start",
  subcommand: "sync",
  summary: "Watch a folder and send each new or changed file to another host",
  // A peer may send files here; which files of this host go elsewhere, it does not decide.
  scope: "operate",
  changes: true,
  command: "AC_sync_start",
  http: { method: "POST", path: "/sync/start", long: "AC_sync_start" },
  input: INPUT,
  output: STARTED,
  async run(service: Uses, input, { progress: report, signal, grant }) {
    const options = { token: grant.name, share: shareOf(grant), report };
    const syncs = await service.syncs();
    if (input.dry_run) return syncs.preview(input, options, signal);
    if (!input.once) requireOwnToken(grant, "a sync");
    return input.once ? syncs.once(input, options, signal) : syncs.start(input, options);
  },
  brief: ({ files: _, ...sync }) => ({ ...sync, error: NOT_LISTED }),
});

const IN_FOREGROUND = "`svc sync` runs in the foreground: it shows its state, and Ctrl-C stops it";

export const stopSync = operation({
  name: "sync.stop",
  summary: "Stop a sync and its transfers",
  scope: "operate",
  changes: true,
  leftOut: { cli: IN_FOREGROUND },
  command: "AC_sync_stop",
  http: { method: "POST", path: "/sync/stop" },
  input: v.strictObject({ id: field(text, "Id of the sync, from sync.start or sync.status") }),
  output: SYNC,
  run: async (service: Uses, { id }, { grant }) => (await service.syncs()).stop(id, grant),
});

const syncStatus = operation({
  name: "sync.status",
  summary: "List the syncs and their state",
  scope: "read",
  leftOut: { cli: IN_FOREGROUND },
  command: "AC_sync_status",
  http: { method: "GET", path: "/sync/status" },
  input: NO_INPUT,
  output: v.object({ syncs: v.array(SYNC), count: v.number() }),
  async run(service: ListUses, _input, { grant }) {
    const all = (await service.syncs()).list();
    const own =
      grant.on === undefined || all.length === 0
        ? undefined
        : new Set((await service.addressBook()).hosts().map(({ label }) => label));
    const syncs = own ? all.filter(({ to }) => own.has(to)) : all;
    return { syncs, count: syncs.length };
  },
});

export const operations = [startSync, stopSync, syncStatus];

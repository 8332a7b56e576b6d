import { userInfo } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import type { Caller } from "../core/caller";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { badInput, forbidden, unavailable } from "../lib/errors";
import { configFiles } from "../lib/paths";
import type { Service } from "../service";
import { isTime, timeBound } from "./list";
import type { AuditLog } from "./log";

const ROW = v.object({
  id: v.number(),
  ts: v.string(),
  event_type: v.string(),
  host_id: v.nullable(v.string()),
  viewer_id: v.nullable(v.string()),
  detail: v.nullable(v.string()),
});

const TIME = v.pipe(
  v.string(),
  v.check((text) => isTime(text), "a time in ISO 8601 (2026-04-27T10:30:00Z)"),
);
/** `ID:HASH`. */
const NOTED = v.pipe(
  v.string(),
  v.regex(/^\d{1,15}:[0-9a-f]{64}$/, "ID:HASH, the head of an earlier verification"),
);
const VERDICT = v.object({
  ok: v.boolean(),
  broken_at_id: v.nullable(v.number()),
  total_rows: v.number(),
  reason: v.nullable(v.string()),
  head: v.nullable(v.string()),
});
const optionalText = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

export const listAudit = operation({
  name: "audit.list",
  summary: "List rows of the audit log, newest first",
  scope: "read",
  command: "AC_audit_log_list",
  http: { method: "GET", path: "/audit/list" },
  input: v.strictObject({
    event_type: field(optionalText, "Only rows of this type"),
    host_id: field(optionalText, "Only rows about this host or client"),
    limit: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)), 200),
      "The most rows to answer with",
    ),
    since: field(v.optional(TIME), "Only rows from this time on (ISO 8601; UTC unless it names a zone)"),
    until: field(v.optional(TIME), "Only rows before this time"),
    before_id: field(
      v.optional(v.pipe(v.number(), v.safeInteger())),
      "Only rows with a lower id: the last id of a page gives the next page",
    ),
  }),
  output: v.object({ rows: v.array(ROW), count: v.number() }),
  async run(service: Service, query) {
    const rows = await (await openLog(service)).list(query);
    return { rows, count: rows.length };
  },
});

const longText = v.pipe(v.string(), v.maxLength(1_000_000));

export const logEvent = operation({
  name: "audit.log",
  summary: "Append a row of one's own to the audit log",
  scope: "operate",
  // The row is the record of it.
  changes: "announces",
  input: v.strictObject({
    event_type: field(
      v.pipe(
        v.string(),
        v.nonEmpty(),
        v.maxLength(200),
        v.check((type) => !type.startsWith("audit_"), "a type that the log does not write itself (audit_…)"),
      ),
      "What kind of event it is",
    ),
    host_id: field(v.optional(v.nullable(longText), null), "The host or client it concerns"),
    viewer_id: field(v.optional(v.nullable(longText), null), "The viewer it concerns"),
    detail: field(v.optional(v.nullable(longText), null), "What happened"),
  }),
  output: v.object({ id: v.number() }),
  async run(service: Service, event) {
    return { id: await (await openLog(service)).append(event) };
  },
});

export const verifyAudit = operation({
  name: "audit.verify",
  summary: "Verify the chain of the audit log",
  scope: "read",
  command: "AC_audit_log_verify",
  http: { method: "GET", path: "/audit/verify" },
  input: v.strictObject({
    noted: field(
      v.optional(NOTED),
      "The `head` of an earlier verification: the log must still have that row",
    ),
  }),
  output: VERDICT,
  async run(service: Service, { noted }) {
    return (await openLog(service)).verify({ noted });
  },
});

export const clearAudit = operation({
  name: "audit.clear",
  summary: "Remove every row of the audit log; a new first row says who did",
  scope: "admin",
  // That row is the record of it.
  changes: "announces",
  command: "AC_audit_log_clear",
  input: NO_INPUT,
  output: v.object({ deleted: v.number() }),
  async run(service: Service, _input, caller) {
    const { server } = await service.rest();
    // A script or a job that runs in a server's process may come from a request too.
    if (server ? !server.allowAuditClear : caller.kind === "rest") {
      throw forbidden("the server was not started so as to let requests clear the log (--allow-audit-clear)");
    }
    return { deleted: await (await openLog(service)).clear(nameOf(caller)) };
  },
});

export const pruneAudit = operation({
  name: "audit.prune",
  summary: "Move the oldest rows of the audit log to an archive; a new row says who did",
  scope: "admin",
  // That row is the record of it.
  changes: "announces",
  input: v.strictObject({
    keep: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000_000))),
      "How many of the newest rows stay",
    ),
    before: field(v.optional(TIME), "Rows from before this time go"),
    archive: field(v.optional(v.pipe(v.string(), v.nonEmpty())), "File to write them to"),
  }),
  output: v.object({ deleted: v.number(), archive: v.nullable(v.string()) }),
  async run(service: Service, { keep, before, archive }, caller) {
    if ((keep === undefined) === (before === undefined)) throw badInput("expected one of keep and before");
    const folder = configFiles(service.configDir).auditArchive;
    return (await openLog(service)).prune({
      what: before === undefined ? { keep: keep ?? 0 } : { before: timeBound(before) },
      archive: archive === undefined ? { folder } : { file: resolve(archive) },
      by: nameOf(caller),
    });
  },
});

export const operations = [listAudit, verifyAudit, clearAudit, pruneAudit, logEvent];

/** The caller, as a row names who removed others; not by name, which Bun takes from the environment. */
function nameOf({ kind, client }: Caller): string {
  return `${kind} (${client ?? (process.getuid ? `uid ${process.getuid()}` : `user ${userInfo().username}`)})`;
}

/** The log of this process. @throws an `unavailable` failure when it keeps none. */
export async function openLog(service: Service): Promise<AuditLog> {
  const log = await service.audit();
  if (!log) throw unavailable("this svc keeps no audit log (--no-audit)");
  return log;
}

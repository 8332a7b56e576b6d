import * as v from "valibot";
import { unavailable } from "../lib/errors";
import { field, operation } from "../operation";
import type { Service } from "../service";
import { isTime } from "./list";
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
  async run(service, query) {
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
  async run(service, event) {
    return { id: await (await openLog(service)).append(event) };
  },
});

export const operations = [listAudit, logEvent];

/** @throws an `unavailable` failure when this process keeps no log. */
async function openLog(service: Service): Promise<AuditLog> {
  const log = await service.audit();
  if (!log) throw unavailable("this svc keeps no audit log (--no-audit)");
  return log;
}

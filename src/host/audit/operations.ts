import { userInfo } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { parseCall } from "../../core/call";
import { type Caller, isRemote } from "../../core/caller";
import { field, flag, NO_INPUT, path, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, notPermitted, OWNER, type Permission } from "../../core/rights";
import { badInput, forbidden, unavailable } from "../../lib/errors";
import { LINES_CONTENT_TYPE } from "../../lib/ndjson";
import { configFiles } from "../../lib/paths";
import { VERDICT } from "./chain";
import type { ExportStep } from "./export";
import { LIST_QUERY, TIME, timeBound } from "./list";
import type { AuditLog } from "./log";
import { operations as receiptOperations } from "./receipt/operations";
import { ARCHIVED_ROWS, PRUNED } from "./retention";
import { LISTED_ROW } from "./row";
import { PATROL_REPORT, RESTORE, type Restore, WITNESSED } from "./witness/findings";
import { operations as witnessOperations } from "./witness/operations";

/** What the operations use of the service. */
interface Uses {
  readonly configDir: string;
  /** Null when this process keeps no audit log. */
  audit(): Promise<AuditLog | null>;
  permits(need: Permission): boolean;
  /** The newest restore of the log; null where there was none. */
  newestRestore(): Promise<Restore | null>;
}

const PATH = path(v.pipe(v.string(), v.nonEmpty()));

/** `ID:HASH`. */
const NOTED = v.pipe(
  v.string(),
  v.regex(/^\d{1,15}:[0-9a-f]{64}$/, "ID:HASH, the head of an earlier verification"),
);

export const listAudit = operation({
  name: "audit.list",
  summary: "List rows of the audit log, newest first",
  scope: "audit",
  command: "AC_audit_log_list",
  http: { method: "GET", path: "/audit/list" },
  input: LIST_QUERY,
  output: v.object({
    rows: v.array(LISTED_ROW),
    count: v.number(),
    /** Set where older rows are left out, as the answer would be too large: `before_id` with the last id gives them. */
    cut: v.optional(v.literal(true)),
  }),
  async run(service: Uses, query) {
    const { rows, isCut } = await (await openLog(service)).page(query);
    return { rows, count: rows.length, ...(isCut && { cut: true as const }) };
  },
});

export const auditStatus = operation({
  name: "audit.status",
  summary: "Show the number of rows of the audit log, their types, and whether they may be cleared",
  // Only a server verifies all rows in turn.
  answeredBy: "server or here",
  serverInRuns: true,
  scope: "audit",
  command: "AC_audit_log_status",
  http: { method: "GET", path: "/audit/status" },
  input: NO_INPUT,
  output: v.object({
    rows: v.number(),
    event_types: v.array(v.string()),
    /** Whether this caller may use `AC_audit_log_clear` here. */
    may_clear: v.boolean(),
    /** How far witnesses have cosigned the log; null where none has. */
    witnessed: v.nullable(WITNESSED),
    /** What the server has found that verifies all rows in turn; null where none does. */
    patrolled: v.nullable(PATROL_REPORT),
  }),
  async run(service: Uses, _input, caller) {
    const log = await openLog(service);
    return {
      rows: log.rowCount(),
      event_types: await log.types(),
      may_clear: isPerson(caller) || (service.permits("audit_clear") && allows(caller.grant, "admin")),
      witnessed: await log.witnessed(),
      patrolled: log.patrolled(),
    };
  },
});

const longText = v.pipe(v.string(), v.maxLength(1_000_000));

export const logEvent = operation({
  name: "audit.log",
  summary: "Append a row to the audit log",
  answeredBy: "owner",
  scope: "admin",
  // The row itself is the record.
  changes: "announces",
  leftOut: {
    http: "the log records what a request does; rows of other programs come from this host",
    script: "the log records what a script does; rows of other programs come from the command line",
  },
  input: v.strictObject({
    event_type: field(
      v.pipe(
        v.string(),
        v.nonEmpty(),
        v.maxLength(200),
        v.check((type) => !type.startsWith("audit_"), "a type that the log does not write itself (audit_…)"),
      ),
      "The type of the event",
    ),
    host_id: field(v.optional(v.nullable(longText), null), "The host or client of the event"),
    viewer_id: field(v.optional(v.nullable(longText), null), "The viewer of the event"),
    detail: field(v.optional(v.nullable(longText), null), "What happened"),
  }),
  output: v.object({ id: v.number() }),
  async run(service: Uses, event) {
    return { id: await (await openLog(service)).append(event) };
  },
});

export const verifyAudit = operation({
  name: "audit.verify",
  summary: "Verify the chain of the audit log, or of an export",
  scope: "audit",
  command: "AC_audit_log_verify",
  http: { method: "GET", path: "/audit/verify", long: "AC_audit_log_verify" },
  input: v.strictObject({
    noted: field(
      v.optional(NOTED),
      "The `head` of an earlier verification: the log must still have this row",
    ),
    file: field(v.optional(PATH), "Verify this export or archive instead (.jsonl, .gz); not over HTTP"),
    witnessed: flag("Verify the tree and the checkpoints too, and that a witness has cosigned one"),
  }),
  output: v.object({
    ...VERDICT.entries,
    /** How far witnesses have cosigned the log; null where none has, or that was not asked for. */
    witnessed: v.optional(v.nullable(WITNESSED)),
    /** The newest restore of the log (`svc admin witness-restore`); null where there was none, or that was not asked for. */
    restored: v.optional(v.nullable(RESTORE)),
  }),
  mismatch: ({ file, witnessed }) =>
    witnessed && file !== undefined
      ? { field: "witnessed", message: "expected without file: an export has no checkpoints" }
      : undefined,
  async run(service: Uses, { noted, file, witnessed }, { kind, grant, progress, signal }) {
    const report = (what: string) => (done: number, total: number) => progress?.({ what, done, total });
    if (file === undefined) {
      const log = await openLog(service);
      const call = { noted, signal, ...(progress && { progress: report("rows verified") }) };
      if (!witnessed) return log.verify(call);
      const verdict = unlessUnseen(await log.verifyWitnessed(call));
      return unlessFalse(verdict, await service.newestRestore());
    }
    // A token for the log must not find out about files of the host, also by way of a job.
    if (isRemote({ kind }) || !allows(grant, "admin"))
      throw forbidden("file: expected only from a caller on this host");
    const { verifyExport } = await import("./verify-export");
    return verifyExport(resolve(file), { noted, progress: report("bytes verified") });
  },
});

/** A log that nobody has seen is not witnessed. */
const unlessUnseen = <V extends { ok: boolean; witnessed: unknown }>(verdict: V) =>
  verdict.ok && verdict.witnessed === null
    ? { ...verdict, ok: false, reason: "no witness has cosigned a checkpoint of this log" }
    : verdict;

/** A restore that is not what it says hides a break. */
const unlessFalse = <V extends { ok: boolean }>(verdict: V, restored: Restore | null) =>
  verdict.ok && restored !== null && restored.fault !== null
    ? { ...verdict, restored, ok: false, reason: `row ${restored.id}, of a restore: ${restored.fault}` }
    : { ...verdict, restored };

const BULKY = "the answer can be larger than any other; export on the host and copy the file";

export const exportAudit = operation({
  name: "audit.export",
  summary: "Write all rows of the audit log as JSON lines",
  scope: "audit",
  reveals: true,
  acts: true,
  leftOut: { http: BULKY, script: BULKY },
  input: v.strictObject({
    output: field(v.optional(PATH), "File to write (.gz compresses); without it, the rows are returned"),
  }),
  output: v.union([v.object({ output: v.string(), rows: v.number() }), v.instance(Response)]),
  async run(service: Uses, { output }, { progress, signal }) {
    const log = await openLog(service);
    const { linesOf, writeExport } = await import("./export");
    if (output === undefined) {
      return new Response(linesOf(log.exported()), { headers: { "content-type": LINES_CONTENT_TYPE } });
    }
    let rows = 0;
    async function* counted(): AsyncGenerator<ExportStep> {
      for await (const step of log.exported()) {
        rows += step.rows;
        progress?.({ what: "rows exported", done: rows, total: Math.max(rows, log.rowCount()) });
        yield step;
      }
    }
    await writeExport(resolve(output), counted(), { signal });
    return { output, rows };
  },
});

export const clearAudit = operation({
  name: "audit.clear",
  summary: "Remove all rows of the audit log; a new first row records who did",
  answeredBy: "owner",
  scope: "admin",
  // That row is the record.
  changes: "announces",
  needs: "audit_clear",
  command: "AC_audit_log_clear",
  leftOut: { http: "a script can clear the log, where svc was started with --allow-audit-clear" },
  input: NO_INPUT,
  output: v.object({ deleted: v.number() }),
  async run(service: Uses, _input, caller) {
    if (!service.permits("audit_clear") && !isPerson(caller))
      throw notPermitted("AC_audit_log_clear", "audit_clear");
    return { deleted: await (await openLog(service)).clear(nameOf(caller)) };
  },
});

/** The owner of this host at the command line, who has confirmed it there: no script, no request, and no agent, whose grant is another. */
const isPerson = ({ kind, grant, run }: Caller) => kind === "cli" && grant === OWNER && !run;

const ARCHIVES = "archives are files for the administrator of this host";

export const pruneAudit = operation({
  name: "audit.prune",
  summary: "Move the oldest rows of the audit log to an archive; a new row records who did",
  answeredBy: "owner",
  scope: "admin",
  // That row is the record.
  changes: "announces",
  leftOut: { http: ARCHIVES, script: ARCHIVES },
  input: v.strictObject({
    keep: field(v.optional(whole(0, 1_000_000_000)), "Number of newest rows to keep"),
    before: field(v.optional(TIME), "Move rows from before this time (ISO 8601; UTC unless it names a zone)"),
    archive: field(v.optional(PATH), "File to write them to (.gz compresses; default: one in audit-archive)"),
    archived: field(
      v.optional(v.nullable(ARCHIVED_ROWS)),
      "The rows that the archive has already; null where there is nothing to move",
    ),
  }),
  output: PRUNED,
  async run(service: Uses, { archive, archived, ...which }, caller) {
    const what = oldRows(which);
    if (archived === null) return { deleted: 0, archive: null };
    if (archived && archive === undefined) throw badInput("archived: expected only with archive");
    const folder = configFiles(service.configDir).auditArchive;
    const file = archive === undefined ? undefined : resolve(archive);
    const to = file === undefined ? { folder } : archived ? { written: file, has: archived } : { file };
    return (await openLog(service)).prune({ what, archive: to, by: nameOf(caller) });
  },
});

/** Which rows `keep` or `before` names. @throws `bad_input` unless it is one of them. */
function oldRows({
  keep,
  before,
}: {
  readonly keep?: number | undefined;
  readonly before?: string | undefined;
}) {
  if ((keep === undefined) === (before === undefined)) throw badInput("keep, before: expected one of them");
  return before === undefined ? { keep: keep ?? 0 } : { before: timeBound(before) };
}

/**
 * The input of {@link pruneAudit} with an archive that this process has written: the owner of the folder may see another file under its path.
 *
 * @throws as `pruneAudit`.
 */
export async function archivedHere(service: Uses, input: v.InferInput<typeof pruneAudit.input>) {
  const { archive, ...which } = parseCall(pruneAudit, input);
  if (archive === undefined) return input;
  return { ...input, archived: await (await openLog(service)).archive(oldRows(which), resolve(archive)) };
}

export const operations = [
  ...witnessOperations,
  ...receiptOperations,
  listAudit,
  auditStatus,
  verifyAudit,
  exportAudit,
  clearAudit,
  pruneAudit,
  logEvent,
];

/** The caller, as a row names who removed others; by user id, as Bun takes the name from the environment. */
function nameOf({ kind, client, grant }: Caller): string {
  const user = () => (process.getuid ? `uid ${process.getuid()}` : `user ${userInfo().username}`);
  return `${kind} (${client ?? user()})${grant.name === null ? "" : ` token=${grant.name}`}`;
}

/** @throws an `unavailable` failure when this process keeps no audit log. */
async function openLog(service: Pick<Uses, "audit">): Promise<AuditLog> {
  const log = await service.audit();
  if (!log) throw unavailable("this svc keeps no audit log (--no-audit)");
  return log;
}

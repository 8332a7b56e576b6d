/**
 * What the rows of a run say of it. The same when a receipt is made and when it is verified.
 *
 * The promise: of the rows that a run has announced itself, none can be left out, added or exchanged: the row of its end has their number
 * and their digest. All of them begin and end as its first row does: the request, the token and the agent are the same.
 */
import { isSameHolder, OWNER_NAME } from "../../../core/rights";
import { rejected } from "../../../lib/errors";
import { isLate, verifyYes } from "../../../trust/passkeys/yes";
import { digestOfSubjects, RUN_ENDED, type RunEnd, runEndIn } from "../../../wire/receipt/run-record";
import type { RunClaims } from "../../../wire/receipt/statement";
import type { AuditEvent } from "../row";

/** A row of the log, in its order. */
export interface RunRow extends AuditEvent {
  readonly index: number;
  readonly ts: string;
}

/** The first row of a run, and what is around what the run announced there. */
export interface RunBegin<R extends AuditEvent> {
  readonly row: R;
  readonly before: string;
  readonly after: string;
  readonly trace: boolean;
  readonly parameters: string | null;
  readonly commands: readonly string[];
  readonly script: string;
}

const BEGIN =
  /^(.*?)run=([0-9a-f-]{36}) (trace=true )?(?:parameters=hmac:([0-9a-f]{64}) )?commands=(\S*)(?: secrets=\S+)? args=sha256:([0-9a-f]{64})(.*)$/s;

const namesRun = (run: string, detail: string | null): boolean => detail?.includes(`run=${run}`) ?? false;

/** What a row of a request begins with: whoever sends one chooses its path, without a token too. */
const REQUEST = /^\S+ \S+ -> /;

/** Whether svc itself names the run in the row: as a word, and not in the path of the request or the value of a field. */
export const isAbout = (run: string, detail: string | null): boolean =>
  ` ${detail?.replace(REQUEST, "") ?? ""} `.includes(` run=${run} `);

/** The first of the rows that says that the run begins, with what it says; undefined where none does. */
export function beginOf<R extends AuditEvent>(run: string, rows: readonly R[]): RunBegin<R> | undefined {
  for (const row of rows) {
    const found = BEGIN.exec(row.detail ?? "");
    if (found?.[2] !== run || row.event_type === RUN_ENDED) continue;
    const [, before = "", , trace, parameters, commands = "", script = "", after = ""] = found;
    return {
      row,
      before,
      after,
      script,
      trace: trace !== undefined,
      parameters: parameters ?? null,
      commands: commands === "" ? [] : commands.split(","),
    };
  }
  return undefined;
}

/** What the run announced in a row; undefined for a row that is not its own. */
export function subjectIn(
  run: string,
  { row: first, before, after }: RunBegin<AuditEvent>,
  row: AuditEvent,
): string | undefined {
  const { event_type, host_id, detail } = row;
  const isOwn =
    event_type === first.event_type &&
    host_id === first.host_id &&
    detail?.startsWith(`${before}run=${run} `) &&
    detail.endsWith(after);
  return isOwn ? detail?.slice(before.length, detail.length - after.length) : undefined;
}

interface WholeRun {
  readonly begin: RunBegin<RunRow>;
  readonly end: RunEnd;
  readonly endRow: RunRow;
}

/** @throws a `rejected` failure where a row is missing, or was added. */
function wholeRun(run: string, rows: readonly RunRow[]): WholeRun {
  const ends = rows.flatMap((row) => {
    const end = row.event_type === RUN_ENDED ? runEndIn(run, row.detail) : undefined;
    return end ? [{ row, end }] : [];
  });
  const [last, another] = ends;
  if (!last || another) throw rejected(`expected one row of the end of run ${run}, but found ${ends.length}`);
  const begin = beginOf(run, rows);
  if (!begin || begin.row.index >= last.row.index)
    throw rejected(`the row of the begin of run ${run} is missing`);
  const own = rows
    .filter(({ index }) => index < last.row.index)
    .flatMap((row) => subjectIn(run, begin, row) ?? []);
  if (own.length !== last.end.rows)
    throw rejected(`the run left ${last.end.rows} rows before that of its end, but ${own.length} are shown`);
  if (digestOfSubjects(own) !== last.end.rowsDigest)
    throw rejected("the rows of the run are not those that the row of its end names by their digest");
  return { begin, end: last.end, endRow: last.row };
}

const JOB = /plan=(\S+) job=(\S+) (signed )?content=sha256:([0-9a-f]{64}) $/;
const APPROVALS = /(?:^| )approved=sha256:([0-9a-f]{64})(?= )/g;
/** What follows in a row of what was announced: the token, the agent, the way, the trace. */
export const AFTER = /^(?: token=(\S+))?(?: agent=(.*?) via=mcp)?(?: via=\S+)?(?: trace=[0-9a-f]+)?$/;

/** The digests of what was allowed for a run, by its first row. */
export function approvalsOf(run: string, rows: readonly AuditEvent[]): string[] {
  const before = beginOf(run, rows)?.before ?? "";
  return [...before.matchAll(APPROVALS)].map(([, digest = ""]) => digest);
}

/** A row of an approval: that it was asked, or is about to be allowed. */
export interface ApprovalRow {
  readonly verb: "ask" | "allow";
  readonly id: string;
  readonly digest: string;
  /** A token; null for the host's own. */
  readonly askedBy: string | null;
  /** What follows. */
  readonly after: string;
}

/** What a passkey has signed, in the row of a yes, and what follows. */
const SIGNED = /^(?: passkey=([A-Za-z0-9_-]+))?(.*)$/s;

const APPROVAL =
  /^(?:\S+ \S+ -> started )?approvals\.(ask|allow) id=([0-9a-f]{8}) what="(?:[^"\\]|\\.)*" digest=([0-9a-f]{64})(?: client=\S+)? asked_by=(\S+)(.*)$/s;

/** What a row says of an approval; undefined for any other row. */
function approvalIn({ event_type, detail }: AuditEvent): ApprovalRow | undefined {
  const [, verb, id = "", digest = "", by = "", after = ""] = APPROVAL.exec(detail ?? "") ?? [];
  if (verb !== "ask" && verb !== "allow") return undefined;
  // Nobody else writes rows of that type, and rows of decisions come from those who decide.
  if ((verb === "ask") !== (event_type === "approval")) return undefined;
  return { verb, id, digest, askedBy: by === OWNER_NAME ? null : by, after };
}

/** Whether the row is about an approval of exactly this. */
export const namesApproval = (digest: string, row: AuditEvent): boolean => approvalIn(row)?.digest === digest;

/**
 * What the rows say of the run.
 *
 * @param rows in the order of the log. @throws a `rejected` failure where they are not all of the run, or others are among them.
 */
export function claimsOf(run: string, rows: readonly RunRow[]): RunClaims {
  const { begin, end, endRow } = wholeRun(run, rows);
  const approvals = approvalsOf(run, rows);
  const stranger = rows.find(
    (row) => !namesRun(run, row.detail) && !approvals.some((digest) => namesApproval(digest, row)),
  );
  if (stranger) throw rejected(`leaf ${stranger.index} is a row of something else`);
  const [, token = null, agent = null] = AFTER.exec(begin.after) ?? [];
  const [, plan, job = "", signed, content = ""] = JOB.exec(begin.before) ?? [];
  return {
    id: run,
    status: end.status,
    started: begin.row.ts,
    ended: endRow.ts,
    asked_by: { surface: begin.row.event_type, client: begin.row.host_id, token, agent },
    plan:
      plan === undefined ? null : { id: plan, job, content_sha256: content, signed: signed !== undefined },
    commands: [...begin.commands],
    script_sha256: begin.script,
    parameters_hmac: begin.parameters,
    outcomes: { count: end.outcomes, sha256: end.outcomesDigest },
    trace_sha256: end.trace,
    allowed: approvals.map((digest) => allowedIn(digest, rows, begin.row)),
  };
}

/**
 * The newest yes to what has this digest, and the row by which that was asked for; undefined where one of them is missing.
 *
 * @param rows those before the first of the run, in their order.
 */
export function yesIn<R extends AuditEvent>(digest: string, rows: readonly R[]) {
  const about = rows.flatMap((row) => {
    const approval = approvalIn(row);
    return approval?.digest === digest ? [{ row, approval }] : [];
  });
  const yes = about.findLast(({ approval }) => approval.verb === "allow");
  const asked = about.find(({ approval }) => approval.verb === "ask" && approval.id === yes?.approval.id);
  return yes && asked && { yes, asked };
}

/** Who allowed what the run needed. @throws a `rejected` failure where no row before its first says so. */
function allowedIn(digest: string, rows: readonly RunRow[], first: RunRow): RunClaims["allowed"][number] {
  const found = yesIn(
    digest,
    rows.filter(({ index }) => index < first.index),
  );
  if (!found)
    throw rejected("the rows that say who asked for the approval of the run, and who gave it, are missing");
  const { yes, asked } = found;
  const { id } = yes.approval;
  const [, word, after = ""] = SIGNED.exec(yes.approval.after) ?? [];
  const ending = AFTER.exec(after);
  // Without it, the yes would be one of the owner.
  if (!ending) throw rejected(`the row of the yes to ${id} does not say who gave it`);
  const [, allowed_by = null] = ending;
  const said = { id, digest, asked_by: asked.approval.askedBy, allowed_by, at: yes.row.ts };
  return word === undefined ? said : signedIn(word, said);
}

/** What was allowed, with what a passkey has signed of it. @throws a `rejected` failure where that is another, or is not signed as it should be. */
function signedIn(
  word: string,
  said: Omit<RunClaims["allowed"][number], "passkey">,
): RunClaims["allowed"][number] {
  const { statement, credential, key, origin, text } = verifyYes(word);
  const { id, digest, allowed_by, at } = said;
  const { what, terms, holder } = statement;
  // An earlier svc had tokens of that name too, which a row shows as it shows the token of the host.
  const isNamed = said.asked_by === null && terms.asked_by === OWNER_NAME;
  const asked_by = isNamed ? OWNER_NAME : said.asked_by;
  const isOfThis = terms.id === id && terms.digest === digest && terms.asked_by === asked_by;
  if (what !== "approvals.allow" || !isOfThis || !isSameHolder(holder, allowed_by))
    throw rejected(`what was signed with a passkey is not the approval ${id}, or not by who allowed it`);
  if (isLate(statement, at)) throw rejected(`the yes to ${id} was over before the row of it came`);
  return { ...said, asked_by, passkey: { credential, key, origin, text } };
}

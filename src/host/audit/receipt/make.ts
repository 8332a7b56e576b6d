/**
 * Making receipts from the log: the rows of a run or a plan, with the proof that each is in the log between two heads.
 */
import { conflict, notFound } from "../../../lib/errors";
import type { SigningKey } from "../../../lib/signing-key";
import { nextSlice } from "../../../lib/turn";
import { hostIdOf } from "../../../trust/identity";
import { decisionIn, PLAN_ENDED, planEndIn } from "../../../wire/receipt/plan-record";
import { RUN_ENDED, runEndIn } from "../../../wire/receipt/run-record";
import { MAX_ROWS, type ProvenRow, type ReceiptSource } from "../../../wire/receipt/statement";
import type { AuditLog } from "../log";
import type { AuditRow } from "../row";
import { approvalsOf, beginOf, isAbout, namesApproval, subjectIn, yesIn } from "./claims";

/** How many rows are looked at in one step: a few milliseconds. */
const STEP = 2_000;

/** How much earlier than the first row of a run its approvals may be: as long as one waits, and the agent after it. */
const APPROVAL_MS = 30 * 60_000;

/** How far the clock may have been set back while the run went on. */
const CLOCK_MS = 3_600_000;

/** How many rows of others a receipt of a run has: such as that of a cancel, and the answer to the request. */
const MAX_OTHERS = 100;

type FoundRow = AuditRow & { readonly row_hash: string };

/** What receipts are made of. */
export interface ReceiptParts {
  readonly log: AuditLog;
  readonly identity: SigningKey;
}

interface Search {
  /** A text that each of them has. */
  readonly text: string;
  /** Rows from before this time, in milliseconds since 1970, are not looked at. */
  readonly since: number;
  matches(row: AuditRow): boolean;
}

const isComplete = (row: AuditRow): row is FoundRow => row.row_hash !== null;

/** The rows that are looked for, oldest first. In slices: whoever may make one receipt may ask for many at once. */
export async function rowsWith(log: AuditLog, { text, since, matches }: Search): Promise<FoundRow[]> {
  const witness = await log.witness();
  const found: FoundRow[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const waits = nextSlice();
    if (waits) await waits;
    const step = await witness.read((db) => {
      const from = db
        .query<{ id: number; ts: string }, [number]>(
          `SELECT id, ts FROM events WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ${STEP - 1}`,
        )
        .get(before);
      const rows = db
        .query<AuditRow, [number, number, string]>(
          "SELECT * FROM events WHERE id < ? AND id >= ? AND instr(detail, ?) > 0 ORDER BY id DESC",
        )
        .all(before, from?.id ?? Number.MIN_SAFE_INTEGER, text);
      return { from, rows };
    });
    found.push(...step.rows.filter(matches).filter(isComplete));
    if (!step.from || Date.parse(step.from.ts) < since) return found.reverse();
    before = step.from.id;
  }
}

interface KnownRun {
  readonly run_id: string;
  readonly started_at: string;
}

/**
 * The rows of a run and of its approvals, with their proofs: those from which its claims follow, and a few that others have left about it.
 *
 * @throws `conflict` for a run whose end is not on record, and for one with more rows than a receipt has; `not_found` where its rows were
 *   pruned.
 */
export async function runSource(
  parts: ReceiptParts,
  { run_id, started_at }: KnownRun,
): Promise<ReceiptSource> {
  const since = (Date.parse(started_at) || 0) - CLOCK_MS;
  const { own, others } = await rowsOfRun(parts.log, run_id, since);
  const yes = await Promise.all(
    approvalsOf(run_id, own).map((digest) =>
      rowsOfYes(parts.log, digest, { since: since - APPROVAL_MS, before: own[0]?.id ?? 0 }),
    ),
  );
  const needed = new Map([...yes.flat(), ...own].map((row) => [row.id, row]));
  if (needed.size > MAX_ROWS) throw tooMany(run_id, needed.size);
  const shown = [...needed.values(), ...others.slice(0, MAX_ROWS - needed.size)];
  return proven(
    parts,
    shown.toSorted((one, other) => one.id - other.id),
  );
}

/**
 * What a run has left, the row of its end included, and the oldest {@link MAX_OTHERS} rows that are about it and not its own. Whoever knows
 * its id may leave more of these than a receipt has room for.
 *
 * @param since in milliseconds since 1970. @throws as `runSource`.
 */
async function rowsOfRun(log: AuditLog, run: string, since: number) {
  const text = `run=${run}`;
  const isEnd = (row: AuditRow) => row.event_type === RUN_ENDED && runEndIn(run, row.detail) !== undefined;
  const about = (matches: Search["matches"]) =>
    rowsWith(log, { text, since, matches: (row) => isAbout(run, row.detail) && matches(row) });
  const marks = await about((row) => isEnd(row) || beginOf(run, [row]) !== undefined);
  const begin = beginOf(run, marks);
  const end = marks.find((row) => isEnd(row) && row.id > (begin?.row.id ?? 0));
  if (marks.length === 0)
    throw notFound(`the log has no rows of run ${run}: they were pruned or cleared, or none was kept`);
  if (!begin) throw notFound(`the log has no row of the begin of run ${run}: it was pruned`);
  if (!end)
    throw conflict(
      `run ${run} has no row of its end: it goes on, its process died, or an earlier svc ran it`,
    );
  const rows = runEndIn(run, end.detail)?.rows ?? 0;
  if (rows >= MAX_ROWS) throw tooMany(run, rows + 1);
  const others: FoundRow[] = [];
  const own = await about((row) => {
    if (row.id < begin.row.id || isEnd(row)) return row.id === end.id;
    if (row.id < end.id && subjectIn(run, begin, row) !== undefined) return true;
    if (isComplete(row)) others.push(row);
    // They come newest first.
    if (others.length > MAX_OTHERS) others.shift();
    return false;
  });
  return { own, others: others.toReversed() };
}

const tooMany = (run: string, rows: number) =>
  conflict(`run ${run} has no receipt: it left ${rows} rows, and a receipt has at most ${MAX_ROWS}`);

/** The newest yes to what has this digest, and the row by which that was asked for; empty where one of them is missing. */
async function rowsOfYes(
  log: AuditLog,
  digest: string,
  { since, before }: { readonly since: number; readonly before: number },
): Promise<FoundRow[]> {
  const rows = await rowsWith(log, {
    text: `digest=${digest}`,
    since,
    matches: (row) => row.id < before && namesApproval(digest, row),
  });
  const found = yesIn(digest, rows);
  return found ? [found.asked.row, found.yes.row] : [];
}

/** A plan whose rows are looked for. */
export interface PlanOnRecord {
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly created: number;
}

/** The rows by which somebody has decided about the plan, oldest first. */
export const decisionsOn = (log: AuditLog, { id, created }: PlanOnRecord): Promise<FoundRow[]> =>
  rowsWith(log, {
    text: id,
    since: created - CLOCK_MS,
    matches: ({ event_type, detail }) => event_type !== PLAN_ENDED && decisionIn(id, detail) !== undefined,
  });

/**
 * The rows by which somebody has decided about the plan, and the newest of its end, with their proofs.
 *
 * @throws `not_found` where there are none; `conflict` where there are more than a receipt has.
 */
export async function planSource(parts: ReceiptParts, plan: PlanOnRecord): Promise<ReceiptSource> {
  const { id, created } = plan;
  const decided = await decisionsOn(parts.log, plan);
  if (decided.length === 0) throw notFound(`the log has no rows that name plan ${id}`);
  const ends = await rowsWith(parts.log, {
    text: `plan=${id} ended`,
    since: created - CLOCK_MS,
    matches: ({ event_type, detail }) => event_type === PLAN_ENDED && planEndIn(id, detail) !== undefined,
  });
  const rows = [...decided, ...ends.slice(-1)];
  if (rows.length > MAX_ROWS)
    throw conflict(
      `plan ${id} has no receipt: ${rows.length} rows name it, and a receipt has at most ${MAX_ROWS}`,
    );
  return proven(
    parts,
    rows.toSorted((one, other) => one.id - other.id),
  );
}

/** The rows between two heads. @throws `unavailable` where the log cannot be written or its key not be read. */
async function proven({ log, identity }: ReceiptParts, rows: readonly FoundRow[]): Promise<ReceiptSource> {
  const witness = await log.witness();
  const host = { id: hostIdOf(identity.publicKey), identity: identity.publicKey };
  const { vkey, ownedBy } = witness.key();
  const { leaves, heads } = await witness.proofsOf(rows.map(({ id }) => id));
  const shown = rows.flatMap(({ id: _, ...row }, nth): ProvenRow[] => {
    const leaf = leaves[nth];
    return leaf ? [{ ...row, ...leaf }] : [];
  });
  return { host, log: { key: vkey, owner: ownedBy(host.id) }, rows: shown, heads };
}

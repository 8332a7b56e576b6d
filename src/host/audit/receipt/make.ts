/**
 * Making receipts from the log: the rows of a run or a plan, with the proof that each is in the log between two heads.
 */
import { conflict, notFound } from "../../../lib/errors";
import type { SigningKey } from "../../../lib/signing-key";
import { nextTurn } from "../../../lib/turn";
import { hostIdOf } from "../../../trust/identity";
import { RUN_ENDED, runEndIn } from "../../../wire/receipt/run-record";
import type { ProvenRow, ReceiptSource } from "../../../wire/receipt/statement";
import type { AuditLog } from "../log";
import type { AuditRow } from "../row";
import { approvalsOf, namesApproval, namesRun, type RunRow } from "./claims";

/** How many rows are looked at in one step: some ten milliseconds. */
const STEP = 10_000;

/** How much earlier than the first row of a run its approvals may be: as long as one waits, and the agent after it. */
const APPROVAL_MS = 30 * 60_000;

/** How far the clock may have been set back while the run went on. */
const CLOCK_MS = 3_600_000;

type FoundRow = AuditRow & { readonly row_hash: string };

/** What receipts are made of. */
export interface ReceiptParts {
  readonly log: AuditLog;
  /** The identity of this host. */
  readonly identity: SigningKey;
}

/** How rows are looked for. */
interface Search {
  /** A text that each of them has. */
  readonly text: string;
  /** Rows from before this time, in milliseconds since 1970, are not looked at. */
  readonly since: number;
  matches(row: AuditRow): boolean;
}

const isComplete = (row: AuditRow): row is FoundRow => row.row_hash !== null;

/** The rows that are looked for, oldest first. Each step is some milliseconds. */
export async function rowsWith(log: AuditLog, { text, since, matches }: Search): Promise<FoundRow[]> {
  const witness = await log.witness();
  const found: FoundRow[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
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
    await nextTurn();
  }
}

/** A run as its history has it. */
interface KnownRun {
  readonly run_id: string;
  readonly started_at: string;
}

/**
 * The rows of a run and of its approvals, with their proofs.
 *
 * @throws `conflict` for a run whose end is not on record; `not_found` where its rows were pruned.
 */
export async function runSource(
  parts: ReceiptParts,
  { run_id, started_at }: KnownRun,
): Promise<ReceiptSource> {
  const started = Date.parse(started_at) || 0;
  const own = await rowsWith(parts.log, {
    text: `run=${run_id}`,
    since: started - CLOCK_MS,
    matches: ({ detail }) => namesRun(run_id, detail),
  });
  if (!own.some((row) => row.event_type === RUN_ENDED && runEndIn(run_id, row.detail)))
    throw own.length === 0
      ? notFound(`the log has no rows of run ${run_id}: they were pruned or cleared, or none was kept`)
      : conflict(
          `run ${run_id} has no row of its end: it goes on, its process died, or an earlier svc ran it`,
        );
  const placed = own.map((row, index): RunRow => ({ ...row, index }));
  const approvals = await Promise.all(
    approvalsOf(run_id, placed).map((digest) =>
      rowsWith(parts.log, {
        text: `digest=${digest}`,
        since: started - CLOCK_MS - APPROVAL_MS,
        matches: (row) => namesApproval(digest, row),
      }),
    ),
  );
  return proven(
    parts,
    [...approvals.flat(), ...own].toSorted((one, other) => one.id - other.id),
  );
}

/** The rows that name a plan, with their proofs. @throws `not_found` where there are none. */
export async function planSource(
  parts: ReceiptParts,
  plan: { readonly id: string; readonly created: number },
) {
  const rows = await rowsWith(parts.log, {
    text: plan.id,
    since: plan.created - CLOCK_MS,
    matches: ({ detail }) => / plan\.[a-z_]+ |^plan\.[a-z_]+ /.test(detail ?? ""),
  });
  if (rows.length === 0) throw notFound(`the log has no rows that name plan ${plan.id}`);
  return proven(parts, rows);
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

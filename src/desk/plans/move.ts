/**
 * The ledger as its desk moves to another machine: a plan must not run on both.
 */
import type { Database } from "bun:sqlite";
import { conflict } from "../../lib/errors";

const RUNNING = "state = 'running' AND ended IS NULL";

/** @param copy of a ledger. @throws `conflict` where a plan runs. */
export function requireNoneRuns(copy: Database): void {
  const [first, ...others] = copy
    .query<{ id: string; kind: string }, []>(`SELECT id, spec ->> 'kind' AS kind FROM plan WHERE ${RUNNING}`)
    .all();
  if (!first) return;
  const more = others.length > 0 ? `, and ${others.length} more` : "";
  throw conflict(
    first.kind === "broadcast"
      ? `a broadcast runs (${first.id}${more}): wait until it has ended`
      : `the plan ${first.id} runs${more}: \`svc plan pause ${first.id}\` before the desk moves`,
  );
}

/**
 * Settles a ledger whose desk was taken over by its standby: the copy may be old, and that desk may have gone on. What may have run
 * is `unknown`, a broadcast has ended with its desk, and a plan waits for a person.
 *
 * @returns what to tell the operator.
 */
export function settleTakenOver(ledger: Database): string[] {
  const now = Date.now();
  const open = "SELECT seq FROM plan WHERE applied IS NOT NULL AND ended IS NULL";
  const broadcasts = `${open} AND spec ->> 'kind' = 'broadcast'`;
  const lost = ledger.run(
    `UPDATE target SET state = 'unknown', done_at = ?1, error = ?2 WHERE state IN ('sent', 'running') AND plan IN (${open})`,
    [now, "its desk was taken over: it may have run"],
  ).changes;
  ledger.run(
    `UPDATE target SET state = 'cancelled', way = NULL, sent_at = NULL, records = NULL, done_at = ?1, error = ?2
     WHERE state IN ('planned', 'waiting') AND plan IN (${broadcasts})`,
    [now, "not begun: its desk was taken over"],
  );
  ledger.run(
    `UPDATE plan SET state = 'cancelled', reason = 'the desk was taken over', ended = ?1, revision = revision + 1
     WHERE seq IN (${broadcasts})`,
    [now],
  );
  const notes = lost > 0 ? [`jobs that may have run, and are \`unknown\` here: ${lost}`] : [];
  return [...notes, ...pauseAll(ledger)];
}

/** Pauses what runs in a ledger that has come from another machine. @returns what to tell the operator. */
export function pauseAll(ledger: Database): string[] {
  ledger.run(
    `UPDATE plan SET state = 'paused', reason = 'the desk has moved', revision = revision + 1 WHERE ${RUNNING}`,
  );
  const paused = ledger
    .query<{ id: string }, []>("SELECT id FROM plan WHERE state = 'paused' AND ended IS NULL ORDER BY seq")
    .all();
  return paused.map(({ id }) => `the plan ${id} is paused: \`svc plan resume ${id}\` lets it go on here`);
}

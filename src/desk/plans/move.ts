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

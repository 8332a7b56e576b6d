/**
 * What is asked of the ledger.
 */
import type { Database } from "bun:sqlite";
import type { Origin } from "../../../core/rights";
import { badInput, notFound } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import type { EndedTarget } from "../../../wire/receipt/plan-record";
import { FAILURES, OPEN_STATES, type TargetState } from "../plan";
import type { Counts } from "./counts";
import type { OpenTarget, Plan, Target } from "./rows";
import { COLUMNS, listed, planOf, type Row } from "./tables";

export interface LedgerQueries {
  /**
   * The plan of that id, or of the only one that begins so.
   *
   * @throws `not_found` where there is none, `bad_input` where there are several.
   */
  find(id: string, maySee?: (plan: Plan) => boolean): Plan;
  /** The plan of that number. @throws `not_found` where it was removed. */
  plan(seq: number): Plan;
  /** What each host of a plan runs. */
  content(seq: number): string;
  /** The newest first. @param options.open those that are applied and not over alone. */
  plans(options?: { open?: boolean }): Plan[];
  /** How many hosts of each wave are in each state, as far as it has hosts. */
  countsByWave(seq: number): Counts[];
  /**
   * Which plan each of these hosts works on, or waits for, before it can begin this one; those without such a plan are left out.
   * Broadcasts hold up no plan, but for what one has left at a host whose process has ended.
   */
  plansBefore(plan: Plan, labels: readonly string[]): Map<string, Origin & { readonly id: string }>;
  /**
   * A plan that is new, running or paused, and has one of these hosts, at which it is not ok; undefined where there is none.
   *
   * @param command one that the plan has.
   * @param identities of the hosts.
   */
  sharing(command: string, identities: readonly string[]): SharingPlan | undefined;
  /** In their order. */
  targets(seq: number, states?: readonly TargetState[], limit?: number): Target[];
  /** What the hosts were called when the plan was made that have another label now, by their place. */
  plannedLabels(seq: number): Map<number, string>;
  /** Those that have not ended, in their order, one after the other; nothing is written meanwhile. */
  open(seq: number): Iterable<OpenTarget>;
  /** The same, ended or not, of those from the place `from` on and before `end`. */
  between(seq: number, from: number, end: number): Iterable<OpenTarget>;
  /** The places of the hosts that count as failed. */
  failed(seq: number): number[];
  /** What became of the plan at all of its hosts, in their order, one after the other; nothing is written meanwhile. */
  ends(seq: number): Iterable<EndedTarget>;
}

/** A plan that is not over, with the label of a host of it. */
export type SharingPlan = Pick<Plan, "id" | "digest" | "state"> & { readonly label: string };

/** The columns of an {@link OpenTarget}. */
const OPEN_COLUMNS = "n, label, identity, wave, state, attempt, way, records, sent_at";

/** @param db has the tables. */
export function createLedgerQueries(db: Database): LedgerQueries {
  return {
    find(id: string, maySee: (plan: Plan) => boolean = () => true): Plan {
      const found = db
        .query<Row, [string]>(`SELECT ${COLUMNS} FROM plan WHERE substr(id, 1, length(?1)) = ?1`)
        .all(id)
        .map(planOf)
        .filter(maySee);
      const [first, second] = found;
      if (!first || id === "") throw notFound(`there is no plan ${printable(id, 64)}`);
      if (second) throw badInput(`id: several plans begin with ${printable(id, 64)}`);
      return first;
    },
    plan(seq: number): Plan {
      const row = db.query<Row, [number]>(`SELECT ${COLUMNS} FROM plan WHERE seq = ?1`).get(seq);
      if (!row) throw notFound("the plan is no longer kept");
      return planOf(row);
    },
    content: (seq: number): string =>
      db.query<{ content: string }, [number]>("SELECT content FROM plan WHERE seq = ?1").get(seq)?.content ??
      "",
    plans: ({ open = false }: { open?: boolean } = {}): Plan[] =>
      db
        .query<Row, []>(
          `SELECT ${COLUMNS} FROM plan ${open ? "WHERE applied IS NOT NULL AND ended IS NULL" : ""} ORDER BY seq DESC`,
        )
        .all()
        .map(planOf),
    countsByWave(seq: number): Counts[] {
      const found = db
        .query<{ wave: number; state: TargetState; count: number }, [number]>(
          "SELECT wave, state, count(*) AS count FROM target WHERE plan = ?1 GROUP BY wave, state",
        )
        .all(seq);
      const waves: Array<Record<string, number>> = [];
      for (const { wave, state, count: hosts } of found) {
        waves[wave] = { ...waves[wave], [state]: hosts };
      }
      return waves;
    },
    plansBefore: (
      { seq, applied }: Plan,
      labels: readonly string[],
    ): Map<string, Origin & { readonly id: string }> => {
      // CROSS JOIN: it has to begin with the few plans that are open (https://sqlite.org/optoverview.html).
      const found = db
        .query<Origin & { id: string; label: string }, [number, number, string]>(
          `SELECT label, id, maker, created FROM plan CROSS JOIN target ON target.plan = plan.seq
           WHERE plan.seq <> ?1 AND applied IS NOT NULL AND ended IS NULL
             AND NOT (plan.state = 'running' AND spec ->> 'kind' = 'broadcast')
             AND (target.state IN ('sent', 'running') OR (target.state = 'waiting' AND applied < ?2))
             AND label IN (SELECT value FROM json_each(?3)) ORDER BY applied DESC`,
        )
        .all(seq, applied ?? 0, JSON.stringify(labels));
      return new Map(found.map(({ label, ...plan }) => [label, plan]));
    },
    sharing: (command, identities) => sharingIn(db, command, identities),
    targets: (seq: number, states?: readonly TargetState[], limit = -1): Target[] =>
      db
        .query<Target, [number, number]>(
          `SELECT n, label, identity, wave, state, attempt, way, records, sent_at, done_at, error, run_id FROM target
           WHERE plan = ?1 ${states ? `AND state IN (${listed(states)})` : ""} ORDER BY n LIMIT ?2`,
        )
        .all(seq, limit),
    plannedLabels: (seq) => plannedIn(db, seq),
    open: (seq: number): Iterable<OpenTarget> =>
      db
        .query<OpenTarget, [number]>(
          `SELECT ${OPEN_COLUMNS} FROM target WHERE plan = ?1 AND state IN (${listed(OPEN_STATES)}) ORDER BY n`,
        )
        .iterate(seq),
    between: (seq: number, from: number, end: number): Iterable<OpenTarget> =>
      db
        .query<OpenTarget, [number, number, number]>(
          `SELECT ${OPEN_COLUMNS} FROM target WHERE plan = ?1 AND n >= ?2 AND n < ?3 ORDER BY n`,
        )
        .iterate(seq, from, end),
    failed: (seq: number): number[] =>
      db
        .query<{ n: number }, [number]>(
          `SELECT n FROM target WHERE plan = ?1 AND state IN (${listed(FAILURES)})`,
        )
        .all(seq)
        .map(({ n }) => n),
    ends: (seq: number): Iterable<EndedTarget> =>
      db
        .query<EndedTarget, [number]>("SELECT identity, state, run_id FROM target WHERE plan = ?1 ORDER BY n")
        .iterate(seq),
  };
}

/** As {@link LedgerQueries.plannedLabels}. */
function plannedIn(db: Database, seq: number): Map<number, string> {
  const found = db
    .query<{ n: number; label: string }, [number]>("SELECT n, label FROM planned WHERE plan = ?1")
    .all(seq);
  return new Map(found.map(({ n, label }) => [n, label]));
}

/** As {@link LedgerQueries.sharing}. */
function sharingIn(db: Database, command: string, identities: readonly string[]): SharingPlan | undefined {
  // CROSS JOIN: as in `plansBefore`.
  const found = db
    .query<SharingPlan, [string, string]>(
      `SELECT id, digest, plan.state AS state, label FROM plan CROSS JOIN target ON target.plan = plan.seq
       WHERE plan.state IN ('new', 'running', 'paused') AND target.state <> 'ok'
         AND EXISTS (SELECT 1 FROM json_each(plan.spec, '$.commands') AS command WHERE command.value = ?1)
         AND identity IN (SELECT value FROM json_each(?2)) ORDER BY plan.seq DESC, n LIMIT 1`,
    )
    .get(command, JSON.stringify(identities));
  return found ?? undefined;
}

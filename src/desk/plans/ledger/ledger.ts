/**
 * The ledger of plans: `{config_dir}/plans.db`. Several processes may use it.
 *
 * Promises. Each host of a plan is in exactly one state, so that the sum of the counts is always the number of its hosts. What
 * `commit` returns is on disk. A process may die at any moment: the next one goes on from what is in the file.
 *
 * It keeps neither what actions returned nor any other secret of a host; the actions themselves may have some.
 */
import { conflict } from "../../../lib/errors";
import { openDatabase } from "../../../lib/sqlite";
import { STEPS, type StepName } from "../plan";
import { type Counts, createCounts } from "./counts";
import { type Creation, createCreation, PIECE_HOSTS } from "./creation";
import { createDecisions, type Decisions } from "./decisions";
import { createLedgerQueries, type LedgerQueries } from "./queries";
import type { Plan, PlanChange, Step, Target } from "./rows";
import { stepSql } from "./steps";
import { inserter, prepare } from "./tables";

/** The ledger of plans. */
export interface Ledger extends LedgerQueries, Decisions, Creation {
  /** How many hosts of the plan with that `seq` are in each state; states without hosts are left out. */
  counts(seq: number): Counts;
  /** Stores the plan of another ledger as it is there. @throws `conflict` where it is here already. */
  adopt(plan: Plan, content: string, targets: readonly Target[]): Plan;
  /**
   * Takes note of what happened to hosts, all or nothing.
   *
   * @returns whether each step was made: one that does not fit the attempt and state of its host is not.
   */
  commit(taken: readonly Step[], now: number): boolean[];
  /**
   * Sets what only who runs the plan changes.
   *
   * @param revision the one that this follows from.
   * @returns false where somebody has decided something since: then nothing is set.
   */
  update(seq: number, revision: number, changes: PlanChange): boolean;
  /** The host of that identity has another label from now on, in plans that are over, too. */
  rename(identity: string, from: string, to: string): void;
  /**
   * Forgets plans.
   *
   * @param how what becomes of the hosts of a large one: `in slices` leaves them to {@link Creation.removeUnfinished}.
   * @returns those that it has forgotten: one that has begun and is not over is kept.
   */
  remove(plans: readonly Plan[], how?: "in slices" | "now"): Plan[];
  close(): void;
}

/** How long a statement waits for another process, in milliseconds. */
const BUSY_MS = 5_000;

/** Opens the ledger, and makes the file where there is none. */
export function openLedger(path: string): Ledger {
  const db = openDatabase(path, { synchronous: "FULL", busyMs: BUSY_MS, prepare });
  const transaction = <T>(work: () => T): T => db.transaction(work).immediate();
  let isOpen = true;
  const counts = createCounts(db);
  const steps = new Map(
    (Object.keys(STEPS) as StepName[]).map((name) => [
      name,
      db.prepare(stepSql(name, "AND n = $n AND attempt = $attempt")),
    ]),
  );
  const reading = createLedgerQueries(db);
  const update = (seq: number, revision: number, changes: PlanChange): boolean => {
    const fields = Object.keys(changes);
    if (fields.length === 0) return true;
    const sets = fields.map((name) => `${name} = $${name}`).join(", ");
    const changed = db.query(`UPDATE plan SET ${sets} WHERE seq = $seq AND revision = $revision`);
    return changed.run({ ...changes, seq, revision }).changes > 0;
  };
  return {
    ...reading,
    ...createDecisions({ db, reading, transaction, update, changed: counts.changed }),
    ...createCreation({ db, transaction, planOf: reading.plan, isOpen: () => isOpen }),
    counts: counts.of,
    adopt: ({ seq: _, ...given }, content, targets) =>
      transaction(() => {
        const plan = { ...given, adopted: Math.max(given.adopted + 1, Date.now()) };
        if (db.query("SELECT 1 FROM plan WHERE id = ?1").get(plan.id))
          throw conflict(`the plan ${plan.id} is here already`);
        const seq = inserter(db, "plan")({ ...plan, spec: JSON.stringify(plan.spec), content });
        const insert = inserter(db, "target");
        for (const target of targets) insert({ plan: seq, ...target });
        return reading.plan(seq);
      }),
    commit: (taken, now) =>
      transaction(() =>
        taken.map(({ plan, n, attempt, step, way = null, records = null, error = null, run_id = null }) => {
          const given =
            step === "send" ? { now, way, records } : step === "wait" ? { error } : { now, error, run_id };
          const isBare = step === "run" || step === "unsend" || step === "retry";
          const result = steps.get(step)?.run({ plan, n, attempt, ...(isBare ? {} : given) });
          counts.changed(plan);
          return (result?.changes ?? 0) > 0;
        }),
      ),
    update,
    rename: (identity, from, to) =>
      transaction(() => {
        db.run(
          "INSERT OR IGNORE INTO planned SELECT plan, n, label FROM target WHERE label = ?2 AND identity = ?1",
          [identity, from],
        );
        db.run("UPDATE target SET label = ?3 WHERE label = ?2 AND identity = ?1", [identity, from, to]);
      }),
    remove: (plans, how = "in slices") =>
      transaction(() =>
        plans.filter(({ seq, id, hosts }) => {
          const { changes } = db.run(
            "DELETE FROM plan WHERE seq = ?1 AND (state = 'new' OR ended IS NOT NULL)",
            [seq],
          );
          if (changes === 0) return false;
          if (hosts > PIECE_HOSTS && how === "in slices")
            db.run("INSERT INTO unfinished (seq, id) VALUES (?1, ?2)", [seq, id]);
          else db.run("DELETE FROM target WHERE plan = ?1", [seq]);
          db.run("DELETE FROM planned WHERE plan = ?1", [seq]);
          counts.changed(seq);
          return true;
        }),
      ),
    close() {
      isOpen = false;
      db.close();
    },
  };
}

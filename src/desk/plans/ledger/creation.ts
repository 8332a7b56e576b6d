/**
 * How plans come into the ledger and leave it, with all of their hosts: those of a large plan in slices.
 *
 * The promise: a plan has all of its hosts or is not there, whenever its process dies. The row of a large plan is written last, and goes
 * first. As long as there are hosts without it, `unfinished` has its number, which no other plan gets: what is written there and was not
 * completed is removed later.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../../../lib/errors";
import { inSlices } from "../../../lib/turn";
import type { PlannedHost } from "../plan";
import type { Plan } from "./rows";
import { inserter } from "./tables";

/** How many hosts are written or removed in one transaction, which takes some milliseconds. A plan with more is large. */
export const PIECE_HOSTS = 1_000;

/** A plan as it is made. */
export type MadePlan = Pick<Plan, "id" | "digest" | "content_digest" | "spec" | "maker"> & {
  readonly content: string;
};

/** The label of a host now. */
type LabelOf = (host: PlannedHost) => string;

const plannedLabel: LabelOf = ({ label }) => label;

/** Plans as they are made and forgotten. */
export interface Creation {
  /** Stores a plan with its hosts, all or nothing. */
  create(plan: MadePlan, hosts: readonly PlannedHost[], now: number): Plan;
  /**
   * The same, in slices where the plan is large. Whoever calls it marks the plan as being written, for {@link Creation.removeUnfinished}.
   *
   * @param before is called in the transaction with which the plan is there: what it changes in this file comes with the plan, or not at
   *   all. What it throws is thrown, and leaves nothing.
   * @param labelOf the label that a host has when it is written (default: the one with which it was planned).
   * @throws `unavailable` where another process has taken what was written for left over, or the file was closed meanwhile.
   */
  createInSlices(
    plan: MadePlan,
    hosts: readonly PlannedHost[],
    now: number,
    before?: () => void,
    labelOf?: LabelOf,
  ): Promise<Plan>;
  /**
   * Removes, in slices, hosts of which the plan was not completed or is gone.
   *
   * @param isWritten whether a process writes the plan of that id now.
   * @returns the ids of those plans.
   */
  removeUnfinished(isWritten: (id: string) => boolean): Promise<string[]>;
}

interface CreationParts {
  readonly db: Database;
  transaction<T>(work: () => T): T;
  /** The plan of that number. */
  planOf(seq: number): Plan;
  /** Whether the file was not closed yet: what is left is done by the next process then. */
  isOpen(): boolean;
}

/** @returns what writes the hosts of a plan from the place `from` on, before `end`. */
function hostInserter(db: Database) {
  const insert = db.prepare<void, [number, number, string, string, number]>(
    "INSERT INTO target (plan, n, label, identity, wave, state) VALUES (?1, ?2, ?3, ?4, ?5, 'planned')",
  );
  const insertPlanned = db.prepare<void, [number, number, string]>(
    "INSERT INTO planned (plan, n, label) VALUES (?1, ?2, ?3)",
  );
  return (
    seq: number,
    waves: readonly number[],
    hosts: readonly PlannedHost[],
    labelOf: LabelOf,
    [from, end]: readonly [from: number, end: number],
  ): void => {
    let wave = 0;
    for (const [at, host] of hosts.slice(from, end).entries()) {
      const n = from + at;
      while (n >= (waves[wave] ?? hosts.length)) wave++;
      const label = labelOf(host);
      insert.run(seq, n, label, host.identity, wave);
      if (label !== host.label) insertPlanned.run(seq, n, host.label);
    }
  };
}

export function createCreation({ db, transaction, planOf, isOpen }: CreationParts): Creation {
  const insertHosts = hostInserter(db);
  const insertPlan = (plan: MadePlan, hosts: number, now: number, seq?: number) => {
    const { id, digest, content, content_digest, maker, spec } = plan;
    const row = { id, digest, content, content_digest, maker, spec: JSON.stringify(spec), hosts };
    return inserter(db, "plan")({ ...row, state: "new", created: now, ...(seq !== undefined && { seq }) });
  };
  /** A number that no other plan gets (https://sqlite.org/autoinc.html). */
  const reserve = (plan: MadePlan, now: number) => {
    const seq = insertPlan({ ...plan, content: "" }, 0, now);
    db.run("DELETE FROM plan WHERE seq = ?1", [seq]);
    db.run("INSERT INTO unfinished (seq, id) VALUES (?1, ?2)", [seq, plan.id]);
    return seq;
  };
  const requireUnfinished = (seq: number) => {
    if (!db.query("SELECT 1 FROM unfinished WHERE seq = ?1 AND removed = 0").get(seq))
      throw unavailable("the plan was removed while it was written: make it again");
  };
  /** @returns false where it was not unfinished. */
  const finished = (seq: number) => db.run("DELETE FROM unfinished WHERE seq = ?1", [seq]).changes > 0;
  /** Removes some of its hosts, while it is unfinished, and with the last of them that it is so. @returns whether there are none left. */
  const removePiece = (seq: number) => {
    const { changes } = db.run(
      `DELETE FROM target WHERE plan = ?1 AND EXISTS (SELECT 1 FROM unfinished WHERE seq = ?1)
       AND n IN (SELECT n FROM target WHERE plan = ?1 ORDER BY n LIMIT ${PIECE_HOSTS})`,
      [seq],
    );
    if (changes > 0) return { isLast: false, isRemoved: false };
    const isRemoved = finished(seq);
    if (isRemoved) db.run("DELETE FROM planned WHERE plan = ?1", [seq]);
    return { isLast: true, isRemoved };
  };
  /** @returns false where it was not unfinished any more: then its hosts stay. */
  const removeHosts = async (seq: number) => {
    // From here on nobody completes it.
    transaction(() => db.run("UPDATE unfinished SET removed = 1 WHERE seq = ?1", [seq]));
    let done = { isLast: false, isRemoved: false };
    await inSlices(() => {
      if (!isOpen()) return true;
      done = transaction(() => removePiece(seq));
      return done.isLast;
    });
    return done.isRemoved;
  };
  const create = (plan: MadePlan, hosts: readonly PlannedHost[], now: number, labelOf: LabelOf) => {
    const seq = insertPlan(plan, hosts.length, now);
    insertHosts(seq, plan.spec.waves, hosts, labelOf, [0, hosts.length]);
    return planOf(seq);
  };

  return {
    create: (plan, hosts, now) => transaction(() => create(plan, hosts, now, plannedLabel)),
    async createInSlices(plan, hosts, now, before = () => {}, labelOf = plannedLabel) {
      if (hosts.length <= PIECE_HOSTS)
        return transaction(() => {
          before();
          return create(plan, hosts, now, labelOf);
        });
      const seq = transaction(() => reserve(plan, now));
      try {
        let at = 0;
        await inSlices(() => {
          if (!isOpen()) throw unavailable("svc has stopped while the plan was written: make it again");
          const end = at + PIECE_HOSTS;
          transaction(() => {
            requireUnfinished(seq);
            insertHosts(seq, plan.spec.waves, hosts, labelOf, [at, end]);
          });
          at = end;
          return at >= hosts.length;
        });
        return transaction(() => {
          requireUnfinished(seq);
          before();
          finished(seq);
          insertPlan(plan, hosts.length, now, seq);
          return planOf(seq);
        });
      } catch (error) {
        // What cannot be removed now is removed by the next server.
        await removeHosts(seq).catch(() => {});
        throw error;
      }
    },
    async removeUnfinished(isWritten) {
      const all = db.query<{ seq: number; id: string }, []>("SELECT seq, id FROM unfinished").all();
      const removed: string[] = [];
      for (const { seq, id } of all)
        if (isOpen() && !isWritten(id) && (await removeHosts(seq))) removed.push(id);
      return removed;
    },
  };
}

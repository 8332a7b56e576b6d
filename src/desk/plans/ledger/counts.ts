/**
 * How many hosts of a plan are in each state. To count them takes some milliseconds for ten thousand, and whoever lists plans asks
 * for all of them: so it is done again only where something may have changed.
 */
import type { Database } from "bun:sqlite";
import type { TargetState } from "../plan";

export type Counts = Readonly<Partial<Record<TargetState, number>>>;

/** Other processes remove plans, too. */
const MAX_KNOWN = 10_000;

interface KnownCounts {
  readonly counts: Counts;
  /** Of a plan that is over: only who repeats it changes anything, which is another revision. Null for any other. */
  readonly revision: number | null;
  /** That of the file, which other processes change. */
  readonly version: number;
}

/** @param db has the tables. */
export function createCounts(db: Database) {
  const known = new Map<number, KnownCounts>();
  const plan = db.query<{ revision: number; ended: number | null }, [number]>(
    "SELECT revision, ended FROM plan WHERE seq = ?1",
  );
  const count = db.query<{ state: TargetState; count: number }, [number]>(
    "SELECT state, count(*) AS count FROM target WHERE plan = ?1 GROUP BY state",
  );
  const version = db.query<{ data_version: number }, []>("PRAGMA data_version");
  return {
    /** States without hosts are left out. */
    of(seq: number): Counts {
      const { revision, ended } = plan.get(seq) ?? { revision: 0, ended: null };
      const now = { revision: ended === null ? null : revision, version: version.get()?.data_version ?? 0 };
      const found = known.get(seq);
      const isSame = now.revision === null ? found?.version === now.version : true;
      if (found && found.revision === now.revision && isSame) return found.counts;
      const counts = Object.fromEntries(count.all(seq).map(({ state, count: hosts }) => [state, hosts]));
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(seq, { counts, ...now });
      return counts;
    },
    /** This process has changed hosts of that plan. */
    changed: (seq: number): boolean => known.delete(seq),
  };
}

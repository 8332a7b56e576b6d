/**
 * The ledger of plans: `{config_dir}/plans.db`. Several processes may use it.
 *
 * Promises. Each host of a plan is in exactly one state, so that the sum of the counts is always the number of its hosts. What
 * `commit` returns is on disk. A process may die at any moment: the next one goes on from what is in the file.
 *
 * It keeps neither what actions returned nor any other secret of a host; the actions themselves may have some.
 */
import type { Database } from "bun:sqlite";
import type { Origin } from "../core/rights";
import { badInput, conflict, notFound } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { openDatabase } from "../lib/sqlite";
import { type Counts, createCounts } from "./counts";
import { INTERRUPTED, type Way } from "./job/job";
import {
  FAILURES,
  OPEN_STATES,
  type PlannedHost,
  type PlanState,
  RETRIED,
  type Spec,
  STEPS,
  type StepName,
  type TargetState,
} from "./plan";

/** A plan as it is now. Times are milliseconds since the epoch. */
export interface Plan {
  /** Its number in this file. */
  readonly seq: number;
  readonly id: string;
  readonly digest: string;
  /** The digest of what each host runs. */
  readonly content_digest: string;
  readonly spec: Spec;
  readonly hosts: number;
  readonly state: PlanState;
  /** Why it is paused, cancelled or expired. */
  readonly reason: string | null;
  /** The named token that made it; null for the owner of the desk. */
  readonly maker: string | null;
  /** The named token that applied it; null for the owner. */
  readonly token: string | null;
  readonly created: number;
  readonly applied: number | null;
  readonly expires: number | null;
  /** When its last host had ended. */
  readonly ended: number | null;
  /** The wave that has begun, from 0 on. */
  readonly wave: number;
  /** When the next wave begins, once this one is over. */
  readonly wave_at: number | null;
  /** How many failures do not count any more: whoever resumes a plan has seen them. */
  readonly forgiven: number;
  /** Grows with each change that does not come from who runs the plan. */
  readonly revision: number;
  /** When it was taken over from another desk, later than from the one before; 0 where it was made here. */
  readonly adopted: number;
}

/** A host of a plan. */
export interface Target {
  readonly n: number;
  readonly label: string;
  readonly identity: string;
  readonly wave: number;
  readonly state: TargetState;
  /** Which attempt it is, from 0 on: each is a job of its own. */
  readonly attempt: number;
  /** How the job was sent; null before. */
  readonly way: Way | null;
  readonly sent_at: number | null;
  readonly done_at: number | null;
  /** Why it has not ended well; of one that is `waiting`, why its host was not reached. */
  readonly error: string | null;
  /** The id that the host gave to the run. */
  readonly run_id: string | null;
}

/** A host that has not ended. */
export type OpenTarget = Omit<Target, "done_at" | "error" | "run_id">;

/** One host goes on. */
export interface Step {
  readonly plan: number;
  readonly n: number;
  /** Of which attempt it is: what is still heard of an earlier one changes nothing. */
  readonly attempt: number;
  readonly step: StepName;
  readonly way?: Way | undefined;
  readonly error?: string | undefined;
  readonly run_id?: string | undefined;
}

/** What changes of a plan itself. */
export type PlanChange = Partial<
  Pick<Plan, "state" | "reason" | "ended" | "wave" | "wave_at" | "forgiven" | "expires">
>;

/** Who has a plan run. */
export type Applicant = Pick<Plan, "token">;

export type Ledger = ReturnType<typeof openLedger>;

/** How long a statement waits for another process, in milliseconds. */
const BUSY_MS = 5_000;

interface Row extends Omit<Plan, "spec"> {
  readonly spec: string;
}

const planOf = (row: Row): Plan => ({
  ...row,
  spec: JSON.parse(row.spec) as Spec,
});

/** All but the content, which may be large. */
const COLUMNS = `seq, id, digest, content_digest, spec, hosts, state, reason, maker, token, created, applied, expires,
  ended, wave, wave_at, forgiven, revision, adopted`;

const listed = (states: readonly string[]) => states.map((state) => `'${state}'`).join(", ");

const ENDS = "done_at = $now, error = $error, run_id = $run_id";

/** What a step sets besides the state. */
const SETS: Readonly<Partial<Record<StepName, string>>> = {
  send: "sent_at = $now, way = $way, error = NULL",
  run: "sent_at = sent_at",
  unsend: "way = NULL, sent_at = NULL",
  wait: "way = NULL, sent_at = NULL, error = $error",
  unreachable: `way = NULL, sent_at = NULL, ${ENDS}`,
  cancelled: `way = NULL, sent_at = NULL, ${ENDS}`,
  retry: "way = NULL, sent_at = NULL, done_at = NULL, error = NULL, run_id = NULL, attempt = attempt + 1",
};

const stepSql = (name: StepName, which: string) => {
  const { from, to } = STEPS[name];
  return `UPDATE target SET state = '${to}', ${SETS[name] ?? ENDS} WHERE plan = $plan AND state IN (${listed(from)}) ${which}`;
};

export function openLedger(path: string) {
  const db = openDatabase(path, { synchronous: "FULL", busyMs: BUSY_MS, prepare });
  const transaction = <T>(work: () => T): T => db.transaction(work).immediate();
  const counts = createCounts(db);
  const steps = new Map(
    (Object.keys(STEPS) as StepName[]).map((name) => [
      name,
      db.prepare(stepSql(name, "AND n = $n AND attempt = $attempt")),
    ]),
  );
  const bySeq = (seq: number) => {
    const row = db.query<Row, [number]>(`SELECT ${COLUMNS} FROM plan WHERE seq = ?1`).get(seq);
    if (!row) throw notFound("the plan is no longer kept");
    return planOf(row);
  };
  const change = (seq: number, revision: number, changes: PlanChange): boolean => {
    const fields = Object.keys(changes);
    if (fields.length === 0) return true;
    const sets = fields.map((name) => `${name} = $${name}`).join(", ");
    const changed = db.query(`UPDATE plan SET ${sets} WHERE seq = $seq AND revision = $revision`);
    return changed.run({ ...changes, seq, revision }).changes > 0;
  };
  const setApplicant = (seq: number, { token }: Applicant, now: number) =>
    db.run("UPDATE plan SET token = ?2, applied = ?3 WHERE seq = ?1", [seq, token, now]);
  /** A change by somebody else than who runs the plan. */
  const decide = (plan: Plan, changes: PlanChange) => {
    change(plan.seq, plan.revision, changes);
    counts.changed(plan.seq);
    db.run("UPDATE plan SET revision = revision + 1 WHERE seq = ?1", [plan.seq]);
    return bySeq(plan.seq);
  };
  const count = (seq: number, states: readonly TargetState[]) =>
    db
      .query<{ count: number }, [number]>(
        `SELECT count(*) AS count FROM target WHERE plan = ?1 AND state IN (${listed(states)})`,
      )
      .get(seq)?.count ?? 0;
  const failuresOf = ({ seq }: Plan) => count(seq, FAILURES);
  /** How many hosts of a plan that is paused count as failed besides: those whose answer is overdue. */
  const overdueOf = (plan: Plan) =>
    plan.state === "paused" ? Math.max(0, plan.forgiven - failuresOf(plan)) : 0;
  /** Ends what has not begun. */
  const end = (plan: Plan, state: "cancelled" | "expired", reason: string, now: number) => {
    const which = "AND state IN ('planned', 'waiting')";
    const given = { plan: plan.seq, now, error: reason, run_id: null };
    db.query(stepSql(state, which)).run(given);
    const isOver = count(plan.seq, OPEN_STATES) === 0;
    return decide(plan, { state, reason, wave_at: null, ...(isOver && { ended: now }) });
  };
  const requireState = ({ id, state }: Plan, expected: readonly PlanState[], what: string) => {
    if (!expected.includes(state))
      throw conflict(`the plan ${id} is ${state}: only one that is ${expected.join(" or ")} ${what}`);
  };
  const requireRevision = ({ id, revision }: Plan, expected = revision) => {
    if (revision !== expected) throw conflict(`the plan ${id} has changed meanwhile`);
  };

  return {
    /** Stores a plan with its hosts, all or nothing. */
    create: (
      plan: Pick<Plan, "id" | "digest" | "content_digest" | "spec" | "maker"> & { readonly content: string },
      hosts: readonly PlannedHost[],
      now: number,
    ): Plan =>
      transaction(() => {
        const { seq } = db
          .query<{ seq: number }, [Record<string, string | number | null>]>(
            `INSERT INTO plan (id, digest, content, content_digest, spec, hosts, state, maker, created)
             VALUES ($id, $digest, $content, $content_digest, $spec, $hosts, 'new', $maker, $now) RETURNING seq`,
          )
          .get({ ...plan, spec: JSON.stringify(plan.spec), hosts: hosts.length, now }) as { seq: number };
        const insert = db.prepare(
          "INSERT INTO target (plan, n, label, identity, wave, state) VALUES (?, ?, ?, ?, ?, 'planned')",
        );
        let wave = 0;
        for (const [n, { label, identity }] of hosts.entries()) {
          while (n >= (plan.spec.waves[wave] ?? hosts.length)) wave++;
          insert.run(seq, n, label, identity, wave);
        }
        return bySeq(seq);
      }),
    /** Stores the plan of another ledger as it is there. @throws `conflict` where it is here already. */
    adopt: ({ seq: _, ...given }: Plan, content: string, targets: readonly Target[]): Plan =>
      transaction(() => {
        const plan = { ...given, adopted: Math.max(given.adopted + 1, Date.now()) };
        if (db.query("SELECT 1 FROM plan WHERE id = ?1").get(plan.id))
          throw conflict(`the plan ${plan.id} is here already`);
        const row = { ...plan, spec: JSON.stringify(plan.spec), content };
        const insert = (table: string, fields: object) => {
          const names = Object.keys(fields);
          return `INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `$${name}`)})`;
        };
        const { lastInsertRowid } = db.query(insert("plan", row)).run(row);
        const seq = Number(lastInsertRowid);
        for (const target of targets) {
          const fields = { plan: seq, ...target };
          db.query(insert("target", fields)).run(fields);
        }
        return bySeq(seq);
      }),
    /**
     * The plan of that id, or of the only one that begins so.
     *
     * @throws `not_found` where there is none, `bad_input` where there are several.
     */
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
    plan: bySeq,
    /** What each host of a plan runs. */
    content: (seq: number): string =>
      db.query<{ content: string }, [number]>("SELECT content FROM plan WHERE seq = ?1").get(seq)?.content ??
      "",
    /** The newest first. @param options.open those that are applied and not over alone. */
    plans: ({ open = false, limit = -1 }: { open?: boolean; limit?: number } = {}): Plan[] =>
      db
        .query<Row, [number]>(
          `SELECT ${COLUMNS} FROM plan ${open ? "WHERE applied IS NOT NULL AND ended IS NULL" : ""} ORDER BY seq DESC LIMIT ?1`,
        )
        .all(limit)
        .map(planOf),
    counts: counts.of,
    /** {@link counts} of each wave, as far as it has hosts. */
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
    /**
     * Which plan each of these hosts works on, or waits for, before it can begin this one; those without such a plan are left out.
     * Broadcasts hold up no plan, but for what one has left at a host whose process has ended.
     */
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
    /** In their order. */
    targets: (seq: number, states?: readonly TargetState[], limit = -1): Target[] =>
      db
        .query<Target, [number, number]>(
          `SELECT n, label, identity, wave, state, attempt, way, sent_at, done_at, error, run_id FROM target
           WHERE plan = ?1 ${states ? `AND state IN (${listed(states)})` : ""} ORDER BY n LIMIT ?2`,
        )
        .all(seq, limit),
    /** Those that have not ended, in their order, one after the other; nothing is written meanwhile. */
    open: (seq: number): Iterable<OpenTarget> =>
      db
        .query<OpenTarget, [number]>(
          `SELECT n, label, identity, wave, state, attempt, way, sent_at FROM target
           WHERE plan = ?1 AND state IN (${listed(OPEN_STATES)}) ORDER BY n`,
        )
        .iterate(seq),
    /**
     * Takes note of what happened to hosts, all or nothing.
     *
     * @returns whether each step was made: one that does not fit the attempt and state of its host is not.
     */
    commit: (taken: readonly Step[], now: number): boolean[] =>
      transaction(() =>
        taken.map(({ plan, n, attempt, step, way = null, error = null, run_id = null }) => {
          const given = step === "send" ? { now, way } : step === "wait" ? { error } : { now, error, run_id };
          const isBare = step === "run" || step === "unsend" || step === "retry";
          const result = steps.get(step)?.run({ plan, n, attempt, ...(isBare ? {} : given) });
          counts.changed(plan);
          return (result?.changes ?? 0) > 0;
        }),
      ),
    /**
     * Sets what only who runs the plan changes.
     *
     * @param revision the one that this follows from.
     * @returns false where somebody has decided something since: then nothing is set.
     */
    update: change,
    /** Has a new plan run, with the rights of who applies it. */
    apply: (id: number, token: string | null, now: number): Plan =>
      transaction(() => {
        const plan = bySeq(id);
        requireState(plan, ["new"], "can be applied");
        setApplicant(plan.seq, { token }, now);
        return decide(plan, { state: "running", expires: now + plan.spec.expires_s * 1_000 });
      }),
    /** @param revision the one that this follows from (default: any), as for `cancel`. @throws `conflict` where it is another. */
    pause: (id: number, reason: string, revision?: number): Plan =>
      transaction(() => {
        const plan = bySeq(id);
        requireRevision(plan, revision);
        requireState(plan, ["running"], "can be paused");
        return decide(plan, { state: "paused", reason });
      }),
    /** The failures so far do not count any more. @param heir who has the plan run from now on, where that changes. */
    resume: (id: number, heir?: Applicant): Plan =>
      transaction(() => {
        const plan = bySeq(id);
        requireState(plan, ["paused"], "can be resumed");
        if (heir) setApplicant(plan.seq, heir, Date.now());
        return decide(plan, { state: "running", reason: null, forgiven: failuresOf(plan) + overdueOf(plan) });
      }),
    /** Nothing more begins. Of a plan that is cancelled and not over, hosts are asked again to end what they may have. */
    cancel: (id: number, reason: string, now: number, revision?: number): Plan =>
      transaction(() => {
        const plan = bySeq(id);
        requireRevision(plan, revision);
        if (plan.state === "cancelled" && plan.ended === null) return decide(plan, {});
        requireState(plan, ["new", "running", "paused"], "can be cancelled");
        return end(plan, "cancelled", reason, now);
      }),
    /** @returns undefined when it is not time yet. */
    expire(id: number, now: number): Plan | undefined {
      const isDue = ({ expires, state }: Plan) =>
        expires !== null && expires <= now && (state === "running" || state === "paused");
      // Asked each second: most of the time, nobody else has to wait for that.
      if (!isDue(bySeq(id))) return undefined;
      return transaction(() => {
        const plan = bySeq(id);
        return isDue(plan) ? end(plan, "expired", "the plan has expired", now) : undefined;
      });
    },
    /**
     * Plans the hosts again that ended in one of `states` (default: {@link RETRIED}, but nothing that had begun and was cancelled or interrupted): as a new job each, wave by wave. The plan expires as long from now
     * as it did from its start.
     *
     * @param heir as for `resume`.
     * @returns the plan, and how many hosts they are.
     */
    retry: (id: number, states: readonly TargetState[] | undefined, now: number, heir?: Applicant) =>
      transaction((): { plan: Plan; retried: number } => {
        const plan = bySeq(id);
        requireState(plan, ["running", "paused", "done", "cancelled", "expired"], "can be retried");
        if (plan.applied === null)
          throw conflict(`the plan ${plan.id} was cancelled before it was applied: make another`);
        const overdue = overdueOf(plan);
        const which = states
          ? `AND state IN (${listed(states)})`
          : `AND state IN (${listed(RETRIED)}) AND NOT (state = 'cancelled' AND sent_at IS NOT NULL)
             AND NOT (state = 'failed' AND error IS '${INTERRUPTED}')`;
        const retried = db.query(stepSql("retry", which)).run({ plan: plan.seq }).changes;
        if (retried === 0) return { plan, retried };
        if (heir) setApplicant(plan.seq, heir, now);
        const changed = {
          ...({ state: "running", reason: null, ended: null, wave: 0, wave_at: null } as const),
          forgiven: failuresOf(plan) + overdue,
          expires: now + plan.spec.expires_s * 1_000,
        };
        return { plan: decide(plan, changed), retried };
      }),
    /** Forgets plans. @returns those that it has forgotten: one that has begun and is not over is kept. */
    remove: (plans: readonly Plan[]): Plan[] =>
      transaction(() =>
        plans.filter(({ seq }) => {
          const { changes } = db.run(
            "DELETE FROM plan WHERE seq = ?1 AND (state = 'new' OR ended IS NOT NULL)",
            [seq],
          );
          if (changes === 0) return false;
          db.run("DELETE FROM target WHERE plan = ?1", [seq]);
          counts.changed(seq);
          return true;
        }),
      ),
    close: () => db.close(),
  };
}

function prepare(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS plan (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, content TEXT NOT NULL,
    content_digest TEXT NOT NULL, spec TEXT NOT NULL, hosts INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
    maker TEXT, token TEXT, created INTEGER NOT NULL, applied INTEGER, expires INTEGER,
    ended INTEGER, wave INTEGER NOT NULL DEFAULT 0, wave_at INTEGER, forgiven INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0, adopted INTEGER NOT NULL DEFAULT 0)`);
  db.run(`CREATE TABLE IF NOT EXISTS target (
    plan INTEGER NOT NULL, n INTEGER NOT NULL, label TEXT NOT NULL, identity TEXT NOT NULL, wave INTEGER NOT NULL,
    state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, way TEXT, sent_at INTEGER, done_at INTEGER, error TEXT,
    run_id TEXT, PRIMARY KEY (plan, n)) WITHOUT ROWID`);
  const has = (column: string) =>
    db.query("SELECT 1 FROM pragma_table_info('plan') WHERE name = ?1").get(column) !== null;
  if (!has("scopes") && has("adopted")) return;
  // Earlier versions had a column that nothing read, and lacked one. Another process may be at it.
  db.transaction(() => {
    if (has("scopes")) db.run("ALTER TABLE plan DROP COLUMN scopes");
    if (!has("adopted")) db.run("ALTER TABLE plan ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0");
  }).immediate();
}

/**
 * What is still to be delivered, and how deliveries went: `{config_dir}/webhooks.db`. It survives a restart and a crash.
 *
 * The promise: at most {@link MAX_WAITING} deliveries wait for one webhook; beyond it the oldest go, and are counted.
 */
import type { Database } from "bun:sqlite";
import { openDatabase } from "../../lib/sqlite";
import type { Tally } from "./operations";
import type { DeliveryResult } from "./send";

/** The most deliveries that wait for one webhook; each has some 4 KiB at most. */
const MAX_WAITING = 4_096;

/** A delivery that waits. */
export interface Delivery {
  readonly id: number;
  readonly hook: string;
  /** The id of the event. */
  readonly message: string;
  readonly type: string;
  readonly body: string;
  /** When it came, in milliseconds since 1970, by a steady clock. */
  readonly since: number;
  readonly attempts: number;
}

/** Of one that nothing was sent to. */
export const NO_TALLY: Tally = {
  delivered: 0,
  failed: 0,
  dropped: 0,
  last_at: null,
  last_type: null,
  last_status: null,
  last_error: null,
};

/** The queue. What it does throws where the file cannot be read or written. */
export interface Queue {
  /** How many wait for a webhook. */
  waitingFor(hook: string): number;
  tally(hook: string): Tally;
  /** Adds deliveries, all or none. */
  add(all: ReadonlyArray<Pick<Delivery, "hook" | "message" | "type" | "body">>, now: number): void;
  /** Lets nothing wait for longer than the longest pause: the time may have been set back since it was written. */
  bound(now: number, longestMs: number): void;
  /** The webhooks for which any wait. */
  hooks(): string[];
  /** Those to one webhook that are due, the longest due first. */
  due(hook: string, now: number, limit: number): Delivery[];
  /** When the first one to a webhook is due; undefined when none waits. */
  firstDue(hook: string): number | undefined;
  /** Gives up what came before `since`. @returns how many of each webhook. */
  expire(since: number): ReadonlyMap<string, number>;
  /** Takes note of what became of a delivery. @param again when it is sent again; undefined: never. */
  note(delivery: Delivery, sent: DeliveryResult, again?: number): void;
  /** Drops what waits for a webhook. @param forget whether its tally goes as well. */
  clear(hook: string, forget: boolean): void;
  close(): void;
}

/** @param mostWaiting {@link MAX_WAITING} by default. */
export function openQueue(path: string, mostWaiting = MAX_WAITING): Queue {
  const db: Database = openDatabase(path, {
    synchronous: "NORMAL",
    busyMs: 1_000,
    prepare,
  });
  const waitingFor = (hook: string) =>
    db
      .query<{ count: number }, [string]>("SELECT count(*) AS count FROM deliveries WHERE hook = ?1")
      .get(hook)?.count ?? 0;
  const { addTo, tally } = createTallies(db);

  return {
    waitingFor,
    tally,
    add: db.transaction(
      (all: ReadonlyArray<Pick<Delivery, "hook" | "message" | "type" | "body">>, now: number) => {
        const insert = db.query(
          "INSERT INTO deliveries (hook, message, type, body, since, due) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        );
        for (const { hook, message, type, body } of all) insert.run(hook, message, type, body, now);
        for (const hook of new Set(all.map((one) => one.hook))) {
          const over = waitingFor(hook) - mostWaiting;
          if (over <= 0) continue;
          db.run(
            "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE hook = ?1 ORDER BY id LIMIT ?2)",
            [hook, over],
          );
          addTo(hook, "dropped", over);
        }
      },
    ),
    bound(now: number, longestMs: number): void {
      db.run("UPDATE deliveries SET since = min(since, ?1), due = min(due, ?2)", [now, now + longestMs]);
    },
    hooks: (): string[] =>
      db
        .query<{ hook: string }, []>("SELECT DISTINCT hook FROM deliveries")
        .all()
        .map(({ hook }) => hook),
    due: (hook: string, now: number, limit: number): Delivery[] =>
      db
        .query<Delivery, [string, number, number]>(
          "SELECT * FROM deliveries WHERE hook = ?1 AND due <= ?2 ORDER BY due, id LIMIT ?3",
        )
        .all(hook, now, limit),
    firstDue: (hook: string): number | undefined =>
      db
        .query<{ due: number | null }, [string]>("SELECT min(due) AS due FROM deliveries WHERE hook = ?1")
        .get(hook)?.due ?? undefined,
    expire: db.transaction((since: number) => {
      const gone = db.query<{ hook: string }, [number]>(
        "DELETE FROM deliveries WHERE since < ?1 RETURNING hook",
      );
      const counts = new Map(
        [...Map.groupBy(gone.all(since), ({ hook }) => hook)].map(([hook, all]) => [hook, all.length]),
      );
      for (const [hook, count] of counts) addTo(hook, "failed", count);
      return counts;
    }),
    note: db.transaction(
      ({ id, hook, type }: Delivery, { ok, status, error }: DeliveryResult, again?: number) => {
        if (again === undefined) db.run("DELETE FROM deliveries WHERE id = ?1", [id]);
        else db.run("UPDATE deliveries SET due = ?2, attempts = attempts + 1 WHERE id = ?1", [id, again]);
        addTo(hook, ok ? "delivered" : "failed", ok || again === undefined ? 1 : 0);
        db.run(
          "UPDATE tallies SET last_at = ?2, last_type = ?3, last_status = ?4, last_error = ?5 WHERE hook = ?1",
          [...[hook, new Date().toISOString(), type, status, error]],
        );
      },
    ),
    clear: db.transaction((hook: string, forget: boolean) => {
      db.run("DELETE FROM deliveries WHERE hook = ?1", [hook]);
      if (forget) db.run("DELETE FROM tallies WHERE hook = ?1", [hook]);
    }),
    close: () => db.close(),
  };
}

function prepare(file: Database): void {
  file.run(`CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hook TEXT NOT NULL, message TEXT NOT NULL, type TEXT NOT NULL,
    body TEXT NOT NULL, since INTEGER NOT NULL, due INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0)`);
  file.run("CREATE INDEX IF NOT EXISTS deliveries_since ON deliveries(since)");
  file.run("CREATE INDEX IF NOT EXISTS deliveries_hook ON deliveries(hook, due, id)");
  file.run(`CREATE TABLE IF NOT EXISTS tallies (
    hook TEXT PRIMARY KEY, delivered INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0, last_at TEXT, last_type TEXT, last_status INTEGER, last_error TEXT)`);
}

function createTallies(db: Database) {
  return {
    addTo: (hook: string, what: "delivered" | "failed" | "dropped", count: number) =>
      db.run(
        `INSERT INTO tallies (hook, ${what}) VALUES (?1, ?2) ON CONFLICT (hook) DO UPDATE SET ${what} = ${what} + ?2`,
        [hook, count],
      ),
    tally: (hook: string): Tally => ({
      ...NO_TALLY,
      ...db
        .query<Tally, [string]>(
          "SELECT delivered, failed, dropped, last_at, last_type, last_status, last_error FROM tallies WHERE hook = ?1",
        )
        .get(hook),
    }),
  };
}

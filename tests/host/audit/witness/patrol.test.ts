/** The patrol of a server over its own log: what it finds without being asked, and what it uses. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { createPatrol, MAX_ALTERED } from "../../../../src/host/audit/witness/patrol";
import { walk } from "../../../../src/host/audit/witness/walk";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import { movableClock, temporaryFolder, testServer, until } from "../../../support";
import { event, testLog, withDatabase } from "../support";
import { makeAnew } from "./support";

/** A log of some rows, and a patrol over it that hardly waits; stopped when the scope ends. */
async function patrolled(rows: number) {
  const made = await testLog();
  await Promise.all(
    Array.from({ length: rows }, (_, nth) => made.log.append(event({ detail: `row ${nth + 1}` }))),
  );
  const told: Array<{ id: number | null; reason: string }> = [];
  const steps = { count: 0, ms: 0 };
  const patrol = createPatrol({
    read: (work) =>
      Promise.resolve(
        withDatabase(made.path, (db) => {
          const begun = performance.now();
          steps.count++;
          const result = work(db);
          steps.ms += performance.now() - begun;
          return result;
        }),
      ),
    log: silentLog,
    publish: (_type, data) => void told.push(data as (typeof told)[number]),
    pause: () => 1,
  });
  return {
    ...made,
    ...{ patrol, told, steps },
    edit: (sql: string) => withDatabase(made.path, (db) => db.run(sql)),
    altered: () => patrol.found()?.altered ?? [],
    /** Resolves when a pass is over that has begun after this call: each takes some steps. */
    async passOver() {
      const before = steps.count;
      await until("a pass over all rows", () => steps.count > before + 20, { everyMs: 1 });
    },
    async [Symbol.asyncDispose]() {
      patrol.end();
      await made[Symbol.asyncDispose]();
    },
  };
}

const WAYS: ReadonlyArray<{ way: string; sql: string; id: number | null; reason: string }> = [
  {
    way: "a text that was edited",
    ...{ sql: "UPDATE events SET detail = 'x' WHERE id = 700", id: 700, reason: "it was edited" },
  },
  {
    way: "a hash that was removed",
    ...{ sql: "UPDATE events SET row_hash = NULL WHERE id = 700", id: 700, reason: "its hash was removed" },
  },
  {
    way: "rows that are gone",
    ...{ sql: "DELETE FROM events WHERE id IN (600, 601)", id: 602, reason: "rows 600 to 601 are gone" },
  },
  {
    way: "the oldest rows that are gone",
    ...{ sql: "DELETE FROM events WHERE id < 5", id: 5, reason: "the oldest rows are gone" },
  },
  {
    way: "the newest rows that are gone",
    ...{ sql: "DELETE FROM events WHERE id > 1195", id: 1196, reason: "rows 1196 to 1200 are gone" },
  },
  {
    way: "a trigger that would mute the log",
    ...{ sql: "CREATE TRIGGER mute AFTER INSERT ON events BEGIN DELETE FROM events; END" },
    ...{ id: null, reason: "no part of an audit log" },
  },
];

describe("without being asked, a server finds", () => {
  test.each(WAYS)("$way", async ({ sql, id, reason }) => {
    await using made = await patrolled(1_200);
    made.patrol.start();
    await made.passOver();
    expect(made.altered()).toEqual([]);
    made.edit(sql);
    await until("what was altered", () => made.altered().length > 0, { everyMs: 1 });
    await made.passOver();
    expect(made.altered()[0]).toEqual({ id, reason: expect.stringContaining(reason) });
    expect(made.told).toEqual(made.altered());
  });

  test("a row whose hash was made anew, and the chain behind it", async () => {
    await using made = await patrolled(50);
    made.patrol.start();
    withDatabase(made.path, (db) => {
      db.run("UPDATE events SET detail = 'x' WHERE id = 20");
      makeAnew(db, false);
    });
    await until("what was altered", () => made.altered().length > 0, { everyMs: 1 });
    expect(made.altered()[0]).toEqual({
      id: 20,
      reason: "it is not the row that is in the tree: it was made anew",
    });
  });
});

test("behind an altered row the patrol goes on, and names a second one; what is as it was again is named no longer", async () => {
  await using made = await patrolled(1_200);
  made.patrol.start();
  made.edit("UPDATE events SET detail = 'x' WHERE id IN (3, 1100)");
  await until("both rows", () => made.altered().length === 2, { everyMs: 1 });
  made.edit("UPDATE events SET detail = 'row 3' WHERE id = 3");
  await until("one row less", () => made.altered().length === 1, { everyMs: 1 });
  expect(made.altered()).toEqual([{ id: 1100, reason: expect.stringContaining("edited") }]);
  expect(made.told.map(({ id }) => id)).toEqual([3, 1100]);
});

test("of very many altered rows, the first are named", async () => {
  await using made = await patrolled(200);
  made.patrol.start();
  made.edit("UPDATE events SET detail = 'x'");
  await made.passOver();
  expect(made.altered().map(({ id }) => id)).toEqual(
    Array.from({ length: MAX_ALTERED }, (_, nth) => nth + 1),
  );
});

test("rows that are appended, pruned and cleared by svc are no fault", async () => {
  await using made = await patrolled(1_500);
  using folder = temporaryFolder();
  made.patrol.start();
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 600 }, () => made.log.append(event())));
    await made.log.prune({ what: { keep: 300 }, archive: { folder: folder.path }, by: "test" });
    await made.passOver();
  }
  await made.log.clear("test");
  await made.passOver();
  expect(made.altered()).toEqual([]);
}, 60_000);

test("a step is small, so that a hundred times its length is a short pause", async () => {
  await using made = await patrolled(3_000);
  const first = withDatabase(made.path, (db) => walk(db, undefined, 512));
  expect(first).toMatchObject({ at: { id: 512 }, isEnd: false, altered: [] });
});

test("after each step it rests a hundred times as long as that took", async () => {
  await using made = await testLog();
  await made.log.append(event({}));
  using clock = movableClock();
  const steps: number[] = [];
  const rests: number[] = [];
  const slowed = (db: Database) =>
    new Proxy(db, {
      get(target, key) {
        if (key === "query") clock.advance(200);
        const value = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const read = async <T>(work: (db: Database) => T): Promise<T> =>
    withDatabase(made.path, (db) => {
      const begun = performance.now();
      const result = work(slowed(db));
      steps.push(performance.now() - begun);
      return result;
    });
  const pause = (ms: number) => {
    rests.push(ms);
    return 1;
  };
  const patrol = createPatrol({ read, log: silentLog, publish: () => {}, pause });
  patrol.start();
  await until("some steps", () => steps.length > 3, { everyMs: 1 });
  patrol.end();
  // Between two passes it waits for 10 s at most.
  const long = rests.filter((ms) => ms > 10_000);
  expect(long.length).toBeGreaterThan(2);
  for (const [nth, ms] of long.entries()) expect(ms / (steps[nth] ?? 0)).toBeWithin(99, 101);
});

test("a server finds crude tampering with its log, and says so as an event, a metric and in its status", async () => {
  await using host = await testServer();
  const log = await host.service.audit();
  for (let nth = 1; nth <= 5; nth++) await log?.append(event({ detail: `row ${nth}` }));
  const { auditLog } = configFiles(host.configDir);
  withDatabase(auditLog, (db) => db.run("UPDATE events SET detail = 'x' WHERE id = 3"));
  const altered = { id: 3, reason: "it was edited: its hash is not that of its content" };
  await until("what was altered", async () => log?.patrolled()?.altered.length === 1, { everyMs: 20 });
  const status = (await (await host.call("/audit/status")).json()) as { patrolled: unknown };
  expect(status.patrolled).toEqual({ verified_at: expect.any(String), altered: [altered] });
  const scrape = await (await host.call("/metrics")).text();
  expect(scrape).toContain("\nservice_audit_altered_rows 1\n");
  expect(scrape).toMatch(/\nservice_audit_verified_timestamp_seconds \d/);
  expect(scrape).toContain('service_events_total{type="audit.altered"} 1');
  const checkpoint = await (await fetch(`${host.server.url}/audit/checkpoint`)).json();
  expect(checkpoint).toMatchObject({ rows: { altered: [altered] } });
});

test("a step leaves its connection free to write, after rows of another process too", async () => {
  await using made = await testLog();
  await made.log.append(event({}));
  await (await made.log.witness()).current();
  using db = new Database(made.path);
  walk(db, undefined, 512);
  await made.log.append(event({}));
  expect(() => db.run("BEGIN IMMEDIATE")).not.toThrow();
});

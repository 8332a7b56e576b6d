/** The tree beside the chain: who joins it, when, and what it is then. */
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { AuditFile } from "../../../../src/host/audit/file";
import { headOf, readHighWater } from "../../../../src/host/audit/high-water";
import { openAuditLog } from "../../../../src/host/audit/log";
import {
  hasTree,
  joinStep,
  leafIndex,
  leafOf,
  nodesOf,
  readTree,
  rowIdOf,
} from "../../../../src/host/audit/witness/tree";
import { silentLog } from "../../../../src/lib/log";
import { type Hash, nodeHash, rootOf } from "../../../../src/wire/witness/merkle";
import { temporaryFolder } from "../../../support";
import { event, rowsOf, testLog, withDatabase } from "../support";

/** As RFC 6962, section 2.1, defines it, over the row hashes. */
function definedRoot(hashes: ReadonlyArray<string | null>): Hash {
  if (hashes.length === 1) return leafOf(hashes[0]);
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return nodeHash(definedRoot(hashes.slice(0, split)), definedRoot(hashes.slice(split)));
}

const hex = (hash: Hash) => Buffer.from(hash).toString("hex");

/** The size of the tree in the file, and its root. */
const treeOf = (path: string) =>
  withDatabase(path, (db) => {
    const { size, lastId } = readTree(db);
    return { size, lastId, root: hex(rootOf(size, nodesOf(db))) };
  });

const expected = (hashes: ReadonlyArray<string | null>) => hex(definedRoot(hashes));

test("each row is in the tree once its append has resolved, whoever wrote with it", async () => {
  await using made = await testLog();
  await using other = await openAuditLog({ path: made.path, log: silentLog }).then((log) => ({
    log,
    [Symbol.asyncDispose]: () => log.close(),
  }));
  for (let round = 0; round < 40; round++) {
    const writers = [made.log, round % 3 === 0 ? other.log : made.log, made.log];
    await Promise.all(writers.map((log) => log.append(event({ detail: `${round}` }))));
    const rows = rowsOf(made.path);
    expect(treeOf(made.path)).toEqual({
      size: rows.length,
      lastId: rows.length,
      root: expected(rows.map(({ row_hash }) => row_hash)),
    });
  }
});

test("the tree is that of RFC 6962, however many rows share a commit", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 5 }), async (batches) => {
      await using made = await testLog();
      for (const batch of batches)
        await Promise.all(Array.from({ length: batch }, () => made.log.append(event())));
      const hashes = rowsOf(made.path).map(({ row_hash }) => row_hash);
      if (hashes.length > 0) expect(treeOf(made.path).root).toBe(expected(hashes));
      // Every tree that it once was, too.
      withDatabase(made.path, (db) => {
        const size = Math.ceil(hashes.length / 2);
        if (size > 0) expect(hex(rootOf(size, nodesOf(db)))).toBe(expected(hashes.slice(0, size)));
      });
    }),
    { numRuns: 12 },
  );
});

test("rows of other programs join with the next row, in their order", async () => {
  await using made = await testLog();
  await made.log.append(event());
  withDatabase(made.path, (db) => {
    for (const hash of ["ab".repeat(32), "no hash", null])
      db.run("INSERT INTO events (ts, event_type, row_hash) VALUES ('2026', 'other', ?)", [hash]);
  });
  await made.log.append(event());
  const hashes = rowsOf(made.path).map(({ row_hash }) => row_hash);
  expect(hashes).toHaveLength(5);
  expect(treeOf(made.path)).toEqual({ size: 5, lastId: 5, root: expected(hashes) });
});

test("clearing drops rows, never leaves, and the row about it is the next", async () => {
  await using made = await testLog();
  await Promise.all(Array.from({ length: 20 }, () => made.log.append(event())));
  const before = rowsOf(made.path).map(({ row_hash }) => row_hash);
  await made.log.clear("test");
  const after = rowsOf(made.path).map(({ row_hash }) => row_hash);
  expect(treeOf(made.path)).toEqual({ size: 21, lastId: 21, root: expected([...before, ...after]) });
  withDatabase(made.path, (db) =>
    expect([leafIndex(db, 7), leafIndex(db, 21), leafIndex(db, 22)]).toEqual([6, 20, undefined]),
  );
});

test("a log of an earlier svc gets a tree, and all of its rows join in steps", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "audit.db");
  copyFileSync(join(import.meta.dir, "../../../fixtures/config-0.1.0/config/audit.db"), path);
  expect(withDatabase(path, hasTree)).toBeFalse();
  const log = await openAuditLog({ path, log: silentLog });
  await log.append(event());
  await log.close();
  const rows = rowsOf(path);
  expect(treeOf(path)).toMatchObject({
    size: rows.length,
    root: expected(rows.map(({ row_hash }) => row_hash)),
  });
  expect(rows.length).toBeGreaterThan(1);
});

test("while thousands of rows have not joined, new ones wait behind them; with gaps, each keeps its place", async () => {
  await using made = await testLog();
  withDatabase(made.path, (db) =>
    db.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO events (id, ts, event_type, row_hash) SELECT i * 2, '2026', 'other', printf('%064x', i) FROM n`),
  );
  await made.log.append(event());
  expect(treeOf(made.path).size).toBe(0);
  const file = new AuditFile(made.path);
  for (let isComplete = false; !isComplete; )
    isComplete = await file.write((db) => joinStep(db, headOf(readHighWater(db)).id).isComplete);
  file.close();
  await made.log.append(event());
  const rows = rowsOf(made.path);
  expect(treeOf(made.path)).toEqual({
    size: 5_002,
    lastId: 10_002,
    root: expected(rows.map(({ row_hash }) => row_hash)),
  });
  withDatabase(made.path, (db) => {
    expect(rows.map(({ id }) => leafIndex(db, id))).toEqual(rows.map((_, at) => at));
    expect(rows.map((_, at) => rowIdOf(db, at))).toEqual(rows.map(({ id }) => id));
    expect(leafIndex(db, 3)).toBeUndefined();
  });
});

test("a log whose tree was removed takes no more rows", async () => {
  await using made = await testLog();
  await made.log.append(event());
  withDatabase(made.path, (db) =>
    db.run("DROP TABLE svc_tree; DROP TABLE svc_tiles; DROP TABLE svc_runs; DROP TABLE svc_checkpoints"),
  );
  await expect(made.log.append(event())).rejects.toThrow("the table svc_tree was removed");
  expect(await made.log.verify()).toMatchObject({ ok: false, reason: "the table svc_tree was removed" });
});

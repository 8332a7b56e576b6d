import { expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase, openSnapshot } from "../../src/lib/sqlite";
import { temporaryFolder } from "../support";

const open = (path: string) =>
  openDatabase(path, { synchronous: "FULL", prepare: (db) => db.run("CREATE TABLE IF NOT EXISTS a(b)") });

test("a database of which only the write-ahead log is left is named, and none is made in its place", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a.db");
  using db = open(path);
  db.run("INSERT INTO a VALUES (1)");
  expect(existsSync(`${path}-wal`)).toBe(true);
  rmSync(path);
  const why = "a.db is missing or empty, and a.db-wal is there: stop svc and restore a.db from a backup";
  for (const way of [open, (at: string) => openSnapshot(at, 0)]) {
    expect(() => way(path)).toThrow(why);
    expect(existsSync(path)).toBe(false);
  }
  writeFileSync(path, "");
  expect(() => open(path)).toThrow(why);
});

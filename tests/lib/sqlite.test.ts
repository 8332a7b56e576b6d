/** A database is opened beside other processes. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/lib/sqlite";
import { temporaryFolder } from "../support";

/** Writes a database until some time after there is a file GO: who opens it meanwhile, and waits, can say no more. */
const WRITER = `
  import { Database } from "bun:sqlite";
  import { existsSync } from "node:fs";
  const db = new Database(process.env.FILE);
  // For those who read, SQLite itself waits.
  db.run("BEGIN IMMEDIATE");
  console.log("writes");
  while (!existsSync(process.env.GO)) Bun.sleepSync(1);
  Bun.sleepSync(200);
  db.run("COMMIT");
`;

test("a database without a write-ahead log gets one once no other process writes it", async () => {
  using folder = temporaryFolder();
  const [file, go] = [join(folder.path, "new.db"), join(folder.path, "go")];
  const made = new Database(file);
  made.run("CREATE TABLE t(n)");
  made.close();
  const writer = Bun.spawn([process.execPath, "-e", WRITER], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, FILE: file, GO: go },
  });
  await writer.stdout.getReader().read();
  writeFileSync(go, "");
  const db = openDatabase(file, { synchronous: "FULL", busyMs: 30_000, prepare() {} });
  expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  db.close();
  expect(await writer.exited).toBe(0);
});

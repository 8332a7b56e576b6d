import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../src/lib/lock";
import { temporaryFolder } from "../support";

/** What taking the lock fails with, after `put` has put something at its path. */
function failureWith(put: (path: string) => void): unknown {
  using folder = temporaryFolder();
  const path = join(folder.path, "jobs.lock");
  put(path);
  try {
    return tryLock(path);
  } catch (error) {
    return error;
  }
}

describe("a lock file", () => {
  test("that is no database is a failure that names it", () => {
    expect(failureWith((path) => writeFileSync(path, "mine\n".repeat(1_000)))).toMatchObject({
      code: "unavailable",
      message: "jobs.lock is not a database: move it away",
    });
  });

  test("that is a folder is a failure that names it", () => {
    expect(failureWith(mkdirSync)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("jobs.lock"),
    });
  });
});

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLocked, tryLock } from "../../src/lib/lock";
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

/** A process that looks at the lock until it is killed. */
function startLooking(path: string) {
  const program = `
    import { isLocked } from ${JSON.stringify(join(import.meta.dir, "../../src/lib/lock"))};
    console.log("looking");
    for (;;) isLocked(${JSON.stringify(path)});`;
  const looker = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
  return { looker, looks: looker.stdout.getReader().read() };
}

describe("a lock file", () => {
  test("that is no database is a failure that names it", () => {
    expect(failureWith((path) => writeFileSync(path, "mine\n".repeat(1_000)))).toMatchObject({
      code: "unavailable",
      message: "jobs.lock is not a database: mend it or restore it from a backup, or move it away",
    });
  });

  test("that is a folder is a failure that names it", () => {
    expect(failureWith(mkdirSync)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("jobs.lock"),
    });
  });

  test("is free for who takes it while other processes look at it all the time", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "serve.lock");
    tryLock(path)?.();
    const lookers = [1, 2].map(() => startLooking(path));
    try {
      await Promise.all(lookers.map(({ looks }) => looks));
      const taken = Array.from({ length: 500 }, () => {
        const release = tryLock(path);
        release?.();
        return release !== undefined;
      });
      expect(taken).not.toContain(false);
    } finally {
      for (const { looker } of lookers) looker.kill();
    }
  });

  test("is not free for a second who takes it, and is again when the first has released it", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "serve.lock");
    const release = tryLock(path);
    expect([isLocked(path), tryLock(path)]).toEqual([true, undefined]);
    release?.();
    expect(isLocked(path)).toBe(false);
    const again = tryLock(path);
    expect(again).toBeDefined();
    again?.();
  });
});

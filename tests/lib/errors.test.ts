import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { failureOf, MAX_MESSAGE, messageOf, notFound } from "../../src/lib/errors";
import { temporaryFolder } from "../support";

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test("an expected failure is itself", () => {
  const failure = notFound("no such thing");
  expect(failureOf(failure)).toBe(failure);
});

test("what the host lacks is a failure that says so, and names no path", () => {
  using folder = temporaryFolder();
  const refused = thrownBy(() => new Database(folder.path));
  expect(failureOf(refused)).toMatchObject({
    code: "unavailable",
    message: "a database cannot be opened (SQLITE_CANTOPEN)",
    cause: refused,
  });
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  expect(failureOf(full)?.message).toBe("the disk is full (ENOSPC)");
  const damaged = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_WRITE" });
  expect(failureOf(damaged)?.message).toBe("a database cannot be read or written (SQLITE_IOERR_WRITE)");
});

test("anything else is a bug, also when the system said it", () => {
  using folder = temporaryFolder();
  expect(failureOf(thrownBy(() => mkdirSync(folder.path)))).toBeUndefined();
  for (const thrown of [new TypeError("x is not a function"), "text", null, { code: "constructor" }]) {
    expect(failureOf(thrown)).toBeUndefined();
  }
});

test("the message of a failure is short, whatever it quotes", () => {
  expect(notFound("é".repeat(1_000_000)).message.length).toBe(MAX_MESSAGE + 1);
  expect(notFound(`${"x".repeat(MAX_MESSAGE - 1)}😀`).message.isWellFormed()).toBe(true);
  expect(notFound("short").message).toBe("short");
});

test("a disk without room for what SQLite shares is full, not broken", () => {
  const error = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_SHMSIZE" });
  expect([messageOf(error), failureOf(error)?.message]).toEqual([
    "database or disk is full",
    "the disk is full (SQLITE_IOERR_SHMSIZE)",
  ]);
});

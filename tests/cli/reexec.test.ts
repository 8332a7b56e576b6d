/** Starting over. */
import { afterEach, expect, test } from "bun:test";
import { HANDED_OVER, takeOver } from "../../src/cli/reexec";

afterEach(() => delete process.env[HANDED_OVER]);

const handed = { noun: "serve", typed: {}, globals: { json: false } };

test("what this process has handed over to itself is taken, once", () => {
  process.env[HANDED_OVER] = JSON.stringify({ ...handed, pid: process.pid });
  expect(takeOver()).toEqual(handed as never);
  expect(takeOver()).toBeNull();
});

test.each([JSON.stringify({ ...handed, pid: process.pid + 1 }), "x", "", "null", "5", "[]"])(
  "a variable that says %j is none of it, and no child sees it",
  (text) => {
    process.env[HANDED_OVER] = text;
    expect(takeOver()).toBeNull();
    expect(process.env[HANDED_OVER]).toBeUndefined();
  },
);

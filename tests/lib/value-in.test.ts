/** Values from outside, read by a schema, and what a read that may fail returns. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { badInput } from "../../src/lib/errors";
import { orFailure } from "../../src/lib/or-else";
import { valueAs, valueIn } from "../../src/lib/value-in";

const NAMED = v.object({ name: v.string() });

test("a value of another form, no text, and a text that is no JSON are undefined", () => {
  expect(valueAs(NAMED, { name: "lab", more: 1 })).toEqual({ name: "lab" });
  expect(valueAs(NAMED, null)).toBeUndefined();
  expect(valueIn(NAMED, '{"name": "lab"}')).toEqual({ name: "lab" });
  for (const text of [undefined, "", "{", "null", '{"name": 1}'])
    expect(valueIn(NAMED, text)).toBeUndefined();
});

test("an expected failure is returned, and a bug is thrown", async () => {
  const failing = (error: Error) => () =>
    orFailure(() => {
      throw error;
    });
  const failure = badInput("no");
  const bug = new TypeError("bug");
  expect(orFailure(() => 1)).toBe(1);
  expect<unknown>(failing(failure)()).toBe(failure);
  // `toThrow` takes an error that is returned for one that is thrown.
  await expect(Promise.try(failing(bug))).rejects.toBe(bug);
});

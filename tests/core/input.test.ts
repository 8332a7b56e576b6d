/** How the input check says what it expected. */

import { expect, test } from "bun:test";
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../src/core/desktop-request";
import { checkInput, sentence } from "../../src/core/input";
import { STOP_ON_ERROR } from "../../src/core/run";
import { REGION } from "../../src/host/desktop/operations/input-operation";

const SCHEMA = v.strictObject({
  mode: v.optional(v.picklist(["fast", "slow", "off"])),
  share: v.optional(v.union([v.number(), v.string()])),
  stop_on_error: STOP_ON_ERROR,
  command: v.optional(v.union([v.string(), v.array(v.string())])),
});

test.each([
  [{ mode: "fats" }, 'mode: expected fast, slow or off but found "fats" (did you mean fast?)'],
  [{ share: null }, "share: expected a number or a text but found null"],
  [{ stop_on_error: "focsu" }, 'stop_on_error: expected true, false or focus but found "focsu"'],
  [{ command: ["a", "b", 80] }, "command[2]: expected a text but found 80"],
  [{ command: [1, 2] }, "command[0]: expected a text but found 1"],
  [{ command: 80 }, "command: expected a text or a list but found 80"],
])("a choice is written as a person writes it: %j", (input, expected) => {
  const checked = checkInput(SCHEMA, input);
  expect(checked.ok ? "" : sentence(checked.offences)).toBe(expected);
});

const LONG = v.strictObject({
  tags: v.optional(v.pipe(v.array(v.string()), v.maxLength(3))),
  inner: v.optional(
    v.object({ names: v.optional(v.pipe(v.record(v.string(), v.number()), v.maxEntries(2))) }),
  ),
});

test.each([
  [{ tags: [1, 2, 3, 4] }, "tags: expected at most 3 items but found 4"],
  [{ inner: { names: { a: 1, b: "", c: 3 } } }, "inner.names: expected at most 2 fields but found 3"],
  [{ inner: { names: [1, 2, 3] } }, "inner.names: expected an object but found an array"],
])("what is too long is counted before its items are looked at: %j", (input, expected) => {
  const checked = checkInput(LONG, input);
  expect(checked.ok ? "" : sentence(checked.offences)).toBe(expected);
});

test("what is as long as it may be has all its items looked at", () => {
  const checked = checkInput(LONG, { tags: [1, 2, "a"] });
  expect(checked.ok ? 0 : checked.offences.length).toBe(2);
});

test("an empty list is no object, also where a text may stand", () => {
  const schema = v.strictObject({ desktop: v.optional(DESKTOP_REQUEST) });
  expect(checkInput(schema, { desktop: [] })).toMatchObject({
    offences: [{ field: "desktop", message: "expected an object but found an array" }],
  });
  expect(checkInput(schema, { desktop: {} }).ok).toBe(true);
});

test("a region with too few numbers says which four are expected", () => {
  const schema = v.strictObject({ region: v.optional(REGION) });
  expect(checkInput(schema, { region: [1, 2, 3] })).toMatchObject({
    offences: [{ field: "region[3]", message: "missing: expected four numbers: x1, y1, x2, y2" }],
  });
});

/** How the input check says what it expected. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { checkInput, sentence } from "../../src/core/input";
import { STOP_ON_ERROR } from "../../src/core/run";

const SCHEMA = v.strictObject({
  mode: v.optional(v.picklist(["fast", "slow", "off"])),
  share: v.optional(v.union([v.number(), v.string()])),
  stop_on_error: STOP_ON_ERROR,
});

test.each([
  [{ mode: "fats" }, 'mode: expected fast, slow or off but found "fats" (did you mean fast?)'],
  [{ share: null }, "share: expected a number or a text but found null"],
  [{ stop_on_error: "focsu" }, 'stop_on_error: expected true, false or focus but found "focsu"'],
])("a choice is written as a person writes it: %j", (input, expected) => {
  const checked = checkInput(SCHEMA, input);
  expect(checked.ok ? "" : sentence(checked.offences)).toBe(expected);
});

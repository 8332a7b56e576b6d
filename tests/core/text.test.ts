import { expect, test } from "bun:test";
import { jsonOrText } from "../../src/core/text";

test("what a person types is JSON where it parses, and a number only where it is written so", () => {
  const texts = ["7", "-0.5", "true", "null", '"7"', "[1]", '{"a":1}'];
  expect(texts.map(jsonOrText)).toEqual(texts.map((text) => JSON.parse(text)));
  const kept = ["1.10", "007", "1e5", "12345678901234567890", "-0", "ACME", "", "{"];
  expect(kept.map(jsonOrText)).toEqual(kept);
});

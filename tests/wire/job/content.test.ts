/** What a host takes for the content of a job. */
import { expect, test } from "bun:test";
import { readContent, writeContent } from "../../../src/wire/job/content";
import { usedMs } from "../../support";

const { content } = writeContent({
  actions: [["AC_sleep", [0]]],
  commands: ["AC_sleep"],
  ...{ stop_on_error: true, timeout_s: 1, scope: null },
});

test("a content is read as it was written, and one that escapes the bounds on a body as a text in it is refused", () => {
  expect(readContent(content)).toMatchObject({ actions: [["AC_sleep", [0]]], commands: ["AC_sleep"] });
  const deep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
  expect(() => readContent(content.replace("[0]", deep))).toThrow("content: expected at most 500 levels");
  const many = `[${"[],".repeat(130_000)}0]`;
  expect(() => readContent(content.replace("[0]", many))).toThrow(
    "content: expected at most 125000 values and names",
  );
});

test("the first fault of a content is named, and the others are not looked for", () => {
  const numbers = Array.from({ length: 60_000 }, () => 0).join();
  const began = usedMs();
  expect(() => readContent(content.replace('"commands":["AC_sleep"]', `"commands":[${numbers}]`))).toThrow(
    "content: expected that of a job (commands.0)",
  );
  // Each of them would be described.
  expect(usedMs() - began).toBeLessThan(200);
});

test("far too many files are counted, and no name of theirs is looked at", () => {
  const files = JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, nth) => [`../${nth}`, 1])));
  expect(() => readContent(content.replace('"files":{}', `"files":${files}`))).toThrow(
    "content: expected at most 64 files",
  );
});

test("what every host would refuse is not written", () => {
  const parts = { commands: ["AC_set_var"], stop_on_error: true, timeout_s: 1, scope: null };
  const numbers = Array.from({ length: 140_000 }, () => 0);
  expect(() => writeContent({ ...parts, actions: [["AC_set_var", ["a", numbers]]] })).toThrow(
    "actions: expected at most 125000 values and names",
  );
});

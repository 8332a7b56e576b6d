/** YAML, read in a process of its own. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { Requester } from "../../src/lib/slots";
import { createYamlReader } from "../../src/lib/yaml";

const reader = createYamlReader();
const owner = new Requester(null);

test("any JSON value that is written as YAML is that value again", async () => {
  const values = fc.sample(fc.jsonValue({ noUnicodeString: false }), { numRuns: 150, seed: 7 });
  const text = stringify(values);
  expect(await reader.read(text, owner)).toEqual({ value: JSON.parse(JSON.stringify(values)) });
});

test("words are texts as in YAML 1.2, and numbers are numbers", async () => {
  const text = "[yes, no, on, 012, 0o14, 2001-01-01, 1:30, ~, '', 1e3, true, <<]";
  const value = ["yes", "no", "on", 12, 12, "2001-01-01", "1:30", null, "", 1000, true, "<<"];
  expect(await reader.read(text, owner)).toEqual({ value });
});

test.each([
  ["a: 1\nb: 2\na: 3", 3, 1, "a name that the mapping does not have yet"],
  ["- {a: 1, b: {c: 2, 'c': 3}}", 1, 20, "a name that the mapping does not have yet"],
  ["- 1\n---\n- 2", 2, 1, "one document"],
  ["- !!js/function x", 1, 3, "no tag"],
  ["- !secret x", 1, 3, "no tag"],
  ["? [a]\n: 1", 1, 3, "a name that is a text"],
  ["a:\n\t- 1", 2, 1, "spaces in place of the tab"],
  ["- *nobody", 1, 3, "an alias of an anchor before it"],
  ["- .inf", 1, 3, "a number that JSON has too"],
  ["%YAML 1.1\n---\n- yes", 1, 1, "YAML 1.2"],
  ["- 'hunter2", 1, 11, "other syntax (missing char)"],
])("%j is refused at %d:%d", async (text, line, column, expected) => {
  expect(await reader.read(text, owner)).toEqual({ fault: { line, column, expected } });
});

test("aliases that make much of little are refused; a few are what they stand for", async () => {
  const laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
  for (let n = 1; n < 12; n++) laughs.push(`a${n}: &a${n} [${Array(9).fill(`*a${n - 1}`)}]`);
  expect(await reader.read(laughs.join("\n"), owner)).toMatchObject({
    fault: { expected: "fewer uses of aliases" },
  });
  expect(await reader.read("- &a [1]\n- *a", owner)).toEqual({ value: [[1], [1]] });
  expect(await reader.read("&a [*a]", owner)).toHaveProperty("fault");
});

test("places are those of the values, of what is not there those of what it would be in", async () => {
  const text = "auto_control:\n  - [AC_sleep, [1]]\n  - - AC_loop\n    - times: 2\n      body: []\n";
  const pointers = [
    "/auto_control/0/0",
    "/auto_control/1/1/times",
    "/auto_control/1/1/nothing/x",
    "",
    "/x~1y",
  ];
  expect(await reader.places(text, pointers, owner)).toEqual([
    { line: 2, column: 6 },
    { line: 4, column: 14 },
    { line: 4, column: 7 },
    { line: 1, column: 1 },
    { line: 1, column: 1 },
  ]);
});

test("endless nesting is refused, and ends nothing else", async () => {
  expect(await reader.read("[".repeat(100_000), owner)).toHaveProperty("fault");
  expect(await reader.read("[1]", owner)).toEqual({ value: [1] });
});

test("a mapping may have as many names as fit into the text, and each is compared with all others", async () => {
  const names = Array.from({ length: 20_000 }, (_, nth) => `k${nth}`);
  const text = names.map((name) => `${name}: 1`).join("\n");
  expect(await reader.read(text, owner)).toEqual({
    value: Object.fromEntries(names.map((name) => [name, 1])),
  });
  expect(await reader.read(`${text}\nk7: 1`, owner)).toMatchObject({ fault: { line: 20_001, column: 1 } });
});

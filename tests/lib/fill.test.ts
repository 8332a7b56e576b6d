/** Placeholders of text files. */
import { expect, test } from "bun:test";
import { fill } from "../../src/lib/fill";

test("a value takes the place of each mention of its name, and is not read again", () => {
  expect(fill("a={{x}} b={{y}} {{x}}\n", { x: "{{y}} $1", y: 2 })).toBe("a={{y}} $1 b=2 {{y}} $1\n");
});

test("a list is a line for each item; a line of an empty value is left out, within a line it is empty", () => {
  const template = "first\n{{lines}}\nx={{none}}\n{{none}}\nlast\n";
  expect(fill(template, { lines: ["a", "b"], none: "" })).toBe("first\na\nb\nx=\nlast\n");
  expect(fill(template, { lines: [], none: [] })).toBe("first\nx=\nlast\n");
});

test("a placeholder without a value is an error that names it", () => {
  expect(() => fill("{{gone}}", {})).toThrow("{{gone}} has no value");
});

/** What oidc.json says of groups. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRules, ruleFor } from "../../../src/trust/oidc/groups";
import { temporaryFolder } from "../../support";

test("the first group in the file counts, and * where none does", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "oidc.json");
  writeFileSync(file, '{"*": {"scope": ["metrics"]}, "b": {"scope": ["read"]}, "a": {"scope": ["admin"]}}');
  const rules = readRules(file);
  expect([["a", "b"], ["a"], []].map((groups) => ruleFor(rules, groups)?.group)).toEqual(["b", "a", "*"]);
});

test("a group whose name is a number is refused: it would come first, wherever it stands", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "oidc.json");
  writeFileSync(file, '{"a": {"scope": ["read"]}, "1000": {"scope": ["admin"]}}');
  expect(() => readRules(file)).toThrow("oidc.json: 1000: a group whose name is a number");
});

import { expect, test } from "bun:test";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { resolveConfigDir } from "../../src/lib/paths";

test("a ~ at the start of the configuration folder is the home, and only there", () => {
  const home = homedir();
  const found = (flag: string | undefined, variable?: string) =>
    resolveConfigDir(flag, { SVC_CONFIG_DIR: variable });
  expect(found(undefined)).toBe(join(home, ".svc"));
  expect(found(undefined, "~")).toBe(home);
  expect(found(undefined, "~/a/b")).toBe(join(home, "a", "b"));
  expect(found("~/flag", "~/variable")).toBe(join(home, "flag"));
  expect(found("a/~/b")).toBe(resolve("a/~/b"));
  expect(found("./~")).toBe(resolve("./~"));
});

test("the home of another user is refused by name, not made as a folder here", () => {
  const refused = "SVC_CONFIG_DIR: expected a path, ~ or ~/… but found ~ann/.svc";
  expect(() => resolveConfigDir(undefined, { SVC_CONFIG_DIR: "~ann/.svc" })).toThrow(refused);
  expect(() => resolveConfigDir("~ann", {})).toThrow(/^--config-dir: /);
});

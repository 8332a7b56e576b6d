/** The page of benches is not too old to be believed. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { testWith } from "../support";
import { ROOT } from "./pages";

/** After so many commits the figures are those of another program. */
const MAX_COMMITS = 300;

testWith("git")("docs/performance.md was measured at most 300 commits ago", async () => {
  const page = readFileSync(join(ROOT, "docs/performance.md"), "utf8");
  const [, commit = ""] = /^svc \S+ \(([0-9a-f]{7,40})\)/m.exec(page) ?? [];
  expect(commit).not.toBe("");
  // An archive of the sources has no history, and a shallow clone a part of it.
  const known = await $`git cat-file -e ${commit}`.cwd(ROOT).quiet().nothrow();
  if (known.exitCode !== 0) return;
  const count = await $`git rev-list --count ${commit}..HEAD`.cwd(ROOT).text();
  expect(Number(count)).toBeLessThanOrEqual(MAX_COMMITS);
});

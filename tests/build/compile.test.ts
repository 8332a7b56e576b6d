import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { sourceCommit } from "../../build/compile";
import { temporaryFolder } from "../support";

test("the commit ends with -dirty when a tracked file differs, and unknown outside a repository", async () => {
  using folder = temporaryFolder();
  const git = (...args: string[]) => $`git -c user.name=t -c user.email=t@t ${args}`.cwd(folder.path).quiet();
  expect(await sourceCommit(folder.path)).toBe("unknown");
  await Bun.write(join(folder.path, "file"), "one");
  await git("init");
  await git("add", "file");
  await git("commit", "-m", "one");
  expect(await sourceCommit(folder.path)).toMatch(/^[0-9a-f]{12}$/);
  await Bun.write(join(folder.path, "file"), "two");
  expect(await sourceCommit(folder.path)).toMatch(/^[0-9a-f]{12}-dirty$/);
  await mkdir(join(folder.path, "inner"));
  expect(await sourceCommit(join(folder.path, "inner"))).toBe("unknown");
});

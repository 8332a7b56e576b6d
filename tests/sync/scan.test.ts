import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scanFolder } from "../../src/sync/scan";
import { temporaryFolder } from "../support";

const onLinux = test.skipIf(process.platform !== "linux");

/** The folders below `path` that this process has open. */
const openBelow = (path: string): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(realpathSync(path)) ? [target] : [];
    } catch {
      // That of the list itself, which is closed by now.
      return [];
    }
  });

onLinux("a scan closes each folder, also when it fails", async () => {
  using home = temporaryFolder();
  mkdirSync(join(home.path, "a/b"), { recursive: true });
  for (const name of ["one", "a/two", "a/b/three"]) writeFileSync(join(home.path, name), "");
  const opened: number[] = [];
  await scanFolder(home.path, true, () => opened.push(openBelow(home.path).length));
  expect(opened).toEqual([1, 1, 1]);
  expect(openBelow(home.path)).toEqual([]);
  const failing = scanFolder(home.path, true, (name) => {
    if (name === "a/two") throw new Error("no more");
  });
  await expect(failing).rejects.toThrow("no more");
  expect(openBelow(home.path)).toEqual([]);
});

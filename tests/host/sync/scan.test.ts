import { expect, test } from "bun:test";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { scanFolder } from "../../../src/host/sync/scan";
import { temporaryFolder } from "../../support";

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

onLinux("a file whose path is too long is passed over, also where that of its folder is not", async () => {
  using home = temporaryFolder();
  const root = realpathSync(home.path);
  const deep = root + `/${"d".repeat(240)}`.repeat(16);
  mkdirSync(deep, { recursive: true });
  const folder = openSync(deep, "r");
  const [fits, long] = [4_095, 4_096].map((length) => "f".repeat(length - deep.length - 1));
  const names = [fits, long].map((name) => `/proc/self/fd/${folder}/${name}`);
  for (const name of names) writeFileSync(name, "");
  try {
    const found: string[] = [];
    const { passedOver, unread } = await scanFolder(home.path, true, (_name, path) => found.push(path));
    expect(found).toEqual([`${deep}/${fits}`]);
    expect(unread.map((name) => join(root, name))).toEqual([`${deep}/${long}`]);
    expect([...passedOver.values()].join()).toStartWith("ENAMETOOLONG");
  } finally {
    // By its path, it could not be removed.
    for (const name of names) unlinkSync(name);
    closeSync(folder);
  }
});

import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { openFolder, stateOf } from "../../../src/host/sync/file-state";
import { temporaryFolder } from "../../support";

const onLinux = test.skipIf(process.platform !== "linux");

onLinux("the state of a file in an open folder is the one by its path", () => {
  using home = temporaryFolder();
  using folder = openFolder(home.path);
  const names = fc.constantFrom("file", "Übung", "文件".repeat(40), "a".repeat(255));
  const seconds = fc.oneof(fc.nat(), fc.double({ min: 0, max: 2 ** 33, noNaN: true }));
  const sizes = fc.oneof(fc.nat(9), fc.integer({ min: 2 ** 32, max: 2 ** 40 }));
  fc.assert(
    fc.property(names, seconds, sizes, (name, mtime, size) => {
      const path = join(home.path, name);
      writeFileSync(path, "");
      truncateSync(path, size);
      utimesSync(path, mtime, mtime);
      const state = stateOf(path);
      expect(state?.size).toBe(size);
      expect(folder.stateOf(name)).toEqual(state);
    }),
  );
});

onLinux("what is no regular file, or is from before 1970, has no state in an open folder", () => {
  using home = temporaryFolder();
  mkdirSync(join(home.path, "folder"));
  writeFileSync(join(home.path, "file"), "");
  symlinkSync("file", join(home.path, "link"));
  writeFileSync(join(home.path, "old"), "");
  utimesSync(join(home.path, "old"), new Date(-1_000), new Date(-1_000));
  using folder = openFolder(home.path);
  for (const name of ["folder", "link", "old", "none", ""])
    expect([name, folder.stateOf(name)]).toEqual([name, undefined]);
  // It is not undefined for want of a reader.
  expect(folder.stateOf("file")).toEqual(stateOf(join(home.path, "file")));
  using none = openFolder(join(home.path, "none"));
  expect(none.stateOf("file")).toBeUndefined();
});

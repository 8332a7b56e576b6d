import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeFolder } from "../../src/diagnostics/checks/config-dir";
import { judgePermissions } from "../../src/diagnostics/checks/permissions";
import { temporaryFolder } from "../support";

test("a folder that is there, or can be made, is fine, and looking makes nothing", () => {
  using folder = temporaryFolder();
  const missing = join(folder.path, "a", "b");
  expect(judgeFolder(folder.path)).toMatchObject({ ok: true, detail: folder.path });
  expect(judgeFolder(missing)).toMatchObject({ ok: true, detail: `${missing} is made when it is needed` });
  expect(judgePermissions(missing, 1_000)).toMatchObject({ ok: true, severity: "info" });
  expect(readdirSync(folder.path)).toEqual([]);
});

test("a file in its place, or above it, is a failure with advice", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  for (const path of [file, join(file, "below")]) {
    const { ok, advice } = judgeFolder(path);
    expect([path, ok, advice.length > 0]).toEqual([path, false, true]);
  }
});

test.skipIf(process.getuid?.() === 0)("a folder that this user may not write is a failure", () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "sealed"));
  chmodSync(join(folder.path, "sealed"), 0o500);
  for (const path of [join(folder.path, "sealed"), join(folder.path, "sealed", "below")]) {
    expect(judgeFolder(path)).toMatchObject({ ok: false, detail: `${path} cannot be used (EACCES)` });
  }
});

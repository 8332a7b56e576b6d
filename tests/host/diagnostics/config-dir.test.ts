import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeFolder } from "../../../src/host/diagnostics/checks/config-dir";
import { judgePermissions } from "../../../src/host/diagnostics/checks/permissions";
import { temporaryFolder } from "../../support";

test("a folder that is there, or can be made, is fine, and looking makes nothing", () => {
  using folder = temporaryFolder();
  const missing = join(folder.path, "a", "b");
  expect(judgeFolder(folder.path)).toMatchObject({ ok: true, detail: folder.path });
  expect(judgeFolder(missing)).toMatchObject({ ok: true, detail: `${missing} is made when it is needed` });
  expect(judgePermissions(missing, undefined, 1_000)).toMatchObject({ ok: true, severity: "info" });
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

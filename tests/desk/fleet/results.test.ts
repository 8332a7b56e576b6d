/** The file of the results of a broadcast. */
import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openResultFile } from "../../../src/desk/fleet/results";
import { temporaryFolder } from "../../support";

test("a result that comes after the file was closed is written nowhere", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "results.jsonl");
  const other = join(folder.path, "other");
  writeFileSync(other, "its own content");
  const result = { label: "a", ok: false, status: "cancelled", delivered: true, duration_ms: 0 } as const;
  const file = openResultFile(path);
  file.add(result);
  file.close([result]);
  const written = readFileSync(path, "utf8");
  // It takes the number that the file had.
  const descriptor = openSync(other, "r+");
  file.add(result);
  closeSync(descriptor);
  expect(readFileSync(other, "utf8")).toBe("its own content");
  expect(readFileSync(path, "utf8")).toBe(written);
});

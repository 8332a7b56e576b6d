/** The results of a broadcast: those that are kept, and the file of them. */
import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeptResults, openResultFile } from "../../../src/desk/fleet/results";
import type { Delivery } from "../../../src/wire/job/delivery";
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

test("results that are too large together are kept without what hosts returned, those before them too", () => {
  const result = (label: string, bytes: number): Delivery => ({
    ...{ label, ok: true, delivered: true, duration_ms: 1, run_id: "r" },
    status: "ok",
    result: { text: "x".repeat(bytes) },
  });
  const bounded = createKeptResults(1_000);
  bounded.put(2, result("c", 400));
  bounded.put(0, result("a", 100));
  expect([0, 1, 2].map((at) => bounded.all[at]?.result !== undefined)).toEqual([true, false, true]);
  bounded.put(1, result("b", 600));
  bounded.put(3, result("d", 1));
  expect(bounded.all.map(({ label, run_id, result }) => [label, run_id, result])).toEqual(
    ["a", "b", "c", "d"].map((label) => [label, "r", undefined]),
  );
  const whole = createKeptResults(Number.POSITIVE_INFINITY);
  whole.put(0, result("a", 100_000));
  expect(whole.all[0]?.result).toBeDefined();
});

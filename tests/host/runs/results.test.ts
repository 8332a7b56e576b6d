/** What a run keeps of the results of its actions. */
import { expect, test } from "bun:test";
import { createResults } from "../../../src/host/runs/results";

test("a run keeps 32 MiB of results, as its report has each twice; what is too large beside them is left out", () => {
  const results = createResults(() => true);
  const piece = "x".repeat(1_048_576);
  const kept = Array.from({ length: 40 }, () => results.fits(piece)).filter(Boolean).length;
  expect(kept).toBe(31);
  expect(results.fits("short")).toBe(true);
});

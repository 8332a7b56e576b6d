import { expect, test } from "bun:test";
import { Ledger } from "../../../src/host/sync/ledger";

/** The seconds between the attempts at a file that always fails, where a look is taken every `lookS` seconds. */
function waits(lookS: number, looks: number): number[] {
  let seconds = 0;
  const ledger = new Ledger(undefined, false, lookS * 1_000, () => seconds * 1_000);
  const attempts: number[] = [];
  for (let look = 0; look < looks; look++, seconds += lookS) {
    ledger.beginLook();
    if (!ledger.found("file", "/file", { mtimeMs: 1, size: 1, inode: 1 })) continue;
    attempts.push(seconds);
    const pending = ledger.pending.get("file");
    if (pending) ledger.markFailed(pending, "no route");
  }
  return attempts.slice(1).map((at, nth) => at - (attempts[nth] ?? 0));
}

test("a file that always fails waits longer after five failures, and never more than a minute", () => {
  expect(waits(3, 100)).toEqual([3, 3, 3, 3, 6, 12, 24, 48, 60, 60, 60]);
});

test("where looks are a minute or more apart, a file that fails is tried at each", () => {
  expect(waits(60, 8)).toEqual([60, 60, 60, 60, 60, 60, 60]);
  expect(waits(86_400, 8)).toEqual(Array(7).fill(86_400));
});

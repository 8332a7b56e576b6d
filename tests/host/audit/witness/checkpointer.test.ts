/** When the log signs its checkpoints by itself, on a clock that the test moves. */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { keptCheckpoints } from "../../../../src/host/audit/witness/checkpoints";
import { event, testLog, withDatabase } from "../support";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A log that signs by itself. */
async function signing() {
  const made = await testLog();
  await made.log.keepCheckpoints();
  const witness = await made.log.witness();
  return {
    ...made,
    /** The sizes of the checkpoints, once the clock has gone on by so many seconds and what was due then is signed. */
    async after(seconds: number): Promise<number[]> {
      jest.advanceTimersByTime(seconds * 1_000);
      // It waits for what is being written.
      await witness.join();
      return withDatabase(made.path, keptCheckpoints).map(({ size }) => size);
    },
  };
}

test("a checkpoint is signed ten seconds after a row, with all rows until then", async () => {
  await using made = await signing();
  expect(await made.after(10)).toEqual([0]);
  await made.log.append(event());
  expect(await made.after(6)).toEqual([0]);
  await made.log.append(event());
  expect(await made.after(3.9)).toEqual([0]);
  expect(await made.after(0.2)).toEqual([0, 2]);
  await made.log.append(event());
  expect(await made.after(9.9)).toEqual([0, 2]);
  expect(await made.after(0.2)).toEqual([0, 2, 3]);
});

test("rows of other programs are in a checkpoint within a minute", async () => {
  await using made = await signing();
  await made.after(10);
  withDatabase(made.path, (db) =>
    db.run("INSERT INTO events (ts, event_type, prev_hash, row_hash) VALUES ('2026', 'other', 'a', 'b')"),
  );
  expect(await made.after(59)).toEqual([0]);
  expect(await made.after(2)).toEqual([0, 1]);
});

test("nothing is signed twice while nothing happens, nor after the log was closed", async () => {
  await using made = await signing();
  await made.log.append(event());
  expect(await made.after(10)).toEqual([1]);
  for (let minute = 0; minute < 5; minute++) expect(await made.after(60)).toEqual([1]);
  await made.log.append(event());
  await made.log.close();
  jest.advanceTimersByTime(120_000);
  expect(withDatabase(made.path, keptCheckpoints).map(({ size }) => size)).toEqual([1]);
});

test("who asks for the checkpoint of a log that has not grown does not wait for the lock", async () => {
  await using made = await signing();
  await made.log.append(event());
  await made.after(10);
  const witness = await made.log.witness();
  jest.setSystemTime(Date.now() + 3_600_000);
  using other = new Database(made.path);
  other.run("BEGIN IMMEDIATE");
  expect(await witness.checkpoint(0)).toMatchObject({ size: 1 });
});

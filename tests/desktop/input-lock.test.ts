import { expect, test } from "bun:test";
import { join } from "node:path";
import { createTurns } from "../../src/desktop/input-lock";
import { tryLock } from "../../src/lib/lock";
import { temporaryFolder } from "../support";

const forever = new AbortController().signal;

function turnsIn(folder: string, letGo: () => Promise<void> = async () => {}) {
  return createTurns(join(folder, "input.lock"), letGo);
}

test("turns are given one at a time, in the order in which they were asked for", async () => {
  using folder = temporaryFolder();
  const turns = turnsIn(folder.path);
  const order: string[] = [];
  const run = async (name: string) => {
    const turn = await turns.take(forever);
    order.push(`${name} in`);
    await Bun.sleep(1);
    order.push(`${name} out`);
    await turn.end("finished");
  };
  await Promise.all(["a", "b", "c"].map(run));
  expect(order).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("a run that is cancelled while it waits leaves its place to the next", async () => {
  using folder = temporaryFolder();
  const turns = turnsIn(folder.path);
  const first = await turns.take(forever);
  const gone = new AbortController();
  const second = turns.take(gone.signal);
  const third = turns.take(forever);
  gone.abort();
  await expect(second).rejects.toThrow("cancelled while waiting for a turn");
  await first.end("finished");
  await (await third).end("finished");
});

test("a turn waits for another process on the same folder", async () => {
  using folder = temporaryFolder();
  const other = tryLock(join(folder.path, "input.lock"));
  const gone = new AbortController();
  const refused = turnsIn(folder.path).take(gone.signal);
  gone.abort();
  await expect(refused).rejects.toThrow("cancelled");
  other?.();
  await (await turnsIn(folder.path).take(forever)).end("finished");
});

test("a process whose runs queue up lets another in between", async () => {
  using folder = temporaryFolder();
  const [busy, other] = [turnsIn(folder.path), turnsIn(folder.path)];
  const first = await busy.take(forever);
  const theirs = other.take(forever);
  await new Promise((resolve) => setImmediate(resolve));
  const second = busy.take(forever);
  await first.end("finished");
  const order = [theirs.then(() => "theirs"), second.then(() => "second")];
  expect(await Promise.race(order)).toBe("theirs");
  await (await theirs).end("finished");
  await (await second).end("finished");
});

test("only a broken run has its keys and buttons released, once, even when that fails", async () => {
  using folder = temporaryFolder();
  let released = 0;
  const turns = turnsIn(folder.path, async () => {
    released++;
    throw new Error("no display");
  });
  await (await turns.take(forever)).end("finished");
  expect(released).toBe(0);
  const broken = await turns.take(forever);
  await broken.end("broken");
  await broken.end("broken");
  expect(released).toBe(1);
  await (await turns.take(forever)).end("finished");
});

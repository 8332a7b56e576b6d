import { expect, test } from "bun:test";
import { join } from "node:path";
import { createInputLock } from "../../../src/host/desktop/input-lock";
import { tryLock } from "../../../src/lib/lock";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { nextTurn, temporaryFolder } from "../../support";

const forever = new Requester(null);

function lockIn(folder: string, releaseAll: () => Promise<void> = async () => {}) {
  return createInputLock(join(folder, "input.lock"), releaseAll);
}

test("runs hold the lock one at a time, in the order in which they asked for it", async () => {
  using folder = temporaryFolder();
  const inputLock = lockIn(folder.path);
  const order: string[] = [];
  const run = async (name: string) => {
    const hold = await inputLock.take(forever);
    order.push(`${name} in`);
    await nextTurn();
    order.push(`${name} out`);
    await hold.end("finished");
  };
  await Promise.all(["a", "b", "c"].map(run));
  expect(order).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("a run that is cancelled while it waits leaves its place to the next", async () => {
  using folder = temporaryFolder();
  const inputLock = lockIn(folder.path);
  const first = await inputLock.take(forever);
  const gone = new AbortController();
  const second = inputLock.take(new Requester(null, gone.signal));
  const third = inputLock.take(forever);
  gone.abort();
  await expect(second).rejects.toThrow("cancelled while waiting for pointer and keyboard");
  await first.end("finished");
  await (await third).end("finished");
});

test("the lock waits for another process on the same folder", async () => {
  using folder = temporaryFolder();
  const other = tryLock(join(folder.path, "input.lock"));
  const gone = new AbortController();
  const refused = lockIn(folder.path).take(new Requester(null, gone.signal));
  gone.abort();
  await expect(refused).rejects.toThrow("cancelled");
  other?.();
  await (await lockIn(folder.path).take(forever)).end("finished");
});

test("who waits is notified, and who holds the lock is named: of this process, or of another", async () => {
  using folder = temporaryFolder();
  const lines: string[] = [];
  const log = { ...silentLog, info: (line: string) => void lines.push(line) };
  const release = async () => {};
  const [here, there] = [1, 2].map(() => createInputLock(join(folder.path, "input.lock"), release, log));
  if (!here || !there) throw new Error("two locks");
  const first = await here.take(forever, "run 1");
  let notified = 0;
  const second = here.take(forever, "run 2", () => void notified++);
  expect([notified, here.holder()]).toEqual([1, "run 1"]);
  const { promise: waits, resolve } = Promise.withResolvers<void>();
  const third = there.take(forever, "run 3", resolve);
  await waits;
  expect(there.holder()).toBe(`run 1 of process ${process.pid}`);
  await first.end("finished");
  for (const next of [third, second]) await (await next).end("finished");
  expect(lines).toEqual([
    "run 2 waits for pointer and keyboard: run 1 uses them",
    `run 3 waits for pointer and keyboard: run 1 of process ${process.pid} uses them`,
  ]);
  await (await here.take(forever, "run 4")).end("finished");
  expect(lines).toHaveLength(2);
});

test("a process whose runs queue up lets another in between", async () => {
  using folder = temporaryFolder();
  const [busy, other] = [lockIn(folder.path), lockIn(folder.path)];
  const first = await busy.take(forever);
  const theirs = other.take(forever);
  await nextTurn();
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
  const inputLock = lockIn(folder.path, async () => {
    released++;
    throw new Error("no display");
  });
  await (await inputLock.take(forever)).end("finished");
  expect(released).toBe(0);
  const broken = await inputLock.take(forever);
  await broken.end("broken");
  await broken.end("broken");
  expect(released).toBe(1);
  await (await inputLock.take(forever)).end("finished");
});

test("a person is next, before the runs that wait already", async () => {
  using folder = temporaryFolder();
  const inputLock = lockIn(folder.path);
  const first = await inputLock.take(forever, "run 1");
  const order: string[] = [];
  const take = async (who: string, isFirst: boolean) => {
    const hold = await inputLock.take(forever, who, () => {}, isFirst);
    order.push(who);
    await hold.end("finished");
  };
  const all = [take("run 2", false), take("run 3", false), take("viewer ann", true)];
  await first.end("finished");
  await Promise.all(all);
  expect(order).toEqual(["viewer ann", "run 2", "run 3"]);
});

test("says who uses pointer and keyboard now: of this process, of another, or nobody", async () => {
  using folder = temporaryFolder();
  const [here, there] = [lockIn(folder.path), lockIn(folder.path)];
  expect(here.user()).toBeNull();
  const hold = await there.take(forever, "run 1");
  expect([here.user(), there.user()]).toEqual([`run 1 of process ${process.pid}`, "run 1"]);
  await hold.end("finished");
  expect([here.user(), there.user()]).toEqual([null, null]);
});

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { connectForLines, type LineConnection, listenForLines } from "../../src/lib/lines";
import { temporaryFolder, usedMs } from "../support";

/** The two ends of a connection. */
async function pair() {
  const folder = temporaryFolder();
  const { promise, resolve } = Promise.withResolvers<LineConnection>();
  const path = join(folder.path, "svc.sock");
  const listener = listenForLines(path, resolve);
  const near = await connectForLines(path);
  const far = await promise;
  return {
    ...{ near, far },
    [Symbol.dispose]() {
      near.cut();
      listener.stop(true);
      folder[Symbol.dispose]();
    },
  };
}

const MAX = 64 * 1_048_576;

test("lines arrive as they were sent, in order, whatever is in them", async () => {
  using ends = await pair();
  const line = fc.string({ unit: "binary", maxLength: 200 }).map((text) => JSON.stringify(text));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      for (const one of lines) void ends.near.send(one);
      for (const one of lines) expect(await ends.far.next(MAX)).toBe(one);
    }),
  );
});

test("a line of many megabytes arrives whole", async () => {
  using ends = await pair();
  const line = "ä".repeat(8_000_000);
  const sent = ends.near.send(line);
  expect((await ends.far.next(MAX)) === line).toBe(true);
  await sent;
});

test("who sends waits for who reads", async () => {
  using ends = await pair();
  const line = "x".repeat(1_000_000);
  let sent = 0;
  const sending = (async () => {
    for (let nth = 0; nth < 20; nth++) {
      await ends.near.send(line);
      sent++;
    }
  })();
  expect(await ends.far.next(MAX)).toHaveLength(line.length);
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toBeLessThan(10);
  for (let nth = 1; nth < 20; nth++) expect(await ends.far.next(MAX)).toHaveLength(line.length);
  await sending;
});

test("all that was sent before the end arrives", async () => {
  using ends = await pair();
  void ends.near.send("x".repeat(5_000_000));
  void ends.near.send("last");
  ends.near.end();
  expect(await ends.far.next(MAX)).toHaveLength(5_000_000);
  expect(await ends.far.next(MAX)).toBe("last");
  expect(await ends.far.next(MAX)).toBeUndefined();
  await ends.far.closed;
});

test("of many short lines, those alone are taken apart that somebody takes", async () => {
  using folder = temporaryFolder();
  const { promise, resolve } = Promise.withResolvers<LineConnection>();
  const path = join(folder.path, "svc.sock");
  using _listener = listenForLines(path, resolve);
  const lines = Buffer.alloc(1_000_000, "\n");
  await Bun.connect({ unix: path, socket: { open: (socket) => void socket.write(lines), data() {} } });
  const far = await promise;
  const before = usedMs();
  for (let nth = 0; nth < 10; nth++) expect(await far.next(MAX)).toBe("");
  // Each of them as text of its own takes some 200 ms.
  expect(usedMs() - before).toBeLessThan(75);
  far.cut();
});

test("a line that is too long ends the connection", async () => {
  using ends = await pair();
  void ends.near.send("x".repeat(5_000));
  await expect(ends.far.next(4_096)).rejects.toMatchObject({ code: "too_large" });
  await ends.near.closed;
});

test("a line that is too long and never ends takes no memory", async () => {
  using ends = await pair();
  const sending = ends.near.send("x".repeat(50_000_000));
  await expect(ends.far.next(4_096)).rejects.toMatchObject({ code: "too_large" });
  await sending;
});

test("nobody who listens is the error of the system", async () => {
  using folder = temporaryFolder();
  await expect(connectForLines(join(folder.path, "none.sock"))).rejects.toMatchObject({ code: "ENOENT" });
});

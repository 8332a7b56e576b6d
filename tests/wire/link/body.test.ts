/** Bodies in pieces: what is received is what was sent, and no more waits to be sent than may. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Outlet, Receiver, Sender } from "../../../src/wire/link/body";
import { PIECE_BYTES, WINDOW_BYTES } from "../../../src/wire/link/frames";

test("a body is received as it was sent, however its pieces come and are read", async () => {
  const sizes = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) },
    fc.integer({ min: 1, max: PIECE_BYTES }),
  );
  const step = fc.oneof(
    fc.record({ push: sizes, times: fc.integer({ min: 1, max: 80 }) }),
    fc.record({ next: fc.integer({ min: 1, max: 80 }) }),
  );
  const run = async (steps: ReadonlyArray<{ push: number; times: number } | { next: number }>) => {
    let credit = WINDOW_BYTES;
    const receiver = new Receiver((bytes) => {
      credit += bytes;
    });
    let [sent, read] = [0, 0];
    const next = async () => {
      const piece = (await receiver.next()) ?? new Uint8Array();
      // Each byte says where it belongs: 251 divides no size of a piece or window.
      expect(piece.every((byte, at) => byte === (read + at) % 251)).toBe(true);
      read += piece.length;
    };
    for (const one of steps) {
      if ("next" in one) for (let nth = 0; nth < one.next && read < sent; nth++) await next();
      else
        for (let nth = 0; nth < one.times && one.push <= credit; nth++) {
          const from = sent;
          expect(receiver.push(Uint8Array.from({ length: one.push }, (_, at) => (from + at) % 251))).toBe(
            true,
          );
          sent += one.push;
          credit -= one.push;
        }
    }
    while (read < sent) await next();
    receiver.finish();
    expect([await receiver.next(), read]).toEqual([undefined, sent]);
  };
  await run([{ push: 1, times: 65 }, { next: 2 }, { push: 1, times: 2 }]);
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 20 }), run), { numRuns: 100 });
});

test("of many bodies that wait for one link, no more is sent at once than it has room for", async () => {
  const room = 4 * PIECE_BYTES;
  const [bodies, each] = [40, 3 * PIECE_BYTES];
  let [unsent, most, all] = [0, 0, 0];
  let waiting: Array<() => void> = [];
  const outlet: Outlet = {
    send({ length }) {
      unsent += length;
      all += length - 4;
      most = Math.max(most, unsent);
    },
    ready() {
      if (unsent < room) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      return promise;
    },
  };
  const senders = Array.from({ length: bodies }, (_, id) => new Sender(id, outlet));
  const sent = senders.map((sender) => sender.write(new Uint8Array(each)));
  for (; all < bodies * each; await Bun.sleep(0)) {
    unsent = 0;
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  }
  expect(await Promise.all(sent)).toEqual(senders.map(() => true));
  expect(most).toBeLessThanOrEqual(room + PIECE_BYTES);
});

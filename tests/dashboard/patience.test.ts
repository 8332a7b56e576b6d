/** How long a page waits for an answer: until it begins, and then between its parts. */
import { expect, spyOn, test } from "bun:test";
import { resolve } from "node:path";

/** A wait for an answer, and what ends the time that runs. */
async function patience() {
  let over = new AbortController();
  const clock = spyOn(AbortSignal, "timeout").mockImplementation(() => {
    over = new AbortController();
    return over.signal;
  });
  const { Patience, fileOf } = await import(resolve("dashboard/patience.js"));
  return {
    made: new Patience(75_000),
    fileOf,
    timeIsOver: () => over.abort(),
    [Symbol.dispose]: () => clock.mockRestore(),
  };
}

test("an answer that does not begin is given up when its time is over", async () => {
  using wait = await patience();
  const { made, timeIsOver } = wait;
  expect(made.signal.aborted).toBe(false);
  timeIsOver();
  expect(made.signal.aborted).toBe(true);
  expect(made.error().message).toBe("No answer after 75 s.");
});

test("a file goes on for any time while parts of it come, and is given up when none does", async () => {
  using wait = await patience();
  const { made, timeIsOver, fileOf } = wait;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const type = "application/zip";
  let came = Promise.withResolvers<void>();
  const file: Promise<Blob> = fileOf(new Response(readable, { headers: { "content-type": type } }), () => {
    made.heard();
    came.resolve();
  });
  for (let nth = 0; nth < 10; nth++) {
    void writer.write(Uint8Array.of(nth));
    await came.promise;
    came = Promise.withResolvers();
    timeIsOver();
    expect(made.signal.aborted).toBe(false);
  }
  timeIsOver();
  expect(made.signal.aborted).toBe(true);
  expect(made.error().message).toBe("The answer stopped: nothing more came for 75 s.");
  void writer.close();
  const whole = await file;
  expect([whole.type, [...(await whole.bytes())]]).toEqual([type, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
});

/** Answers that report things as they happen. */
import { expect, test } from "bun:test";
import { streamLines } from "../../src/lib/ndjson";
import { nextTurn } from "../support";

test("each value is its own line, sent at once", async () => {
  const ended = Promise.withResolvers<void>();
  let report: (value: unknown) => void = () => {};
  const response = await streamLines((given) => {
    report = given;
    return { begun: Promise.resolve(), ended: ended.promise };
  });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  report({ text: "line\nbreak" });
  expect((await reader?.read())?.value).toBe('{"text":"line\\nbreak"}\n');
  report(2);
  expect((await reader?.read())?.value).toBe("2\n");
  ended.resolve();
  expect((await reader?.read())?.done).toBe(true);
});

test("work that cannot begin throws instead of answering", async () => {
  const refused = Promise.reject(new Error("no"));
  await expect(streamLines(() => ({ begun: refused, ended: refused }))).rejects.toThrow("no");
});

test("when the client hangs up, the work is aborted", async () => {
  const gone = Promise.withResolvers<void>();
  const response = await streamLines((_tell, signal) => {
    signal.addEventListener("abort", () => gone.resolve());
    return { begun: Promise.resolve(), ended: gone.promise };
  });
  await response.body?.cancel();
  await gone.promise;
});

test("work that breaks off breaks off the answer", async () => {
  const ended = Promise.withResolvers<void>();
  const response = await streamLines(() => ({ begun: Promise.resolve(), ended: ended.promise }));
  const text = response.text();
  ended.reject(new Error("bug"));
  await expect(text).rejects.toThrow();
});

test("a value is made to text when its reader has taken those before it", async () => {
  const ended = Promise.withResolvers<void>();
  const made: number[] = [];
  const taken: number[] = [];
  const value = (nth: number) => ({
    toJSON() {
      made.push(nth);
      return "x".repeat(1_000);
    },
  });
  const response = await streamLines((send) => {
    for (let nth = 0; nth < 20; nth++) void send(value(nth)).then(() => taken.push(nth));
    return { begun: Promise.resolve(), ended: ended.promise };
  });
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect(made.length).toBeLessThan(6);
  ended.resolve();
  expect((await response.text()).trim().split("\n")).toHaveLength(20);
  expect(taken).toHaveLength(20);
});

/** A child process and its parent: calls, failures, events, and every way to end. */
import { describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import * as v from "valibot";
import { NOTHING, type Protocol, startChild } from "../../src/lib/child";
import type { Log } from "../../src/lib/log";

const source = (module: string) => JSON.stringify(join(import.meta.dir, "../../src/lib", module));

interface Calls {
  add(a: number, b: number): number;
  fail(code: "bad_input" | "untouched" | "busy" | "bug"): never;
  announce(text: string): void;
  crash(): never;
  hang(): never;
  /** Sends messages of its own instead of an answer. */
  sendRaw(...messages: unknown[]): string;
}

interface Events {
  announced(text: string): void;
}

const PROTOCOL: Protocol<Calls, Events> = {
  answers: {
    ...{ add: v.number(), fail: v.never(), crash: v.never(), hang: v.never() },
    ...{ announce: NOTHING, sendRaw: v.string() },
  },
  events: { announced: v.tuple([v.string()]) },
};

const PROGRAM = `
  import { serveParent } from ${source("child")};
  import { badInput, busy, untouched } from ${source("errors")};
  await serveParent(({ announced }) => ({
    add: (a, b) => a + b,
    fail(code) {
      if (code === "bug") throw new TypeError("a bug");
      if (code === "busy") throw busy("too many calls");
      throw code === "untouched" ? untouched("it cannot") : badInput("x: wrong");
    },
    announce: (text) => announced(text),
    crash() { console.error("last words"); process.exit(7); },
    hang() { for (;;); },
    sendRaw(...messages) {
      for (const message of messages) process.send(message);
      return new Promise(() => {});
    },
  }), () => console.error("left"));`;

function start(announced: Events["announced"] = () => {}) {
  const warnings: string[] = [];
  const log: Log = { info() {}, warn: (text) => void warnings.push(text), error() {} };
  const command = [process.execPath, "-e", PROGRAM];
  return {
    warnings,
    child: startChild<Calls, Events>({
      ...{ command, what: "the helper", log, protocol: PROTOCOL },
      events: { announced },
    }),
  };
}

test("a method answers its caller, several at a time", async () => {
  await using child = start().child;
  const { add } = child.calls();
  expect(await Promise.all([add(1, 2), add(3, 4)])).toEqual([3, 7]);
});

test("a failure keeps its code, its message, whether nothing was done and another way may be tried; a bug keeps its stack", async () => {
  await using child = start().child;
  await expect(child.calls().fail("bad_input")).rejects.toMatchObject({
    code: "bad_input",
    message: "x: wrong",
    hasDoneNothing: false,
    isUntouched: false,
  });
  await expect(child.calls().fail("untouched")).rejects.toMatchObject({
    code: "unavailable",
    hasDoneNothing: true,
    isUntouched: true,
  });
  await expect(child.calls().fail("busy")).rejects.toMatchObject({
    hasDoneNothing: true,
    isUntouched: false,
  });
  const bug = await child
    .calls()
    .fail("bug")
    .catch((error: Error) => error);
  expect(bug).toMatchObject({ message: "TypeError: a bug", stack: expect.stringContaining("at ") });
  expect(bug).not.toHaveProperty("code");
});

test("an event arrives before the answer to the call that caused it", async () => {
  const texts: string[] = [];
  await using child = start((text) => texts.push(text)).child;
  await child.calls().announce("hello");
  expect(texts).toEqual(["hello"]);
});

test("a child that crashes fails the calls that wait, and its last words are logged", async () => {
  const { child, warnings } = start();
  await expect(child.calls().crash()).rejects.toThrow("the helper ended with code 7 during the call");
  await expect(child.calls().add(1, 2)).rejects.toThrow("the helper has ended");
  await child.kill();
  expect(warnings).toEqual(["the helper ended with code 7: last words"]);
});

test("a child that does not answer in time is killed", async () => {
  const { child, warnings } = start();
  await child.calls().add(1, 2);
  await expect(child.calls(50).hang()).rejects.toMatchObject({ code: "timeout" });
  expect([child.ended(), warnings]).toEqual([true, []]);
});

test("a child that is asked to end does so by itself, and that is no crash", async () => {
  const { child, warnings } = start();
  await child.calls().add(1, 2);
  await child.leave();
  expect([child.ended(), warnings]).toEqual([true, []]);
});

describe("a child that was taken over is killed, and the parent goes on", () => {
  const MESSAGES: Readonly<Record<string, unknown>> = {
    "no object": 7,
    nothing: null,
    "a list": [],
    "no known message": { hello: 1 },
    "an event that there is not": { event: "toString", args: [] },
    "an event with other arguments": { event: "announced", args: [{ length: 1 }] },
    "an answer of another form": { id: 1, answer: { __proto__: null, text: 1 } },
    "a failure of an unknown kind": { id: 1, code: "constructor", message: "x" },
    "a failure with a megabyte of text": { id: 1, code: "bad_input", message: "x".repeat(1_000_000) },
  };
  for (const [what, message] of Object.entries(MESSAGES)) {
    test(`when it sends ${what}`, async () => {
      const texts: string[] = [];
      const { child, warnings } = start((text) => texts.push(text));
      const later = { event: "announced", args: ["later"] };
      await expect(child.calls().sendRaw(message, later)).rejects.toThrow("the helper was killed by SIGKILL");
      expect([texts, warnings[0]]).toEqual([[], expect.stringContaining("the helper sent what it must not")]);
    });
  }

  test("when it sends without end", async () => {
    // All within one second.
    using _now = spyOn(performance, "now").mockReturnValue(performance.now());
    await using child = start().child;
    const { sendRaw } = child.calls();
    const messages = Array.from({ length: 60_000 }, () => ({ event: "announced", args: [""] }));
    await expect(sendRaw(...messages)).rejects.toThrow("the helper was killed by SIGKILL");
  });
});

import { describe, expect, test } from "bun:test";
import { deadline, resolvesWithin, sleep } from "../../src/lib/deadline";
import { cancelled } from "../../src/lib/errors";

const never = new Promise<never>(() => {});

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners++;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    listeners--;
    remove(...given);
  };
  return { controller, signal, listeners: () => listeners };
}

describe("a promise with a deadline", () => {
  test("gives its result when it resolves first, and leaves no listener", async () => {
    const { signal, listeners } = countedSignal();
    expect(await deadline(Promise.resolve(7), { ms: 60_000, signal })).toBe(7);
    expect(listeners()).toBe(0);
  });

  test("passes its own failure on", async () => {
    await expect(deadline(Promise.reject(new Error("own")), { ms: 60_000 })).rejects.toThrow("own");
  });

  test("fails with a timeout when the time is up first", async () => {
    await expect(deadline(never, { ms: 1 })).rejects.toMatchObject({
      code: "timeout",
      message: "no answer within 0.001 s",
    });
  });

  test("fails with the failure that its caller names, or gives the value", async () => {
    await expect(deadline(never, { ms: 1, late: () => cancelled("too late") })).rejects.toThrow("too late");
    const late = () => {
      throw cancelled("later still");
    };
    await expect(deadline(never, { ms: 1, late })).rejects.toThrow("later still");
    expect(await deadline(never, { ms: 1, late: () => "instead" })).toBe("instead");
  });

  test("fails with the signal's reason, or the failure that its caller names, and leaves no listener", async () => {
    const { controller, signal, listeners } = countedSignal();
    const waiting = deadline(never, { signal });
    controller.abort(new Error("called off"));
    await expect(waiting).rejects.toThrow("called off");
    expect(listeners()).toBe(0);
    const aborted = () => cancelled("in other words");
    await expect(deadline(never, { signal, aborted })).rejects.toThrow("in other words");
    await expect(sleep(60_000, signal, aborted)).rejects.toThrow("in other words");
  });

  test("may still resolve in the grace after the signal, and no later", async () => {
    const signal = AbortSignal.abort(new Error("called off"));
    const { promise, resolve } = Promise.withResolvers<string>();
    const waiting = deadline(promise, { signal, graceMs: 60_000 });
    resolve("in time");
    expect(await waiting).toBe("in time");
    await expect(deadline(never, { signal, graceMs: 1 })).rejects.toThrow("called off");
  });

  test("that rejects after its deadline is no unhandled rejection", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    await expect(deadline(promise, { ms: 1 })).rejects.toThrow("no answer");
    reject(new Error("nobody listens"));
  });
});

test("says whether a promise resolves within a time, and passes its failure on", async () => {
  expect(await resolvesWithin(60_000, Promise.resolve())).toBe(true);
  expect(await resolvesWithin(1, never)).toBe(false);
  await expect(resolvesWithin(60_000, Promise.reject(new Error("own")))).rejects.toThrow("own");
});

test("a sleep ends by itself or with the signal", async () => {
  await sleep(1, new AbortController().signal);
  await expect(sleep(60_000, AbortSignal.abort(new Error("woken")))).rejects.toThrow("woken");
});

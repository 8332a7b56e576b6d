import { describe, expect, test } from "bun:test";
import { createSharing } from "../../src/lib/share";

/** Shared work that counts how often it began, and ends when the test says so. */
function counted() {
  const shared = createSharing<number>();
  const begun: AbortSignal[] = [];
  const end = Promise.withResolvers<number>();
  const work = (signal: AbortSignal) => {
    begun.push(signal);
    return end.promise;
  };
  return { begun, end, ask: (key: string, signal?: AbortSignal) => shared(key, work, signal) };
}

describe("work under way", () => {
  test("is shared by those who ask for the same, and by nobody else", async () => {
    const { begun, end, ask } = counted();
    const asked = [ask("a"), ask("a"), ask("b")];
    end.resolve(7);
    expect(await Promise.all(asked)).toEqual([7, 7, 7]);
    expect(begun.length).toBe(2);
  });

  test("begins anew for those who ask after its end", async () => {
    const { begun, end, ask } = counted();
    end.resolve(7);
    await ask("a");
    await ask("a");
    expect(begun.length).toBe(2);
  });

  test("goes on for the others when one has gone", async () => {
    const { begun, end, ask } = counted();
    const gone = new AbortController();
    const [leaves, stays] = [ask("a", gone.signal), ask("a")];
    gone.abort(new Error("gone"));
    await expect(leaves).rejects.toThrow("gone");
    expect(begun[0]?.aborted).toBe(false);
    end.resolve(7);
    expect(await stays).toBe(7);
  });

  test("is cut off when all have gone, and is joined by nobody any longer", async () => {
    const { begun, end, ask } = counted();
    const gone = new AbortController();
    const asked = Promise.allSettled([ask("a", gone.signal), ask("a", gone.signal)]);
    gone.abort();
    await asked;
    expect(begun[0]?.aborted).toBe(true);
    const next = ask("a");
    end.resolve(7);
    expect(await next).toBe(7);
    expect(begun.length).toBe(2);
  });

  test("that fails does so for each who waits", async () => {
    const { end, ask } = counted();
    const asked = Promise.allSettled([ask("a"), ask("a")]);
    end.reject(new Error("no"));
    expect((await asked).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

import { expect, test } from "bun:test";
import { lazily, withMade } from "../../src/lib/once";

test("what is made at the first call is kept, and made again where that failed", () => {
  const made: string[] = [];
  const value = lazily(() => {
    made.push("made");
    if (made.length === 1) throw new Error("not yet");
    return undefined;
  });
  expect(made).toEqual([]);
  expect(value).toThrow("not yet");
  expect(value()).toBeUndefined();
  expect(value()).toBeUndefined();
  expect(made).toEqual(["made", "made"]);
});

test("what is made already is used at once", async () => {
  const made = Promise.resolve(20);
  expect(withMade(made, (value) => value + 1)).toBe(21);
});

test("what is being made is waited for", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const used = withMade(promise, (value) => value + 1);
  expect(used).toBeInstanceOf(Promise);
  resolve(20);
  expect(await used).toBe(21);
});

test("what could not be made is not used", async () => {
  const failed = Promise.reject<number>(new Error("not made"));
  await expect(Promise.resolve(withMade(failed, (value) => value + 1))).rejects.toThrow("not made");
});

import { expect, test } from "bun:test";
import { withMade } from "../../src/lib/once";

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

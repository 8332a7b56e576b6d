import { expect, test } from "bun:test";
import { Held } from "../../src/desktop/pressed-keys";
import { badInput, cancelled, timedOut } from "../../src/lib/errors";

const [shift, left] = [{ key: "shift" }, { button: "left" }] as const;
const done = async () => {};

test("what was pressed is held until it is released, the last first", async () => {
  const held = new Held();
  await held.during([shift], true, done);
  await held.during([left], true, done);
  await held.during([{ key: "a" }], false, done);
  expect(held.takeAll()).toEqual([left, shift]);
  expect(held.takeAll()).toEqual([]);
  await held.during([shift], true, done);
  await held.during([shift], false, done);
  expect(held.takeAll()).toEqual([]);
});

test("all of it is released, also when one cannot be", async () => {
  const held = new Held();
  await held.during([shift, { key: "f24" }], true, done);
  await held.during([left], true, done);
  expect(held.isDown()).toBe(true);
  const released: string[] = [];
  await held.letGo({
    async strike([key = ""], stroke) {
      released.push(`${stroke} ${key}`);
      if (key === "f24") throw new Error("no such key");
    },
    async click(_target, button, stroke) {
      released.push(`${stroke} ${button}`);
      return { x: 0, y: 0 };
    },
  });
  expect(released).toEqual(["release left", "release f24", "release shift"]);
  expect(held.isDown()).toBe(false);
});

test("what is let go while it is being pressed is not down", async () => {
  const held = new Held();
  const { promise: pressed, resolve: press } = Promise.withResolvers<void>();
  const pressing = held.during([shift], true, () => pressed);
  expect(held.takeAll()).toEqual([shift]);
  press();
  await pressing;
  expect(held.isDown()).toBe(false);
});

test("a stroke that broke may have left its keys down, one that was never made has not", async () => {
  const held = new Held();
  const failing = (error: Error) => () => Promise.reject(error);
  await expect(held.during([shift], false, failing(timedOut("hung")))).rejects.toThrow("hung");
  expect(held.isDown()).toBe(false);
  expect(held.takeAll()).toEqual([shift]);
  for (const error of [cancelled("gone"), badInput("outside")]) {
    await expect(held.during([left], false, failing(error))).rejects.toThrow(error.message);
  }
  expect(held.takeAll()).toEqual([]);
  await held.during([left], true, done);
  await expect(held.during([left], false, failing(cancelled("gone")))).rejects.toThrow("gone");
  expect(held.takeAll()).toEqual([left]);
});

import { expect, test } from "bun:test";
import { PressedKeys } from "../../../src/host/desktop/pressed-keys";
import { badInput, cancelled, timedOut } from "../../../src/lib/errors";

const [shift, left] = [{ key: "shift" }, { button: "left" }] as const;
const done = async () => {};

test("what was pressed is pressed until it is released, the last first", async () => {
  const pressed = new PressedKeys();
  await pressed.during([shift], true, done);
  await pressed.during([left], true, done);
  await pressed.during([{ key: "a" }], false, done);
  expect(pressed.takeAll()).toEqual([left, shift]);
  expect(pressed.takeAll()).toEqual([]);
  await pressed.during([shift], true, done);
  await pressed.during([shift], false, done);
  expect(pressed.takeAll()).toEqual([]);
});

test("all of it is released, also when one cannot be", async () => {
  const pressed = new PressedKeys();
  await pressed.during([shift, { key: "f24" }], true, done);
  await pressed.during([left], true, done);
  expect(pressed.isDown()).toBe(true);
  const released: string[] = [];
  await pressed.releaseAll({
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
  expect(pressed.isDown()).toBe(false);
});

test("a key released while it is being pressed is not down", async () => {
  const pressed = new PressedKeys();
  const { promise: struck, resolve: strike } = Promise.withResolvers<void>();
  const pressing = pressed.during([shift], true, () => struck);
  expect(pressed.takeAll()).toEqual([shift]);
  strike();
  await pressing;
  expect(pressed.isDown()).toBe(false);
});

test("a stroke that broke may have left its keys down, one that was never made has not", async () => {
  const pressed = new PressedKeys();
  const failing = (error: Error) => () => Promise.reject(error);
  await expect(pressed.during([shift], false, failing(timedOut("hung")))).rejects.toThrow("hung");
  expect(pressed.isDown()).toBe(false);
  expect(pressed.takeAll()).toEqual([shift]);
  for (const error of [cancelled("gone"), badInput("outside")]) {
    await expect(pressed.during([left], false, failing(error))).rejects.toThrow(error.message);
  }
  expect(pressed.takeAll()).toEqual([]);
  await pressed.during([left], true, done);
  await expect(pressed.during([left], false, failing(cancelled("gone")))).rejects.toThrow("gone");
  expect(pressed.takeAll()).toEqual([left]);
});

/**
 * The desktop of an X server, over its own protocol: no shared library of the host is needed.
 */
import type { Backend, BackendEvents, Button, Direction, Target } from "../backend";
import { assertOn } from "../geometry";
import { createClipboard } from "./clipboard";
import { connect, type XConnection } from "./connection";
import { createKeyboard } from "./keyboard";
import { createScreen, rootPlace } from "./screen";
import { createWindows } from "./windows";

/**
 * @param events.lost called when the server has gone; the backend is of no use then.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function createX11Backend({ lost, clipboard: owns }: BackendEvents): Promise<Backend> {
  const connection = await connect(process.env, lost);
  const { close: giveUp, ...clipboard } = createClipboard(owns);
  const { restore, ...keyboard } = createKeyboard(connection);
  return {
    ...createScreen(connection),
    ...createPointer(connection),
    ...keyboard,
    ...createWindows(connection),
    ...clipboard,
    async close() {
      await restore();
      giveUp();
      connection.close();
    },
  };
}

/** Button numbers (X11/X.h); a wheel's steps are clicks of buttons 4 to 7, opposite directions one apart. */
const BUTTONS: Record<Button, number> = { left: 1, middle: 2, right: 3 };
const WHEEL: Record<Direction, number> = { up: 4, down: 5, left: 6, right: 7 };

function createPointer(connection: XConnection): Pick<Backend, "pointer" | "move" | "click" | "scroll"> {
  const { test, screen, need, settled } = connection;
  const pointer = async () => {
    const { rootX, rootY } = await need.QueryPointer(screen.root);
    return { x: rootX, y: rootY };
  };
  const go = async (target: Target) => {
    if (target.x === undefined && target.y === undefined) return;
    const now = await pointer();
    const { x = now.x, y = now.y } = target;
    assertOn(await rootPlace(connection), { x, y });
    test.FakeInput(test.MotionNotify, 0, 0, screen.root, x, y);
  };
  const press = (button: number) => test.FakeInput(test.ButtonPress, button, 0, screen.root, 0, 0);
  const release = (button: number) => test.FakeInput(test.ButtonRelease, button, 0, screen.root, 0, 0);
  const settledAt = async () => {
    await settled();
    return pointer();
  };
  return {
    pointer,
    async move(target) {
      await go(target);
      return settledAt();
    },
    async click(target, button, stroke) {
      await go(target);
      if (stroke !== "release") press(BUTTONS[button]);
      if (stroke !== "press") release(BUTTONS[button]);
      return settledAt();
    },
    async scroll(target, direction, steps) {
      await go(target);
      const button = steps < 0 ? WHEEL[direction] ^ 1 : WHEEL[direction];
      for (let step = 0; step < Math.abs(steps); step++) {
        press(button);
        release(button);
      }
      return settledAt();
    },
  };
}

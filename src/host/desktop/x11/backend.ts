/**
 * The desktop of an X server, over its own protocol: no shared library of the host is needed.
 */
import type { Backend, BackendEvents, Button, Direction, Target } from "../backend";
import { assertOn } from "../geometry";
import { createClipboard } from "./clipboard";
import { connect, type XConnection } from "./connection";
import { createKeyboard } from "./keyboard";
import { createScreen, rootPlace } from "./screen";
import { watchX11 } from "./watch";
import { watchX11Windows } from "./window-watch";
import { createWindows } from "./windows";
import { isXwayland } from "./xwayland";

/** What Xwayland does not show. */
const ONLY_X_PROGRAMS = "windows but those of X programs (it is Xwayland: set WAYLAND_DISPLAY)";

/**
 * @param events.lost called when the server has gone; the backend is of no use then.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function createX11Backend({ lost, clipboard: owns }: BackendEvents): Promise<Backend> {
  const connection = await connect(process.env, lost);
  const { close: giveUp, ...clipboard } = createClipboard(owns);
  const { restore, ...keyboard } = createKeyboard(connection);
  return {
    session: async () => ({
      system: "x11",
      name: process.env.DISPLAY ?? "",
      way: "",
      lacks: (await isXwayland(connection)) ? [ONLY_X_PROGRAMS] : [],
    }),
    ...createScreen(connection),
    ...createPointer(connection),
    ...keyboard,
    ...createWindows(connection),
    ...clipboard,
    watch: (events) => watchX11(process.env, events),
    watchWindows: () => watchX11Windows(process.env),
    async close() {
      await restore();
      giveUp();
      connection.close();
    },
  };
}

/** How many buttons an RFB viewer has (RFC 6143, section 7.5.5). */
const RFB_BUTTONS = 8;
/** The mask of button 1 in a pointer's state; those of buttons 2 to 5 follow (X11/X.h). */
const BUTTON_1_MASK = 1 << 8;
const MASKED_BUTTONS = 5;
/** Button numbers (X11/X.h); a wheel's steps are clicks of buttons 4 to 7, opposite directions one apart. */
const BUTTONS: Record<Button, number> = { left: 1, middle: 2, right: 3 };
const WHEEL: Record<Direction, number> = { up: 4, down: 5, left: 6, right: 7 };

function createPointer(
  connection: XConnection,
): Pick<Backend, "pointer" | "keysDown" | "move" | "click" | "scroll" | "point" | "liftAll"> {
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
  /** The keycodes that are down (X Window System Protocol, QueryKeymap). */
  const keycodesDown = async () => {
    const keys = await need.QueryKeymap();
    return Array.from({ length: keys.length * 8 }, (_, keycode) => keycode).filter(
      (keycode) => ((keys[keycode >> 3] ?? 0) >> (keycode & 7)) & 1,
    );
  };
  return {
    pointer,
    keysDown: async () => (await keycodesDown()).length,
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
    async liftAll() {
      const [keycodes, { keyMask }] = await Promise.all([keycodesDown(), need.QueryPointer(screen.root)]);
      for (const keycode of keycodes) test.FakeInput(test.KeyRelease, keycode, 0, screen.root, 0, 0);
      for (let nth = 0; nth < MASKED_BUTTONS; nth++) if (keyMask & (BUTTON_1_MASK << nth)) release(nth + 1);
      await settled();
    },
    /** RFB numbers its buttons as X does. */
    async point({ x, y }, buttons, before) {
      test.FakeInput(test.MotionNotify, 0, 0, screen.root, x, y);
      for (let nth = 0; nth < RFB_BUTTONS; nth++) {
        if (!(((buttons ^ before) >> nth) & 1)) continue;
        if ((buttons >> nth) & 1) press(nth + 1);
        else release(nth + 1);
      }
      // One round trip each: a flood goes no faster than the server.
      await settled();
    },
  };
}

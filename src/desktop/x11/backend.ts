/**
 * The desktop of an X server, spoken to in its own protocol: no shared library of the host is needed.
 */
import type { Backend } from "../backend";
import { connect } from "./connection";
import { Keyboard } from "./keyboard";
import { clickButton, movePointer, pointerAt, turnWheel } from "./pointer";
import { captureRoot, monitorsOf, rootPlace } from "./screen";
import { focusWindow, listWindows } from "./windows";

/**
 * @param lost called when the server has gone; the backend is of no use then.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function createX11Backend(lost: () => void): Promise<Backend> {
  const connection = await connect(process.env, lost);
  const keyboard = new Keyboard(connection);
  return {
    desktop: () => rootPlace(connection),
    monitors: () => monitorsOf(connection),
    pointer: () => pointerAt(connection),
    move: (target) => movePointer(connection, target),
    click: (target, button, stroke) => clickButton(connection, target, button, stroke),
    scroll: (target, direction, steps) => turnWheel(connection, target, direction, steps),
    strike: (keys, stroke) => keyboard.strike(keys, stroke),
    type: (text) => keyboard.type(text),
    capture: (region) => captureRoot(connection, region),
    windows: () => listWindows(connection),
    focus: (hwnd) => focusWindow(connection, hwnd),
    async close() {
      await keyboard.close();
      connection.close();
    },
  };
}

/**
 * What pointers have in common: moves by one coordinate, clicks, and the buttons of a viewer.
 */
import type { Backend, Button, Direction, Target } from "./backend";
import type { Point } from "./geometry";

/** The buttons of an RFB viewer by their bits (RFC 6143, section 7.5.5); after them, the wheel. */
const RFB_BUTTONS: readonly Button[] = ["left", "middle", "right"];
const RFB_WHEEL: readonly Direction[] = ["up", "down", "left", "right"];

/** `linux/input-event-codes.h`: BTN_LEFT, BTN_MIDDLE, BTN_RIGHT. */
export const BUTTON_CODES: Record<Button, number> = { left: 0x110, right: 0x111, middle: 0x112 };
/** The axis of a wheel (`wl_pointer.axis`), and which way it goes. */
export const AXES: Record<Direction, readonly [axis: 0 | 1, way: 1 | -1]> = {
  ...{ up: [0, -1], down: [0, 1], left: [1, -1], right: [1, 1] },
};

/** What a device does for a pointer. */
export interface Strokes {
  press(button: Button, isDown: boolean): Promise<void>;
  /** @param steps how many notches; a negative number turns the wheel the other way. */
  turn(direction: Direction, steps: number): Promise<void>;
}

/** What a pointer is made of. */
export interface PointerParts extends Strokes, Pick<Backend, "pointer"> {
  goTo(at: Point): Promise<void>;
  /** Resolves when what was sent has been processed, with where the pointer is. */
  settled(): Promise<Point>;
  /** The buttons that are down, as the pointer keeps them. */
  readonly down: Set<Button>;
}

/** A pointer. */
export type Pointer = Pick<Backend, "pointer" | "move" | "click" | "scroll" | "point"> & {
  /** Releases all buttons that are down. */
  lift(): Promise<void>;
};

/** A pointer of these parts. */
export function pointerOf({ pointer, goTo, settled, turn, down, ...device }: PointerParts): Pointer {
  const go = async ({ x, y }: Target) => {
    if (x === undefined && y === undefined) return;
    if (x !== undefined && y !== undefined) return goTo({ x, y });
    const now = await pointer();
    await goTo({ x: x ?? now.x, y: y ?? now.y });
  };
  const press = async (button: Button, isDown: boolean) => {
    await device.press(button, isDown);
    if (isDown) down.add(button);
    else down.delete(button);
  };
  return {
    pointer,
    async move(target) {
      await go(target);
      return settled();
    },
    async click(target, button, stroke) {
      await go(target);
      if (stroke !== "release") await press(button, true);
      if (stroke !== "press") await press(button, false);
      return settled();
    },
    async scroll(target, direction, steps) {
      await go(target);
      await turn(direction, steps);
      return settled();
    },
    async point(at, buttons, before) {
      await goTo(at);
      await changeButtons(buttons, before, { press, turn });
    },
    async lift() {
      for (const button of [...down]) await press(button, false);
    },
  };
}

/** Does what a viewer's buttons do. @param buttons the bits of those that are down. @param before of those that were. */
export async function changeButtons(
  buttons: number,
  before: number,
  { press, turn }: Strokes,
): Promise<void> {
  for (const [nth, button] of RFB_BUTTONS.entries()) {
    if (((buttons ^ before) >> nth) & 1) await press(button, ((buttons >> nth) & 1) === 1);
  }
  for (const [nth, direction] of RFB_WHEEL.entries()) {
    if (((buttons & ~before) >> (nth + RFB_BUTTONS.length)) & 1) await turn(direction, 1);
  }
}

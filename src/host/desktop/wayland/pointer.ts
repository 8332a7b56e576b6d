/**
 * The pointer of a Wayland compositor, through a virtual one (wlr-virtual-pointer).
 */
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, Button, Direction, Target } from "../backend";
import { assertOn, type Point, sizeOf } from "../geometry";
import type { WaylandConnection } from "./connection";
import { boundsOf, type Outputs } from "./outputs";
import { findPointer } from "./pointer-place";
import { outputsOn } from "./screen";
import { eventTime, type Seat } from "./seat";

const MANAGER = "zwlr_virtual_pointer_manager_v1";
/** `linux/input-event-codes.h`: BTN_LEFT, BTN_MIDDLE, BTN_RIGHT. */
const BUTTONS: Record<Button, number> = { left: 0x110, right: 0x111, middle: 0x112 };
/** The buttons of an RFB viewer by their bits (RFC 6143, section 7.5.5); after them, the wheel. */
const RFB_BUTTONS: readonly Button[] = ["left", "middle", "right"];
const RFB_WHEEL: readonly Direction[] = ["up", "down", "left", "right"];
/** `wl_pointer.axis_source.wheel`; `wl_pointer.axis`; how far one notch goes, as libinput has it. */
const SOURCE_WHEEL = 0;
const AXES: Record<Direction, readonly [axis: number, way: 1 | -1]> = {
  ...{ up: [0, -1], down: [0, 1], left: [1, -1], right: [1, 1] },
};
const NOTCH = 15;

type Pointer = Pick<Backend, "pointer" | "move" | "click" | "scroll" | "point"> & {
  /** Releases all buttons that are down. */
  lift(): Promise<void>;
};

export function createPointer(
  connection: WaylandConnection,
  outputs: Outputs,
  seat: () => Promise<Seat>,
): Pointer {
  const device = once(async () => {
    const manager = connection.bind(MANAGER);
    if (!manager) throw connection.lacks(MANAGER, "the pointer cannot be moved");
    const opened = await seat();
    return opened.adding("pointer", () => manager.make("create_virtual_pointer", opened.object.id));
  });
  const down = new Set<Button>();
  /** Where it was put last. A compositor tells nobody, so what a person does since is not known. */
  let last: Point | undefined;

  const pointer = async () => {
    if (last) return last;
    // A seat without any pointer tells nobody where it would be.
    await device();
    last ??= await findPointer(connection, outputs, await seat());
    return last;
  };
  const goTo = async ({ x, y }: Point) => {
    const bounds = boundsOf(outputsOn(connection, outputs));
    assertOn(bounds, { x, y });
    const { width, height } = sizeOf(bounds);
    const virtual = await device();
    virtual.ask("motion_absolute", eventTime(), x - bounds.x1, y - bounds.y1, width, height);
    virtual.ask("frame");
    last = { x, y };
  };
  const go = async ({ x, y }: Target) => {
    if (x === undefined && y === undefined) return;
    const isWhole = x !== undefined && y !== undefined;
    await goTo(
      isWhole
        ? { x, y }
        : { ...(await pointer()), ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) },
    );
  };
  const press = async (button: Button, isDown: boolean) => {
    const virtual = await device();
    virtual.ask("button", eventTime(), BUTTONS[button], isDown ? 1 : 0);
    virtual.ask("frame");
    if (isDown) down.add(button);
    else down.delete(button);
  };
  const turn = async (direction: Direction, steps: number) => {
    const virtual = await device();
    const [axis, way] = AXES[direction];
    for (let step = 0; step < Math.abs(steps); step++) {
      const notch = way * Math.sign(steps);
      virtual.ask("axis_source", SOURCE_WHEEL);
      virtual.ask("axis_discrete", eventTime(), axis, notch * NOTCH, notch);
      virtual.ask("frame");
    }
  };
  const settledAt = async () => {
    await connection.roundTrip();
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
      if (stroke !== "release") await press(button, true);
      if (stroke !== "press") await press(button, false);
      return settledAt();
    },
    async scroll(target, direction, steps) {
      await go(target);
      await turn(direction, steps);
      return settledAt();
    },
    async point(at, buttons, before) {
      await goTo(at);
      for (const [nth, button] of RFB_BUTTONS.entries()) {
        if (((buttons ^ before) >> nth) & 1) await press(button, ((buttons >> nth) & 1) === 1);
      }
      for (const [nth, direction] of RFB_WHEEL.entries()) {
        if (((buttons & ~before) >> (nth + RFB_BUTTONS.length)) & 1) await turn(direction, 1);
      }
      // One round trip each: a flood goes no faster than the compositor.
      await connection.roundTrip();
    },
    async lift() {
      for (const button of [...down]) await press(button, false);
    },
  };
}

/** What is said where nobody knows where the pointer is. */
export const unknownPlace = (compositor: string) =>
  unavailable(
    `the Wayland compositor ${compositor} does not tell where the pointer is, until svc has moved it: give both x and y`,
  );

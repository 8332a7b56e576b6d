/**
 * The pointer of a Wayland compositor, through a virtual one (wlr-virtual-pointer).
 */
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Button } from "../backend";
import { assertOn, type Point, sizeOf } from "../geometry";
import { AXES, BUTTON_CODES, type Pointer, pointerOf } from "../strokes";
import type { WaylandConnection } from "./connection";
import { boundsOf, type Outputs } from "./outputs";
import { findPointer } from "./pointer-place";
import { outputsOn } from "./screen";
import { eventTime, type Seat } from "./seat";

const MANAGER = "zwlr_virtual_pointer_manager_v1";
/** `wl_pointer.axis_source.wheel`; how far one notch goes, as libinput has it. */
const SOURCE_WHEEL = 0;
const NOTCH = 15;

export function createWaylandPointer(
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
  const shared = pointerOf({
    pointer,
    goTo,
    down: new Set<Button>(),
    async press(button, isDown) {
      const virtual = await device();
      virtual.ask("button", eventTime(), BUTTON_CODES[button], isDown ? 1 : 0);
      virtual.ask("frame");
    },
    async turn(direction, steps) {
      const virtual = await device();
      const [axis, way] = AXES[direction];
      for (let step = 0; step < Math.abs(steps); step++) {
        const notch = way * Math.sign(steps);
        virtual.ask("axis_source", SOURCE_WHEEL);
        virtual.ask("axis_discrete", eventTime(), axis, notch * NOTCH, notch);
        virtual.ask("frame");
      }
    },
    async settled() {
      await connection.roundTrip();
      return pointer();
    },
  });
  return {
    ...shared,
    async point(at, buttons, before) {
      await shared.point(at, buttons, before);
      // One round trip each: a flood goes no faster than the compositor.
      await connection.roundTrip();
    },
  };
}

/** What is said where nobody knows where the pointer is. */
export const unknownPlace = (compositor: string) =>
  unavailable(
    `the Wayland compositor ${compositor} does not tell where the pointer is, until svc has moved it: give both x and y`,
  );

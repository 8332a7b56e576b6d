/**
 * The pointer of a session on the bus.
 */
import { badInput, unavailable } from "../../../lib/errors";
import type { Backend, Button, Direction, Target } from "../backend";
import { assertOn, type Point } from "../geometry";
import type { Output } from "../wayland/outputs";
import { boundsOf } from "../wayland/outputs";
import type { Seat } from "../wayland/seat";
import { oncePerSession, type RemoteSession } from "./session";

/** `linux/input-event-codes.h`: BTN_LEFT, BTN_MIDDLE, BTN_RIGHT. */
const BUTTONS: Record<Button, number> = { left: 0x110, right: 0x111, middle: 0x112 };
/** The buttons of an RFB viewer by their bits (RFC 6143, section 7.5.5); after them, the wheel. */
const RFB_BUTTONS: readonly Button[] = ["left", "middle", "right"];
const RFB_WHEEL: readonly Direction[] = ["up", "down", "left", "right"];
/** For how long pictures may still show the pointer where it was before, in milliseconds. */
const BEHIND_MS = 500;
/** The axis of a wheel, and which way it goes. */
const AXES: Record<Direction, readonly [axis: 0 | 1, way: 1 | -1]> = {
  ...{ up: [0, -1], down: [0, 1], left: [1, -1], right: [1, 1] },
};

/** The pointer. */
export type RemotePointer = Pick<Backend, "pointer" | "move" | "click" | "scroll" | "point"> & {
  /** Releases all buttons that are down. */
  lift(): Promise<void>;
};

/** What the pointer needs of the desktop. */
interface PointerParts {
  readonly session: RemoteSession;
  readonly seat: () => Promise<Seat>;
  readonly outputs: () => readonly Output[];
  /** Resolves when the compositor has processed what was sent to it. */
  readonly settled: () => Promise<void>;
  /** Where it is, as pictures say; undefined where they do not. */
  readonly seen: () => Promise<Point | undefined>;
}

export function createRemotePointer(parts: PointerParts): RemotePointer {
  const { session, outputs } = parts;
  const down = new Set<Button>();
  /** Where it was put last, and when, by performance.now(). */
  let last: Point | undefined;
  let putAt = Number.NEGATIVE_INFINITY;
  session.endListeners.add(() => down.clear());
  /** Programs take notice of the pointer before its first event. */
  const ready = oncePerSession(session, async () => {
    const { adding } = await parts.seat();
    const { wake } = await session.use();
    await adding("pointer", () => wake("pointer"));
  });
  const use = async () => {
    const opened = await session.use();
    await ready();
    return opened;
  };
  const pointer = async () => {
    if (performance.now() - putAt > BEHIND_MS) last = (await parts.seen()) ?? last;
    if (!last)
      throw unavailable(
        `${session.who} does not tell where the pointer is, until svc has moved it: give both x and y`,
      );
    return last;
  };
  const goTo = async (at: Point) => {
    const all = outputs();
    assertOn(boundsOf(all), at);
    const isOn = ({ region }: Output) =>
      at.x >= region.x1 && at.x < region.x2 && at.y >= region.y1 && at.y < region.y2;
    const output = all.find(isOn);
    if (!output) throw badInput(`x, y: expected a place on a monitor but found ${at.x}, ${at.y}`);
    const { streams, castProblem } = await session.use();
    if (!streams.has(output.name))
      throw unavailable(
        `the pointer cannot be moved: ${session.who} does not show the monitor ${output.name} (${castProblem ?? "it is new"})`,
      );
    const { point } = await use();
    await point(output, at.x - output.region.x1, at.y - output.region.y1);
    last = at;
    putAt = performance.now();
  };
  const go = async ({ x, y }: Target) => {
    if (x === undefined && y === undefined) return;
    if (x !== undefined && y !== undefined) return goTo({ x, y });
    const now = await pointer();
    await goTo({ x: x ?? now.x, y: y ?? now.y });
  };
  const press = async (button: Button, isDown: boolean) => {
    // Mutter refuses a release of a button that is up.
    if (!isDown && !down.has(button)) return;
    await (await use()).button(BUTTONS[button], isDown);
    if (isDown) down.add(button);
    else down.delete(button);
  };
  const turn = async (direction: Direction, steps: number) => {
    const [axis, way] = AXES[direction];
    if (steps !== 0) await (await use()).turn(axis, way * steps);
  };
  const settledAt = async () => {
    await parts.settled();
    return last ?? pointer();
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
    },
    async lift() {
      for (const button of [...down]) await press(button, false);
    },
  };
}

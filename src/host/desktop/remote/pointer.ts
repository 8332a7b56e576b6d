/**
 * The pointer of a session on the bus.
 */
import { badInput, unavailable } from "../../../lib/errors";
import type { Button } from "../backend";
import { assertOn, type Point } from "../geometry";
import { AXES, BUTTON_CODES, type Pointer, pointerOf } from "../strokes";
import { boundsOf, type Output } from "../wayland/outputs";
import type { Seat } from "../wayland/seat";
import { oncePerSession, type RemoteSession } from "./session";

/** For how long pictures may still show the pointer where it was before, in milliseconds. */
const BEHIND_MS = 500;

/** What the pointer needs of the desktop. */
interface RemotePointerParts {
  readonly session: RemoteSession;
  readonly seat: () => Promise<Seat>;
  readonly outputs: () => readonly Output[];
  /** Resolves when the compositor has processed what was sent to it. */
  readonly settled: () => Promise<void>;
  /** Where it is, as pictures say; undefined where they do not. */
  readonly seen: () => Promise<Point | undefined>;
}

export function createRemotePointer(parts: RemotePointerParts): Pointer {
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
  return pointerOf({
    pointer,
    goTo,
    down,
    async press(button, isDown) {
      // Mutter refuses a release of a button that is up.
      if (isDown || down.has(button)) await (await use()).button(BUTTON_CODES[button], isDown);
    },
    async turn(direction, steps) {
      const [axis, way] = AXES[direction];
      if (steps !== 0) await (await use()).turn(axis, way * steps);
    },
    async settled() {
      await parts.settled();
      return last ?? pointer();
    },
  });
}

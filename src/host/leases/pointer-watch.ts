/**
 * Notices when somebody else moves the pointer: it is not where svc has left it.
 *
 * It asks where the pointer is, as every platform can tell that. A move during one of svc's own is seen where the pointer is not at its end then.
 */
import type { Point } from "../desktop/geometry";

/** How often it looks, in milliseconds. */
const EVERY_MS = 50;

/** A table that somebody bumps moves a mouse by a pixel or two. */
const STILL_PX = 2;

/** A watch over the pointer of a desktop. */
export interface PointerWatch {
  /** Looks now. Never throws. */
  look(): Promise<void>;
  /** Does what may move the pointer on purpose. @param target where it is to be then, as far as that is said. */
  during<T>(act: () => Promise<T>, target?: Partial<Point>): Promise<T>;
  stop(): void;
}

/** @param pointer where it is. @param moved is called once, when somebody has moved it. */
export function watchPointer(
  pointer: () => Promise<Point>,
  moved: () => void,
  everyMs = EVERY_MS,
): PointerWatch {
  let expected: Point | undefined;
  /** Grows with the beginning and the end of each act. */
  let acts = 0;
  let acting = 0;
  let isOver = false;
  let looking: Promise<void> | undefined;
  const found = () => {
    if (isOver) return;
    isOver = true;
    moved();
  };
  const lookOnce = async () => {
    const before = acts;
    // A display that does not say where the pointer is fails what acts, too.
    const now = await pointer().catch(() => undefined);
    if (isOver || now === undefined || acting > 0 || acts !== before) return;
    if (expected && isElsewhere(now, expected)) found();
    expected = now;
  };
  const look = () => {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return {
    look,
    async during(act, target) {
      acts++;
      acting++;
      expected = undefined;
      try {
        const answer = await act();
        expected = placeIn(answer);
        if (expected && target && isElsewhere(expected, { ...expected, ...target })) found();
        return answer;
      } finally {
        acting--;
        acts++;
      }
    },
    stop() {
      isOver = true;
      clearInterval(timer);
    },
  };
}

const isElsewhere = (one: Point, other: Point) =>
  Math.abs(one.x - other.x) > STILL_PX || Math.abs(one.y - other.y) > STILL_PX;

/** Where the pointer is after an act that says so. */
function placeIn(answer: unknown): Point | undefined {
  const { x, y } = Object(answer);
  return typeof x === "number" && typeof y === "number" ? { x, y } : undefined;
}

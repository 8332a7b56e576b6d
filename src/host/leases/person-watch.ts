/**
 * Notices when somebody else moves the pointer, as it is not where svc has left it, or presses a key that svc has not pressed.
 *
 * It asks where the pointer is, as every platform can tell that, and how many keys are down, where the platform does. A move during
 * one of svc's own is seen where the pointer is not at its end then. A desktop answers one call at a time: no key of a text that svc types
 * is down when it is asked.
 */
import type { Point } from "../desktop/geometry";

/** How often it looks, in milliseconds: a key is down for longer. */
const EVERY_MS = 50;

/** A table that somebody bumps moves a mouse by a pixel or two. */
const STILL_PX = 2;

/** What is seen of the hands of a person. */
export interface Hands {
  pointer(): Promise<Point>;
  /** How many keys are down; null where that is not known. */
  keysDown(): Promise<number | null>;
}

/** What an act of svc does to pointer and keyboard. */
export interface Effect {
  /** Where the pointer is to be then, as far as that is said; undefined where it does not move. */
  readonly target?: Partial<Point> | undefined;
  /** Whether it leaves keys down, or releases some. */
  readonly holds?: boolean;
}

/** A watch over pointer and keyboard of a desktop. */
export interface PersonWatch {
  /** Looks now. Never throws. */
  look(): Promise<void>;
  /** Does what svc does itself. */
  during<T>(act: () => Promise<T>, effect: Effect): Promise<T>;
  stop(): void;
}

/** @param noticed is called once, with what somebody did. */
export function watchPerson(hands: Hands, noticed: (what: string) => void): PersonWatch {
  let expected: Point | undefined;
  let keys: number | undefined;
  /** Grows with the beginning and the end of each act that moves the pointer, and of each that holds keys. */
  let [moves, holds] = [0, 0];
  let [moving, holding] = [0, 0];
  let isOver = false;
  let looking: Promise<void> | undefined;
  const found = (what: string) => {
    if (isOver) return;
    isOver = true;
    noticed(what);
  };
  const lookAtPointer = async () => {
    const before = moves;
    // A display that does not say where the pointer is fails what acts, too.
    const now = await hands.pointer().catch(() => undefined);
    if (isOver || now === undefined || moving > 0 || moves !== before) return;
    if (expected && isElsewhere(now, expected)) found(MOVED);
    expected = now;
  };
  const lookAtKeys = async () => {
    const before = holds;
    const now = await hands.keysDown().catch(() => null);
    if (isOver || now === null || holding > 0 || holds !== before) return;
    if (keys !== undefined && now > keys) found("a person pressed a key");
    keys = now;
  };
  const look = () => {
    looking ??= Promise.all([lookAtPointer(), lookAtKeys()])
      .then(() => {})
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  const timer = setInterval(() => void look(), EVERY_MS);
  timer.unref();
  const move = async <T>(act: () => Promise<T>, target: Partial<Point>): Promise<T> => {
    moves++;
    moving++;
    expected = undefined;
    try {
      const answer = await act();
      expected = placeIn(answer);
      if (expected && isElsewhere(expected, { ...expected, ...target })) found(MOVED);
      return answer;
    } finally {
      moving--;
      moves++;
    }
  };
  const hold = async <T>(act: () => Promise<T>): Promise<T> => {
    holds++;
    holding++;
    try {
      return await act();
    } finally {
      holding--;
      holds++;
      keys = undefined;
    }
  };
  return {
    look,
    async during(act, { target, holds: leavesDown = false }) {
      if (target) return move(act, target);
      return leavesDown ? hold(act) : act();
    },
    stop() {
      isOver = true;
      clearInterval(timer);
    },
  };
}

const MOVED = "a person moved the pointer";

const isElsewhere = (one: Point, other: Point) =>
  Math.abs(one.x - other.x) > STILL_PX || Math.abs(one.y - other.y) > STILL_PX;

/** Where the pointer is after an act that says so. */
function placeIn(answer: unknown): Point | undefined {
  const { x, y } = Object(answer);
  return typeof x === "number" && typeof y === "number" ? { x, y } : undefined;
}

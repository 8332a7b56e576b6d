/**
 * What the screen showed before a click, and the picture by which a replay finds the place again.
 *
 * A button looks different under the pointer and while it is pressed. So the screen is looked at now and then, and the
 * picture comes from a moment when the pointer was elsewhere, if the place looked much the same then.
 */
import type { Picture } from "../backend";
import type { Point, Region } from "../geometry";
import { isPlain, search } from "../images/search";
import { encodePng } from "../png";

/** How often to look, in milliseconds, and how many looks are kept. */
export const LOOK_MS = 300;
const KEPT = 6;

const EVERYWHERE: Region = { x1: 0, y1: 0, x2: Number.POSITIVE_INFINITY, y2: Number.POSITIVE_INFINITY };

/** Half of the width and the height of a picture: the smallest that is found in one place only is taken. */
const HALVES = [
  [40, 20],
  [60, 30],
  [90, 45],
  [130, 70],
] as const;

/** The least width and height of a picture, in pixels. */
const MIN_SIDE = 12;

/** How alike a place must look without the pointer and with it for the first to stand for the second. */
const ALIKE = 0.7;
/** How alike another place must be for a picture to be of no use; a replay takes 0.9. */
const CONFUSED = 0.88;
/** How long to look for other places, in milliseconds. */
const SEARCH_MS = 2_000;

/** The screen at a moment, and where the pointer was. */
export interface Scene {
  readonly picture: Picture;
  readonly pointer: Point;
  /** When all of it had been read, as `performance.now()` counts. */
  readonly at: number;
}

/** The latest looks at the screen. */
export class Scenes {
  private readonly kept: Scene[] = [];

  add(scene: Scene): void {
    this.kept.push(scene);
    if (this.kept.length > KEPT) this.kept.shift();
  }

  /**
   * The newest before `at`, and the newest then in which the pointer was away from `point`: if there is one, one of two
   * looks in a row that show the same there, as what fades in or out does not.
   */
  before(at: number, point: Point): Scene[] {
    const earlier = this.kept.filter((scene) => scene.at <= at).toReversed();
    const [newest] = earlier;
    const [wide, high] = HALVES[HALVES.length - 1] ?? HALVES[0];
    const around = { x1: point.x - wide, y1: point.y - high, x2: point.x + wide, y2: point.y + high };
    const away = earlier.filter(({ pointer }) => !isIn(around, pointer));
    const still = away.find((scene) => {
      const nth = earlier.indexOf(scene);
      return [nth - 1, nth + 1].some((next) => isSame(earlier[next], scene, around));
    });
    return [...new Set([newest, still ?? away[0]])].filter((scene) => scene !== undefined);
  }

  /**
   * The newest two before `at` that were made after `since`, the newer one first, in which the pointer was where a replay leaves it.
   *
   * @param pointer undefined: anywhere.
   */
  lastTwo(at: number, since: number, pointer: Point | undefined): [Scene, Scene] | undefined {
    const isThere = (scene: Scene) => !pointer || isIn(nearTo(pointer), scene.pointer);
    const [after, next] = this.kept
      .filter((scene) => scene.at <= at && scene.at > since && isThere(scene))
      .toReversed();
    return after && next ? [after, next] : undefined;
  }

  /** The newest before `at`. */
  newest(at: number): Scene | undefined {
    return this.kept.findLast((scene) => scene.at <= at);
  }

  /** Whether the last two looks show the same. */
  get isStill(): boolean {
    const [before, last] = this.kept.slice(-2);
    return before !== undefined && last !== undefined && isSame(before, last, EVERYWHERE);
  }
}

/** A picture of what is around a point, as a PNG, and where the point is from its centre. */
interface Template {
  readonly png: Uint8Array;
  readonly offset: Point;
}

/**
 * The picture by which `point` is found again.
 *
 * @param scenes from before it was clicked, the newest first.
 * @param around what it must not go beyond: the window, which a replay may find in front of something else.
 * @returns undefined where the place is plain, looks like another, or nothing was seen before.
 */
export function templateAt(point: Point, scenes: readonly Scene[], around: Region): Template | undefined {
  const [newest] = scenes;
  if (!newest) return undefined;
  for (const [wide, high] of HALVES) {
    const part = within(newest.picture, around, {
      x1: point.x - wide,
      y1: point.y - high,
      x2: point.x + wide,
      y2: point.y + high,
    });
    if (part.x2 - part.x1 < MIN_SIDE || part.y2 - part.y1 < MIN_SIDE) continue;
    const scene = scenes.find((one) => !isIn(part, one.pointer) && looksAlike(one, newest, part)) ?? newest;
    const image = cut(scene.picture, part);
    if (isPlain(image) || !isOnlyOne(scene.picture, image)) continue;
    const { width, height } = image;
    const centre = { x: part.x1 + Math.floor(width / 2), y: part.y1 + Math.floor(height / 2) };
    return { png: encodePng(image), offset: { x: point.x - centre.x, y: point.y - centre.y } };
  }
  return undefined;
}

/** A person's hand trembles. */
const nearTo = ({ x, y }: Point): Region => ({ x1: x - 3, y1: y - 3, x2: x + 4, y2: y + 4 });

function within({ width, height }: Picture, around: Region, { x1, y1, x2, y2 }: Region): Region {
  return {
    x1: Math.max(0, around.x1, x1),
    y1: Math.max(0, around.y1, y1),
    x2: Math.min(width, around.x2, x2),
    y2: Math.min(height, around.y2, y2),
  };
}

const isIn = ({ x1, y1, x2, y2 }: Region, { x, y }: Point) => x >= x1 && x < x2 && y >= y1 && y < y2;

/** Whether two looks show the same in `part`, to the pixel. */
function isSame(one: Scene | undefined, { picture }: Scene, part: Region): boolean {
  if (one?.picture.width !== picture.width || one.picture.height !== picture.height) return false;
  const inside = within(picture, EVERYWHERE, part);
  return Buffer.compare(cut(one.picture, inside).pixels, cut(picture, inside).pixels) === 0;
}

function looksAlike(one: Scene, other: Scene, part: Region): boolean {
  if (one === other) return true;
  if (one.picture.width !== other.picture.width || one.picture.height !== other.picture.height) return false;
  const [image, there] = [cut(one.picture, part), cut(other.picture, part)];
  if (isPlain(image)) return false;
  return search(there, image, { threshold: ALIKE, all: false, near: false, end: soon() }).matches.length > 0;
}

function isOnlyOne(screen: Picture, image: Picture): boolean {
  try {
    return (
      search(screen, image, { threshold: CONFUSED, all: true, near: false, end: soon() }).matches.length === 1
    );
  } catch {
    // It takes too long, or there are too many.
    return false;
  }
}

const soon = () => performance.now() + SEARCH_MS;

/** A part of a picture. */
export function cut({ width, pixels, redAt }: Picture, { x1, y1, x2, y2 }: Region): Picture {
  const [wide, high] = [x2 - x1, y2 - y1];
  const part = new Uint8Array(wide * high * 4);
  for (let row = 0; row < high; row++) {
    const start = ((y1 + row) * width + x1) * 4;
    part.set(pixels.subarray(start, start + wide * 4), row * wide * 4);
  }
  return { width: wide, height: high, pixels: part, redAt };
}

/**
 * Which windows the display has at a place: the accessibility bus does not say which window is on top.
 */
import { deadline } from "../../../lib/deadline";
import { connect, type XConnection } from "../x11/connection";

const CONNECT_MS = 3_000;
/** How deep windows are inside each other: a frame, the window of a program, and what that has. */
const MAX_DEEP = 8;

/** The place of a window on the display. */
export type Frame = readonly [x: number, y: number, width: number, height: number];

/** How many windows inside one are looked at. */
const MAX_COMPARED = 500;
const VIEWABLE = 2;

/** The windows inside each other at a place, the outermost first; none without an X server. */
export async function framesAt(env: NodeJS.ProcessEnv, x: number, y: number): Promise<Frame[]> {
  if (!env.DISPLAY) return [];
  const opened = await deadline(
    connect(env, () => {}),
    { ms: CONNECT_MS },
  );
  try {
    const frames: Frame[] = [];
    let inside: number | undefined = opened.screen.root;
    while (inside !== undefined && frames.length < MAX_DEEP) {
      const top: { id: number; frame: Frame } | undefined = await topIn(opened, inside, x, y);
      if (top) frames.push(top.frame);
      inside = top?.id;
    }
    return frames;
  } finally {
    opened.close();
  }
}

/** The topmost of the windows inside one that is at a place of the screen. */
async function topIn({ ask, screen }: XConnection, outer: number, x: number, y: number) {
  const children = ((await ask.QueryTree(outer))?.children ?? []).slice(-MAX_COMPARED);
  const looked = await Promise.all(
    children.map(async (id) => {
      const [looks, size, corner] = await Promise.all([
        ask.GetWindowAttributes(id),
        ask.GetGeometry(id),
        ask.TranslateCoordinates(id, screen.root, 0, 0),
      ]);
      if (looks?.mapState !== VIEWABLE || !size || !corner) return undefined;
      const { destX, destY } = corner;
      const isThere = x >= destX && y >= destY && x < destX + size.width && y < destY + size.height;
      const frame: Frame = [destX, destY, size.width, size.height];
      return isThere ? { id, frame } : undefined;
    }),
  );
  // The X server lists them from the bottom up.
  return looked.filter((one) => one !== undefined).at(-1);
}

/**
 * Which windows the display has at a place: the accessibility bus does not say which window is on top.
 */
import { whileConnected, type XConnection } from "../x11/connection";
import { IS_VIEWABLE, rectOf } from "../x11/properties";

const CONNECT_MS = 3_000;
/** How deep windows are inside each other: a frame, the window of a program, and what that has. */
const MAX_DEEP = 8;

/** The place of a window on the display. */
export type Frame = readonly [x: number, y: number, width: number, height: number];

/** How many windows inside one are looked at. */
const MAX_COMPARED = 500;

/** The windows inside each other at a place, the outermost first; none without an X server. */
export async function framesAt(env: NodeJS.ProcessEnv, x: number, y: number): Promise<Frame[]> {
  if (!env.DISPLAY) return [];
  return whileConnected(env, CONNECT_MS, async (connection) => {
    const frames: Frame[] = [];
    let inside: number | undefined = connection.screen.root;
    while (inside !== undefined && frames.length < MAX_DEEP) {
      const top: { id: number; frame: Frame } | undefined = await topIn(connection, inside, x, y);
      if (top) frames.push(top.frame);
      inside = top?.id;
    }
    return frames;
  });
}

/** The topmost of the windows inside one that is at a place of the screen. */
async function topIn(connection: XConnection, outer: number, x: number, y: number) {
  const { ask } = connection;
  const children = ((await ask.QueryTree(outer))?.children ?? []).slice(-MAX_COMPARED);
  const looked = await Promise.all(
    children.map(async (id) => {
      const [looks, at] = await Promise.all([ask.GetWindowAttributes(id), rectOf(connection, id)]);
      if (looks?.mapState !== IS_VIEWABLE || !at) return undefined;
      const isThere = x >= at.x && y >= at.y && x < at.x + at.width && y < at.y + at.height;
      const frame: Frame = [at.x, at.y, at.width, at.height];
      return isThere ? { id, frame } : undefined;
    }),
  );
  // The X server lists them from the bottom up.
  return looked.filter((one) => one !== undefined).at(-1);
}

/**
 * Watching the screen of a Wayland compositor: it gives the next picture of an output once something on it has changed, and says
 * where.
 */
import type { Backend } from "../backend";
import { inPicture, type Rect, sizeOf } from "../geometry";
import type { Watch, WatchEvents } from "../screen/child/watch";
import { blit, type Canvas, shownSize } from "./blit";
import type { WaylandConnection } from "./connection";
import { boundsOf, layoutOf, type Output, type Outputs } from "./outputs";
import type { FrameTaker, OutputPicture } from "./picture-buffer";
import { moved, outputsOn, scaled } from "./screen";

/** What of a desktop of outputs a watch needs. */
export interface OutputParts {
  readonly outputs: Outputs;
  readonly pointer: Backend["pointer"];
  /** Each is called when the clipboard may have another text. */
  readonly clipboardListeners: Set<() => void>;
}

interface WatchParts extends OutputParts {
  readonly connection: WaylandConnection;
  /** What makes takers of pictures. @throws `unavailable` where there are no pictures. */
  readonly frames: () => Promise<() => FrameTaker>;
}

interface WatchedOutput {
  readonly output: Output;
  /** Where it is in the picture of all. */
  readonly place: Rect;
  readonly whole: FrameTaker;
  readonly next: FrameTaker;
  /** What has changed, until it is grabbed. */
  changed: OutputPicture | undefined;
}

/** Never has a shape of the pointer: a compositor does not tell it, and viewers show their own. */
export async function watchWayland(parts: WatchParts, events: WatchEvents): Promise<Watch> {
  const { connection, outputs, clipboardListeners } = parts;
  const newTaker = await parts.frames();
  const all = outputsOn(connection, outputs);
  const bounds = boundsOf(all);
  const first = await Promise.all(all.map((output) => scaleOf(newTaker(), output)));
  const scale = Math.max(1, ...first);
  const canvas = canvasOf(scaled(bounds, scale));
  const watched = all.map((output): WatchedOutput => {
    const place = scaled(moved(output.region, -bounds.x1, -bounds.y1), scale);
    return { output, place, whole: newTaker(), next: newTaker(), changed: undefined };
  });
  const before = layoutOf(all);
  const sleepAgain = keepAwake(connection);
  let isOpen = true;

  const close = () => {
    if (isOpen) sleepAgain();
    isOpen = false;
    outputs.listeners.delete(look);
    clipboardListeners.delete(events.clipboard);
    for (const { whole, next } of watched) for (const taker of [whole, next]) taker.close();
  };
  const over = (reason: string) => {
    if (!isOpen) return;
    close();
    events.over(reason);
  };
  const look = () => {
    if (layoutOf(outputs.list()) !== before) over("the screen has another size");
  };
  const wait = async (one: WatchedOutput) => {
    try {
      const picture = await one.next.take(one.output, undefined, true);
      if (!isOpen) return;
      const isFirst = watched.every(({ changed }) => changed === undefined);
      one.changed = picture;
      if (isFirst) events.damaged();
    } catch (error) {
      over(error instanceof Error ? error.message : String(error));
    }
  };
  outputs.listeners.add(look);
  clipboardListeners.add(events.clipboard);
  for (const one of watched) void wait(one);

  return {
    ...canvas,
    scale,
    corner: { x: bounds.x1, y: bounds.y1 },
    async grab(isAll) {
      const areas: Rect[] = [];
      for (const one of watched) {
        const { changed } = one;
        if (isAll) areas.push(put(one, await one.whole.take(one.output, undefined, false), canvas));
        else if (changed) areas.push(...putDamage(one, changed, canvas));
        if (!changed) continue;
        one.changed = undefined;
        void wait(one);
      }
      return areas;
    },
    pointer: async () => inPicture(await parts.pointer(), bounds, scale),
    close,
  };
}

/**
 * Keeps the screen from going dark while it is watched (idle-inhibit), where the compositor has that. The surface is never shown: sway takes one
 * without a window for visible.
 *
 * @returns a function that ends it.
 */
function keepAwake(connection: WaylandConnection): () => void {
  const compositor = connection.bind("wl_compositor");
  const manager = connection.bind("zwp_idle_inhibit_manager_v1");
  if (!compositor || !manager) return () => {};
  const surface = compositor.make("create_surface");
  const inhibitor = manager.make("create_inhibitor", surface.id);
  return () => {
    inhibitor.ask("destroy");
    surface.ask("destroy");
    manager.ask("destroy");
  };
}

/** How many pixels of an output are one unit of the pointer. */
async function scaleOf(taker: FrameTaker, output: Output): Promise<number> {
  try {
    const picture = await taker.take(output, undefined, false);
    return shownSize(picture, turnOf(output, picture)).width / sizeOf(output.region).width;
  } finally {
    taker.close();
  }
}

const canvasOf = ({ width, height }: Rect): Canvas => ({
  width,
  height,
  pixels: new Int32Array(width * height),
});

const turnOf = (output: Output, picture: OutputPicture) => picture.transform ?? output.transform;

function put({ output, place }: WatchedOutput, picture: OutputPicture, canvas: Canvas): Rect {
  blit(picture, turnOf(output, picture), canvas, place);
  return place;
}

/** Only what has changed, where a pixel of the output is one of the picture. */
function putDamage(one: WatchedOutput, picture: OutputPicture, canvas: Canvas): Rect[] {
  const { output, place } = one;
  const isPlain =
    turnOf(output, picture) === 0 && picture.width === place.width && picture.height === place.height;
  if (!isPlain) return [put(one, picture, canvas)];
  return picture.damage.map((rect) => {
    blit(picture, 0, canvas, place, rect);
    return { ...rect, x: place.x + rect.x, y: place.y + rect.y };
  });
}

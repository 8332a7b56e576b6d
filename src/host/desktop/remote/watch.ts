/**
 * Watching the screen of a session on the bus: PipeWire gives a picture for each change. It does not say where; the frame of viewers takes what differs.
 */
import { inPicture, type Rect, sizeOf } from "../geometry";
import type { Watch, WatchEvents } from "../screen/child/watch";
import { blit } from "../wayland/blit";
import { boundsOf, layoutOf, type Output } from "../wayland/outputs";
import { moved, scaled } from "../wayland/screen";
import type { OutputParts } from "../wayland/watch";
import type { Live, RemoteScreen } from "./screen";

/** What of the desktop a watch needs. */
interface WatchParts extends OutputParts {
  readonly screen: RemoteScreen;
}

interface WatchedMonitor {
  readonly live: Live;
  /** Where it is in the picture of all. */
  readonly place: Rect;
  /** The number of the last picture that was grabbed. */
  grabbed: number;
}

/** Never has a shape of the pointer: viewers show their own. */
export async function watchRemote(parts: WatchParts, events: WatchEvents): Promise<Watch> {
  const { screen, outputs, clipboardListeners } = parts;
  const all = outputs.list();
  const bounds = boundsOf(all);
  const before = layoutOf(all);
  const lives: Live[] = [];
  try {
    for (const output of all) lives.push(await screen.live(output));
    await Promise.all(lives.map((live) => live.first()));
  } catch (error) {
    for (const live of lives) live.leave();
    throw error;
  }
  const scale = Math.max(1, ...lives.map(({ picture }, nth) => scaleOf(all[nth], picture?.width)));
  const { width, height } = scaled(bounds, scale);
  const canvas = { width, height, pixels: new Int32Array(width * height) };
  const watched = lives.map((live, nth): WatchedMonitor => {
    const region = all[nth]?.region ?? bounds;
    return { live, place: scaled(moved(region, -bounds.x1, -bounds.y1), scale), grabbed: -1 };
  });
  let isOpen = true;
  /** Whether {@link WatchEvents.damaged} was called since the last grab. */
  let isSaid = false;
  const close = () => {
    isOpen = false;
    outputs.listeners.delete(look);
    clipboardListeners.delete(events.clipboard);
    for (const { live } of watched) {
      live.listeners.delete(look);
      live.leave();
    }
  };
  const over = (reason: string) => {
    if (!isOpen) return;
    close();
    events.over(reason);
  };
  const look = () => {
    const problem = watched.map(({ live }) => live.problem).find((one) => one !== undefined);
    if (problem !== undefined) return over(problem);
    if (layoutOf(outputs.list()) !== before) return over("the screen has another size");
    if (isSaid || watched.every(({ live, grabbed }) => live.count === grabbed)) return;
    isSaid = true;
    events.damaged();
  };
  outputs.listeners.add(look);
  clipboardListeners.add(events.clipboard);
  for (const { live } of watched) live.listeners.add(look);

  return {
    ...canvas,
    scale,
    corner: { x: bounds.x1, y: bounds.y1 },
    async grab(isAll) {
      isSaid = false;
      const areas: Rect[] = [];
      for (const one of watched) {
        const { live, place } = one;
        if (!live.picture || (!isAll && live.count === one.grabbed)) continue;
        one.grabbed = live.count;
        blit(live.picture, 0, canvas, place);
        areas.push(place);
      }
      return areas;
    },
    pointer: async () => inPicture(await parts.pointer(), bounds, scale),
    close,
  };
}

const scaleOf = (output: Output | undefined, width: number | undefined) =>
  output && width !== undefined ? width / sizeOf(output.region).width : 1;

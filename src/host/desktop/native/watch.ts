/**
 * Watching the screen where the system does not say what changes on it (macOS, Windows): a picture of all monitors now and then,
 * of which the frame takes what differs.
 */
import type { Backend } from "../backend";
import { inPicture, sizeOf } from "../geometry";
import type { Watch, WatchEvents } from "../screen/child/watch";

/** How often the screen is looked at, in milliseconds: a picture of it costs some 30. */
const INTERVAL_MS = 100;

/** Never has a shape of the pointer: viewers show their own. */
export async function watchByLooking(
  { desktop, capture, pointer }: Pick<Backend, "desktop" | "capture" | "pointer">,
  events: WatchEvents,
): Promise<Watch> {
  const region = await desktop();
  const first = await capture(region);
  const { width, height } = first;
  const everything = [{ x: 0, y: 0, width, height }];
  const pixels = new Int32Array(width * height);
  const scale = width / sizeOf(region).width;
  const timer = setInterval(() => events.damaged(), INTERVAL_MS);
  return {
    width,
    height,
    pixels,
    scale,
    corner: { x: region.x1, y: region.y1 },
    async grab() {
      const now = await desktop();
      const picture = await capture(now);
      const isSame = picture.width === width && picture.height === height;
      if (!isSame || now.x1 !== region.x1 || now.y1 !== region.y1) {
        clearInterval(timer);
        events.over("the screen has another size");
        return [];
      }
      const from = new Int32Array(picture.pixels.buffer, picture.pixels.byteOffset, pixels.length);
      if (picture.redAt === 2) pixels.set(from);
      else
        from.forEach((pixel, at) => {
          pixels[at] = (pixel & 0xff00) | ((pixel & 0xff) << 16) | ((pixel >> 16) & 0xff);
        });
      return everything;
    },
    pointer: async () => inPicture(await pointer(), region, scale),
    close: () => clearInterval(timer),
  };
}

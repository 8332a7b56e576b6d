/**
 * The screen of a Wayland compositor: its monitors, and pictures of a region that may reach over several.
 */
import { noScreen } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, Picture } from "../backend";
import { type Region, sizeOf } from "../geometry";
import { blit, shownSize } from "./blit";
import type { WaylandConnection } from "./connection";
import { boundsOf, type Output, type Outputs } from "./outputs";
import type { FrameTaker, OutputPicture } from "./picture-buffer";

/** The outputs. @throws `no_screen` where none is on. */
export function outputsOn({ compositor }: WaylandConnection, outputs: Outputs): readonly Output[] {
  const all = outputs.list();
  if (all.length === 0)
    throw noScreen(`no display: the Wayland compositor ${compositor} has no monitor that is on`);
  return all;
}

/** @param frames what makes takers of pictures. @throws `unavailable` where there are no pictures. */
export function createScreen(
  connection: WaylandConnection,
  outputs: Outputs,
  frames: () => Promise<() => FrameTaker>,
): Pick<Backend, "desktop" | "monitors" | "capture"> {
  const own = once(async () => (await frames())());
  const capture = async (wanted: Region): Promise<Picture> => {
    const taker = await own();
    const parts: Part[] = [];
    for (const output of outputsOn(connection, outputs)) {
      const shared = common(wanted, output.region);
      if (!shared) continue;
      const { x1, y1 } = output.region;
      const picture = await taker.take(output, moved(shared, -x1, -y1), false);
      const { width } = shownSize(picture, picture.transform ?? output.transform);
      // The next picture is taken into the same memory.
      parts.push({
        output,
        shared,
        picture: { ...picture, pixels: picture.pixels.slice() },
        scale: width / sizeOf(shared).width,
      });
    }
    return joined(wanted, parts);
  };
  return {
    desktop: async () => boundsOf(outputsOn(connection, outputs)),
    monitors: async () => outputsOn(connection, outputs).map(({ region }) => region),
    capture,
  };
}

/** What one output shows of a region. */
export interface Part {
  readonly output: Output;
  /** What of the wanted region it shows. */
  readonly shared: Region;
  readonly picture: OutputPicture;
  /** How many of its pixels are one unit of the pointer. */
  readonly scale: number;
}

/** As many pixels as the sharpest of the parts has; what no monitor shows is black. */
export function joined(wanted: Region, parts: readonly Part[]): Picture {
  const scale = Math.max(1, ...parts.map((part) => part.scale));
  const { width, height } = sizeOf(wanted);
  const size = { width: Math.round(width * scale), height: Math.round(height * scale) };
  const pixels = new Int32Array(size.width * size.height);
  for (const { output, shared, picture } of parts) {
    blit(
      picture,
      picture.transform ?? output.transform,
      { ...size, pixels },
      scaled(moved(shared, -wanted.x1, -wanted.y1), scale),
    );
  }
  return { ...size, pixels: new Uint8Array(pixels.buffer), redAt: 2 };
}

/** A region as a rectangle of pixels. */
export function scaled({ x1, y1, x2, y2 }: Region, scale: number) {
  const [x, y] = [Math.round(x1 * scale), Math.round(y1 * scale)];
  return { x, y, width: Math.round(x2 * scale) - x, height: Math.round(y2 * scale) - y };
}

export const moved = ({ x1, y1, x2, y2 }: Region, x: number, y: number): Region => ({
  x1: x1 + x,
  y1: y1 + y,
  x2: x2 + x,
  y2: y2 + y,
});

/** What two regions share; undefined where they share nothing. */
export function common(a: Region, b: Region): Region | undefined {
  const region = {
    x1: Math.max(a.x1, b.x1),
    y1: Math.max(a.y1, b.y1),
    x2: Math.min(a.x2, b.x2),
    y2: Math.min(a.y2, b.y2),
  };
  return region.x1 < region.x2 && region.y1 < region.y2 ? region : undefined;
}

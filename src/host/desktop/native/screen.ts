/**
 * Pixels of a desktop of several monitors, each of which may have more pixels than coordinates (macOS).
 */
import type { Monitor } from "node-screenshots";
import type { Picture } from "../backend";
import { type Region, sizeOf } from "../geometry";

export type Screens = typeof import("node-screenshots");

/** What a monitor shows, and where on the desktop the monitor is. */
export interface Tile extends Picture {
  readonly place: Region;
}

/** `region` at the resolution of the sharpest monitor in it. What no monitor shows is black. */
export async function capture(screens: Screens, region: Region): Promise<Picture> {
  const monitors = screens.Monitor.all().filter((monitor) => overlaps(placeOf(monitor), region));
  return compose(await Promise.all(monitors.map(tileOf)), region);
}

async function tileOf(monitor: Monitor): Promise<Tile> {
  const image = await monitor.captureImage();
  const { width, height } = image;
  return { width, height, pixels: await image.toRaw(), redAt: 0, place: placeOf(monitor) };
}

/** The tiles side by side, cut to `region`, the coarser ones enlarged. */
export function compose(tiles: readonly Tile[], region: Region): Picture {
  const scale = Math.max(1, ...tiles.map(scaleOf));
  const { width, height } = sizeOf(region);
  const picture = { width: Math.round(width * scale), height: Math.round(height * scale), redAt: 0 as const };
  const pixels = new Uint32Array(picture.width * picture.height);
  for (const tile of tiles) copyTile(tile, { ...picture, pixels, region, scale });
  return { ...picture, pixels: new Uint8Array(pixels.buffer) };
}

interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
  readonly region: Region;
  readonly scale: number;
}

/** Each pixel of the canvas that lies on the tile takes the tile's pixel there. */
function copyTile(tile: Tile, { width, height, pixels, region, scale }: Canvas): void {
  // A copy: only an aligned buffer can be read four bytes at a time.
  const source = new Uint32Array(new Uint8Array(tile.pixels).buffer);
  const ratio = scaleOf(tile) / scale;
  const left = (region.x1 - tile.place.x1) * scaleOf(tile);
  const top = (region.y1 - tile.place.y1) * scaleOf(tile);
  for (let y = 0; y < height; y++) {
    const row = Math.floor(top + y * ratio);
    if (row < 0 || row >= tile.height) continue;
    for (let x = 0; x < width; x++) {
      const column = Math.floor(left + x * ratio);
      if (column >= 0 && column < tile.width) pixels[y * width + x] = source[row * tile.width + column] ?? 0;
    }
  }
}

const scaleOf = ({ width, place }: Tile) => width / sizeOf(place).width;

/** Where on the desktop `monitor` is. */
export function placeOf(monitor: Monitor): Region {
  const [x1, y1] = [monitor.x(), monitor.y()];
  return { x1, y1, x2: x1 + monitor.width(), y2: y1 + monitor.height() };
}

const overlaps = (a: Region, b: Region) => a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;

/** Pixels of areas of a frame, as the black box takes them. */
import type { Rect } from "../../geometry";
import type { Frame } from "../child/frame";
import { around, goesOnRight, type Parts } from "../child/parts";

/** The most pixels of one entry: a megabyte. */
const MOST = 1 << 18;

/** What a frame must have. */
export type TiledFrame = Pick<
  Frame,
  "width" | "height" | "columns" | "rows" | "pixels" | "placeOf" | "touchedBy"
>;

/** The areas of parts of tiles, those in a row together. */
export function areasOf({ columns, placeOf }: TiledFrame, parts: Parts): Rect[] {
  const areas: Rect[] = [];
  for (let tile = 0; tile < parts.length; tile++) {
    const part = parts[tile] ?? 0;
    if (part === 0) continue;
    const first = placeOf(tile, part);
    let right = first.x + first.width;
    while ((tile + 1) % columns > 0 && goesOnRight(parts[tile] ?? 0, parts[tile + 1] ?? 0)) {
      const next = placeOf(tile + 1, parts[tile + 1] ?? 0);
      right = next.x + next.width;
      tile++;
    }
    areas.push({ ...first, width: right - first.x });
  }
  return areas;
}

/** Adds `more` to `parts`. */
export function addParts(parts: Parts, more: Parts): void {
  for (let tile = 0; tile < parts.length; tile++) parts[tile] = around(parts[tile] ?? 0, more[tile] ?? 0);
}

/** The areas in groups of a bounded size. */
export function* groupsOf(areas: readonly Rect[]): Generator<readonly Rect[]> {
  let group: Rect[] = [];
  let size = 0;
  for (const area of areas) {
    const pixels = area.width * area.height;
    if (group.length > 0 && size + pixels > MOST) {
      yield group;
      [group, size] = [[], 0];
    }
    group.push(area);
    size += pixels;
  }
  if (group.length > 0) yield group;
}

/** The pixels of areas, one after the other. Those of a copier are good until its next call. */
type Copier = (frame: TiledFrame, areas: readonly Rect[]) => Int32Array<ArrayBuffer>;

/** Takes copies of pixels, without what is in their unused byte. */
export function createCopier(): Copier {
  const kept = new Int32Array(MOST);
  return ({ pixels, width }, areas) => {
    const size = areas.reduce((sum, area) => sum + area.width * area.height, 0);
    // A whole screen is seldom taken: its memory is not kept.
    const room = size > MOST ? new Int32Array(size) : kept;
    let out = 0;
    for (const area of areas)
      for (let y = area.y; y < area.y + area.height; y++)
        for (let at = y * width + area.x, end = at + area.width; at < end; at++, out++)
          room[out] = (pixels[at] ?? 0) & 0xff_ffff;
    return room.subarray(0, size);
  };
}

/** Makes black what of `pixels`, which are those of `areas`, is in `black`. */
export function blacken(pixels: Int32Array, areas: readonly Rect[], black: readonly Rect[] | "all"): void {
  if (black === "all") return void pixels.fill(0);
  let from = 0;
  for (const { x, y, width, height } of areas) {
    for (const place of black) {
      const [left, right] = [Math.max(x, place.x), Math.min(x + width, place.x + place.width)];
      const [top, bottom] = [Math.max(y, place.y), Math.min(y + height, place.y + place.height)];
      for (let row = top; row < bottom && left < right; row++) {
        const at = from + (row - y) * width;
        pixels.fill(0, at + left - x, at + right - x);
      }
    }
    from += width * height;
  }
}

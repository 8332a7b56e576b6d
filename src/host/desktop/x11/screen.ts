/**
 * The screen of an X server: its size, its monitors, its pixels.
 */
import { unavailable } from "../../../lib/errors";
import type { Backend, Picture } from "../backend";
import { type Region, type Size, sizeOf } from "../geometry";
import { extension, type XConnection } from "./connection";

/** ZPixmap (X11/X.h): whole pixels, one after the other. */
const Z_PIXMAP = 2;
const ALL_PLANES = 0xffff_ffff;
/** Visual classes whose pixels hold the colour itself (X11/X.h). */
const DIRECT_CLASSES = [4, 5];

export function createScreen(connection: XConnection): Pick<Backend, "desktop" | "monitors" | "capture"> {
  const { reply } = connection;
  return {
    desktop: () => rootPlace(connection),
    /** In the server's order, the primary monitor first; one that covers all when the server knows of none. */
    async monitors() {
      const xinerama = await extension(connection, "xinerama");
      const found = xinerama && (await reply(xinerama.QueryScreens.bind(xinerama)));
      if (!found?.length) return [await rootPlace(connection)];
      return found.map(({ x, y, width, height }) => ({ x1: x, y1: y, x2: x + width, y2: y + height }));
    },
    capture: (region) => captureRegion(connection, region),
  };
}

/** @throws an `unavailable` failure where pixels hold no colours. */
export async function captureRegion(connection: XConnection, region: Region): Promise<Picture> {
  const { width, height } = sizeOf(region);
  const { need, screen } = connection;
  const { x1, y1 } = region;
  const image = await need.GetImage(Z_PIXMAP, screen.root, x1, y1, width, height, ALL_PLANES);
  const layout = layoutOf(connection, image.depth);
  if (!layout) {
    throw unavailable(
      "the display's pixels are indexes into a colour map; expected a display of 16 bits or more",
    );
  }
  return { width, height, pixels: toBgrx(image.data, { width, height }, layout), redAt: 2 };
}

/** Whether the pixels of the screen are blue, green, red and a filler byte. */
export function isBgrx(connection: XConnection): boolean {
  const layout = layoutOf(connection, connection.screen.root_depth);
  return layout !== undefined && isAsIs(layout);
}

/** Undefined where pixels are indexes into a colour map. */
function layoutOf({ screen, display }: XConnection, depth: number): Layout | undefined {
  const visual = screen.depths[screen.root_depth]?.[screen.root_visual];
  const format = display.format[depth];
  if (!visual || !format || !DIRECT_CLASSES.includes(visual.class) || format.bits_per_pixel < 16) {
    return undefined;
  }
  const masks = [visual.blue_mask, visual.green_mask, visual.red_mask];
  return { ...format, masks, littleEndian: display.image_byte_order === 0 };
}

const isAsIs = ({ bits_per_pixel, littleEndian, masks }: Layout) =>
  bits_per_pixel === 32 && littleEndian && masks.join() === [0xff, 0xff00, 0xff0000].join();

/** The root window's place now: its size changes with the monitors. */
export async function rootPlace({ screen, need }: XConnection): Promise<Region> {
  const { width, height } = await need.GetGeometry(screen.root);
  return { x1: 0, y1: 0, x2: width, y2: height };
}

/** How an X server lays out pixels (X Window System Protocol, section 8, image format). */
interface Layout {
  readonly bits_per_pixel: number;
  /** Each row is filled up to a multiple of so many bits. */
  readonly scanline_pad: number;
  readonly littleEndian: boolean;
  /** The bits of blue, green and red. */
  readonly masks: readonly number[];
}

/** `data` as blue, green, red and a filler byte; the same memory where it is that already. */
function toBgrx(data: Uint8Array, { width, height }: Size, layout: Layout): Uint8Array {
  const { bits_per_pixel, scanline_pad, littleEndian, masks } = layout;
  const bytesPerPixel = bits_per_pixel / 8;
  const bytesPerRow = (Math.ceil((width * bits_per_pixel) / scanline_pad) * scanline_pad) / 8;
  if (isAsIs(layout)) return data.subarray(0, width * height * 4);
  const channels = masks.map((mask) => {
    const shift = 31 - Math.clz32(mask & -mask);
    return { shift, max: mask >>> shift };
  });
  const result = new Uint8Array(width * height * 4);
  for (let row = 0, out = 0; row < height; row++) {
    for (let column = 0; column < width; column++, out += 4) {
      const at = row * bytesPerRow + column * bytesPerPixel;
      let pixel = 0;
      for (let nth = 0; nth < bytesPerPixel; nth++) {
        const place = littleEndian ? nth : bytesPerPixel - 1 - nth;
        pixel |= (data[at + nth] ?? 0) << (8 * place);
      }
      channels.forEach(({ shift, max }, channel) => {
        result[out + channel] = Math.round((((pixel >>> shift) & max) * 255) / max);
      });
    }
  }
  return result;
}

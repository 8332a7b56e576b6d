/**
 * A picture of the screen for the program that reads it: small letters are enlarged, which it reads better.
 */
import type { Backend, Picture } from "../backend";
import { type Region, sizeOf } from "../geometry";
import { encodePng } from "../png";
import { partOf } from "../screenshot";

/** What is read. */
export interface Page {
  /** A PNG in base64. */
  readonly base64: string;
  /** The corner of the region, in the pointer's units. */
  readonly x: number;
  readonly y: number;
  /** How many of its pixels are one unit of the pointer. */
  readonly scale: number;
}

/** Letters of a desktop are half as high as those of a scanned page of the same pixels. */
const ENLARGED = 2;
/** The most pixels of an enlarged page: beyond it the reader takes too long. */
const MAX_PIXELS = 10_000_000;

/** @param region default: all monitors together. @throws a `bad_input` failure when it is not on the desktop. */
export async function takePage(
  screen: Pick<Backend, "desktop" | "capture">,
  region: Region | undefined,
): Promise<Page> {
  const place = partOf(await screen.desktop(), region, "region");
  const picture = await screen.capture(place);
  const own = picture.width / sizeOf(place).width;
  const isSmall = own < ENLARGED && picture.width * picture.height * ENLARGED ** 2 <= MAX_PIXELS;
  const page = isSmall ? enlarged(picture) : picture;
  return {
    base64: Buffer.from(encodePng(page)).toString("base64"),
    ...{ x: place.x1, y: place.y1 },
    scale: page.width / sizeOf(place).width,
  };
}

/** Twice as wide and high, in grey: each new pixel is between its neighbours. */
function enlarged({ width, height, pixels }: Picture): Picture {
  const grey = new Uint8Array(width * height);
  for (let at = 0, from = 0; at < grey.length; at++, from += 4) {
    grey[at] =
      ((pixels[from] as number) + 2 * (pixels[from + 1] as number) + (pixels[from + 2] as number)) >> 2;
  }
  const [wide, high] = [width * ENLARGED, height * ENLARGED];
  const result = new Uint32Array(wide * high);
  for (let y = 0; y < high; y++) {
    const row = (y >> 1) * width;
    const below = y % 2 === 1 && (y >> 1) + 1 < height ? row + width : row;
    for (let x = 0; x < wide; x++) {
      const column = x >> 1;
      const right = x % 2 === 1 && column + 1 < width ? column + 1 : column;
      const sum =
        (grey[row + column] as number) +
        (grey[row + right] as number) +
        (grey[below + column] as number) +
        (grey[below + right] as number);
      result[y * wide + x] = (sum >> 2) * 0x01_01_01;
    }
  }
  return { width: wide, height: high, pixels: new Uint8Array(result.buffer), redAt: 0 };
}

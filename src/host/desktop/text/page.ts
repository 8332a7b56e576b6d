/**
 * A picture of the screen for the program that reads it: cleaned, and small letters enlarged, which it reads better.
 */
import type { Backend } from "../backend";
import { type Region, sizeOf } from "../geometry";
import { encodePng } from "../png";
import { partOf } from "../screenshot";
import { cleaned, enlarged } from "./clean";

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

/** How much larger a page may be: letters of a desktop are a third to half as high as those of a scanned page. */
const TIMES = [3, 2];
/** The most pixels of an enlarged page: beyond it the reader takes too long. */
const MAX_PIXELS = 10_000_000;
/** Pixels per unit of the pointer from which letters are large enough (Retina). */
const FINE = 2;

/** @param region default: all monitors together. @throws a `bad_input` failure when it is not on the desktop. */
export async function takePage(
  screen: Pick<Backend, "desktop" | "capture">,
  region: Region | undefined,
): Promise<Page> {
  const place = partOf(await screen.desktop(), region, "region");
  const picture = await screen.capture(place);
  const own = picture.width / sizeOf(place).width;
  const pixels = picture.width * picture.height;
  const times = own < FINE ? (TIMES.find((one) => pixels * one ** 2 <= MAX_PIXELS) ?? 1) : 1;
  const page = enlarged(cleaned(picture), times);
  return {
    base64: Buffer.from(encodePng(page)).toString("base64"),
    ...{ x: place.x1, y: place.y1 },
    scale: page.width / sizeOf(place).width,
  };
}

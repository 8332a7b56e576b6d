/**
 * A picture of the screen for the program that reads it: cleaned, and small letters enlarged, which it reads better. What it has read
 * before is left out.
 */
import type { Backend, Picture } from "../backend";
import { type Region, sizeOf } from "../geometry";
import { partOf } from "../screenshot";
import { type Box, boxesOf, INK } from "./blocks";
import { cleaned } from "./clean";
import { createInks, type Grey, hasShapeOfLetter } from "./shape";
import { type Block, type CutBlock, MARGIN, type Sheet, sheetsOf } from "./sheets";

/** What is read. */
export interface Page {
  /** The corner of the region, in the pointer's units. */
  readonly x: number;
  readonly y: number;
  /** How many of its pixels are one unit of the pointer. */
  readonly scale: number;
  readonly blocks: readonly Block[];
  /** Those blocks whose keys are not known; each once. */
  readonly sheets: readonly Sheet[];
}

/** How a page is made. */
export interface PageOptions {
  /** The keys of blocks that were read before. */
  readonly known: readonly string[];
  /** How many sheets are read at the same time. */
  readonly sheets: number;
}

/** How much larger a page may be: letters of a desktop are a third to half as high as those of a scanned page. */
const TIMES = [3, 2];
/** The most pixels of an enlarged page: beyond it the reader takes too long. */
const MAX_PIXELS = 10_000_000;
/** The highest picture that the reader takes, in pixels (leptonica, 16 bits). */
const MAX_HEIGHT = 32_000;
/** Pixels per unit of the pointer from which letters are large enough (Retina). */
const FINE = 2;

/** @param region default: all monitors together. @throws a `bad_input` failure when it is not on the desktop. */
export async function takePage(
  screen: Pick<Backend, "desktop" | "capture">,
  region: Region | undefined,
  options: PageOptions,
): Promise<Page> {
  const place = partOf(await screen.desktop(), region, "region");
  const picture = await screen.capture(place);
  return { ...pageOf(picture, picture.width / sizeOf(place).width, options), x: place.x1, y: place.y1 };
}

/** @param own how many of its pixels are one unit of the pointer. @returns the page of a picture whose corner is 0, 0. */
export function pageOf(picture: Picture, own: number, options: PageOptions): Page {
  const pixels = picture.width * picture.height;
  const times = own < FINE ? (TIMES.find((one) => pixels * one ** 2 <= MAX_PIXELS) ?? 1) : 1;
  const unit = Math.max(1, Math.round(own));
  const page = cleaned(picture);
  const blockOf = (box: Box) => {
    const part = cropped(page, box);
    return isNoText(part) ? [] : [{ box, part, key: keyOf(part, times) }];
  };
  const cut = boxesOf(page, unit).flatMap(blockOf);
  // Many short blocks side by side become a sheet that is larger than the page.
  const blocks = isSmall(cut, times)
    ? cut
    : blockOf({ left: 0, top: 0, width: page.width, height: page.height });
  const known = new Set(options.known);
  const unread = [...new Map(blocks.map((block) => [block.key, block])).values()].filter(
    ({ key }) => !known.has(key),
  );
  return {
    x: 0,
    y: 0,
    scale: own * times,
    blocks: blocks.map(({ key, box }) => ({ key, left: box.left * times, top: box.top * times })),
    sheets: sheetsOf(unread, { most: options.sheets, times, unit }),
  };
}

/** Whether all of these, one below the other, are no larger than the reader takes. */
function isSmall(parts: readonly CutBlock[], times: number): boolean {
  const width = Math.max(0, ...parts.map(({ box }) => box.left + box.width));
  const height = parts.reduce((sum, { part }) => sum + part.height + MARGIN, MARGIN);
  return height * times <= MAX_HEIGHT && width * height * times ** 2 <= MAX_PIXELS;
}

function cropped({ width, levels }: Grey, box: Box): Grey {
  const part = new Uint8Array(box.width * box.height);
  for (let y = 0; y < box.height; y++) {
    const from = (box.top + y) * width + box.left;
    part.set(levels.subarray(from, from + box.width), y * box.width);
  }
  return { width: box.width, height: box.height, levels: part };
}

/** A letter that fills the box around it, such as an l, is narrower than this part of its height. */
const STEM = 1 / 3;

/** Whether a block is nothing but a caret, a rule or a small frame, of which the reader would make a letter. */
function isNoText(part: Grey): boolean {
  const isInk = (pixel: number) => (part.levels[pixel] as number) < INK;
  const first = part.levels.findIndex((level) => level < INK);
  const ink = first < 0 ? undefined : createInks(part)(first, isInk);
  const isAll = ink?.wide === part.width && ink.high === part.height;
  if (!ink || !isAll) return false;
  const isFull = ink.pixels.length === part.levels.length && part.width > part.height * STEM;
  return isFull || !hasShapeOfLetter(ink, part.width);
}

const keyOf = ({ width, levels }: Grey, times: number): string =>
  new Bun.CryptoHasher("sha256").update(`${width} ${times} `).update(levels).digest("base64url").slice(0, 22);

/**
 * A picture of the screen for the program that reads it: cleaned, and small letters enlarged, which it reads better. What it has read
 * before is left out.
 */
import type { Backend, Picture } from "../backend";
import { type Region, sizeOf } from "../geometry";
import { partOf } from "../screenshot";
import { type Box, boxesOf, INK } from "./blocks";
import { cleaned, enlarged } from "./clean";
import { createInks, type Grey, hasShapeOfLetter } from "./shape";

/** A block of a page. */
export interface Block {
  /** Names what it looks like: two with the same key have the same pixels. */
  readonly key: string;
  /** Its corner, in pixels of the page. */
  readonly left: number;
  readonly top: number;
}

/**
 * Blocks below one another, in the order of the page and as far from its left edge as there: the reader takes a block that stands
 * elsewhere for other letters.
 */
export interface Sheet {
  /** A PGM in base64. */
  readonly base64: string;
  /** The key of each, the column at which it begins, and between which rows it is. */
  readonly blocks: ReadonlyArray<Block & { readonly until: number }>;
}

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
/** The white around each block of a sheet, in pixels of the screen. */
const MARGIN = 10;
/** A sheet of less is not worth a process of its own, in pixels of the screen. */
const SMALL_SHEET = 60_000;

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
  const page = cleaned(picture);
  const blockOf = (box: Box) => {
    const part = cropped(page, box);
    return isNoText(part) ? [] : [{ box, part, key: keyOf(part, times) }];
  };
  const cut = boxesOf(page, Math.max(1, Math.round(own))).flatMap(blockOf);
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
    sheets: sheetsOf(unread, options.sheets).map((sheet) => sheetOf(sheet, times)),
  };
}

/** Whether all of these, one below the other, are no larger than the reader takes. */
function isSmall(parts: readonly Part[], times: number): boolean {
  const width = Math.max(0, ...parts.map(({ box }) => box.left + box.width));
  const height = parts.reduce((sum, { part }) => sum + part.height + MARGIN, MARGIN);
  return height * times <= MAX_HEIGHT && width * height * times ** 2 <= MAX_PIXELS;
}

/** A block whose pixels are at hand. */
interface Part {
  readonly box: Box;
  readonly part: Grey;
  readonly key: string;
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

const areaOf = ({ part: { width, height } }: Part) => (width + 2 * MARGIN) * (height + MARGIN);

/** In so many sheets at most, each with about as much to read. */
function sheetsOf(parts: readonly Part[], most: number): Part[][] {
  const total = parts.reduce((sum, part) => sum + areaOf(part), 0);
  const count = Math.max(1, Math.min(most, Math.floor(total / SMALL_SHEET)));
  const sheets = Array.from({ length: count }, (): Part[] => []);
  let area = 0;
  for (const part of parts) {
    const nth = Math.min(count - 1, Math.floor(((area + areaOf(part) / 2) * count) / total));
    sheets[nth]?.push(part);
    area += areaOf(part);
  }
  return sheets.filter((sheet) => sheet.length > 0);
}

function sheetOf(parts: readonly Part[], times: number): Sheet {
  const left = Math.min(...parts.map(({ box }) => box.left)) - MARGIN;
  const width = Math.max(...parts.map(({ box }) => box.left + box.width)) + MARGIN - left;
  const height = parts.reduce((sum, { part }) => sum + part.height + MARGIN, MARGIN);
  const levels = new Uint8Array(width * height).fill(255);
  const blocks: Array<Sheet["blocks"][number]> = [];
  let top = MARGIN;
  for (const { part, box, key } of parts) {
    const column = box.left - left;
    for (let y = 0; y < part.height; y++) {
      levels.set(part.levels.subarray(y * part.width, (y + 1) * part.width), (top + y) * width + column);
    }
    blocks.push({ key, left: column * times, top: top * times, until: (top + part.height) * times });
    top += part.height + MARGIN;
  }
  return { base64: pgmOf(enlarged({ width, height, levels }, times)), blocks };
}

/** https://netpbm.sourceforge.net/doc/pgm.html */
const pgmOf = ({ width, height, levels }: Grey): string =>
  Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), levels]).toString("base64");

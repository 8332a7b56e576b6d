/**
 * What the child process sees on the screen: pictures in it, single pixels, whether it changes.
 *
 * Places are in the pointer's units, which are larger than a pixel on some displays (macOS).
 */
import { badInput, Failure, systemCode } from "../../../lib/errors";
import { readRegularFile } from "../../../lib/regular-file";
import { jsonLine } from "../../../lib/sanitize";
import type { Backend, Picture } from "../backend";
import { assertOn, type Point, type Region, type Size, sizeOf } from "../geometry";
import { encodePng } from "../png";
import { partOf } from "../screenshot";
import type { Difference, Hit, ImageMatches } from "./answers";
import { decodePng } from "./decode";
import { searchRedrawn } from "./redrawn";
import { resize } from "./resize";
import { isPlain, type Match, type SearchOptions, search, withoutOverlaps } from "./search";
import { createStillness, type StillCalls } from "./still";

/** Where a picture comes from: its bytes in base64, or the first of these paths at which there is a file; how it was asked for. */
export type ImageSource =
  | { readonly base64: string }
  | { readonly asked: string; readonly paths: readonly string[] };

export interface ImageQuery extends Omit<SearchOptions, "end"> {
  readonly image: ImageSource;
  /** Default: all monitors together. */
  readonly region?: Region | undefined;
  /** The sizes at which it may be shown, 1 for its own. */
  readonly scales: readonly number[];
  /** Whether the answer has the screen with the matches marked. */
  readonly marked: boolean;
}

/** The calls of the child process that see. */
export interface SeeingCalls extends StillCalls {
  locate(query: ImageQuery): Promise<ImageMatches>;
  /** @returns red, green and blue from 0 to 255. */
  pixel(place: Point): Promise<readonly [red: number, green: number, blue: number]>;
  /**
   * How the screen differs from a picture of it.
   *
   * @param tolerance by how much red, green or blue may differ.
   */
  difference(image: ImageSource, region: Region | undefined, tolerance: number): Promise<Difference>;
}

type Screen = Pick<Backend, "desktop" | "capture">;

/** The largest picture to look for, in pixels. */
const MAX_IMAGE_PIXELS = 2_000_000;
/** The largest picture to compare the screen with, in pixels: 8K. */
const MAX_SCREEN_PIXELS = 7_680 * 4_320;
/** The largest file, in bytes: a screenshot of 8K that is no noise. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** How long a search may take, in milliseconds: less than the call (`worker.ts`). */
const SEARCH_MS = 6_000;

/** @param use opens the display. */
export function createLook(use: () => Promise<Screen>): SeeingCalls {
  const capture = async (region: Region | undefined) => {
    const screen = await use();
    const place = partOf(await screen.desktop(), region, "region");
    const picture = await screen.capture(place);
    return { place, picture, scale: picture.width / sizeOf(place).width };
  };
  return {
    async locate({ image, region, threshold, scales, all, near, marked }) {
      const wanted = await readImage(image, MAX_IMAGE_PIXELS);
      if (isPlain(wanted))
        throw badInput("image: expected a picture of something but found one plain colour");
      const { place, picture, scale } = await capture(region);
      const end = performance.now() + SEARCH_MS;
      const options = { threshold, all, near, end };
      const found = scales.map((one) =>
        one === 1 ? search(picture, wanted, options) : searchRedrawn(picture, resize(wanted, one), options),
      );
      const best = withoutOverlaps(found.flatMap(({ matches }) => matches));
      const matches = all ? best : best.slice(0, 1);
      const others = found.flatMap(({ nearest }) => nearest ?? []).sort((a, b) => b.score - a.score);
      const [nearest] = matches.length > 0 ? [] : others;
      if (matches.length === 0 && near && !nearest) throw tooLarge(wanted, picture);
      const hit = (match: Match) => toHit(match, place, scale);
      return {
        matches: matches.map(hit),
        nearest: nearest ? hit(nearest) : null,
        marked: marked ? pngOf(outlined(picture, nearest ? [nearest] : matches, !nearest)) : null,
      };
    },
    async pixel({ x, y }) {
      const screen = await use();
      assertOn(await screen.desktop(), { x, y });
      const { pixels, redAt } = await screen.capture({ x1: x, y1: y, x2: x + 1, y2: y + 1 });
      return [pixels[redAt] ?? 0, pixels[1] ?? 0, pixels[2 - redAt] ?? 0];
    },
    ...createStillness(async (region) => (await capture(region)).picture),
    async difference(image, region, tolerance) {
      const before = await readImage(image, MAX_SCREEN_PIXELS);
      const { place, picture, scale } = await capture(region);
      if (before.width !== picture.width || before.height !== picture.height) {
        const [found, expected] = [before, picture].map(({ width, height }) => `${width} x ${height}`);
        throw badInput(`image: expected ${expected} pixels, as the screen there has, but found ${found}`);
      }
      return differenceOf(before, picture, { place, scale, tolerance });
    },
  };
}

const tooLarge = (image: Size, screen: Size) =>
  badInput(
    `image: its ${image.width} x ${image.height} pixels do not fit into the ${screen.width} x ${screen.height} of the region`,
  );

function toHit({ x, y, width, height, score }: Match, place: Region, scale: number): Hit {
  const [left, top] = [place.x1 + Math.round(x / scale), place.y1 + Math.round(y / scale)];
  const [wide, high] = [Math.max(1, Math.round(width / scale)), Math.max(1, Math.round(height / scale))];
  return {
    x: left,
    y: top,
    width: wide,
    height: high,
    score: Math.round(score * 10_000) / 10_000,
    center_x: left + Math.floor(wide / 2),
    center_y: top + Math.floor(high / 2),
  };
}

/** @throws a `bad_input` failure when there is no such file, or it is no PNG that can be used. */
async function readImage(source: ImageSource, maxPixels: number): Promise<Picture> {
  const bytes = "base64" in source ? Buffer.from(source.base64, "base64") : await readFirst(source);
  return decodePng(bytes, maxPixels, "image");
}

async function readFirst({ asked, paths }: Extract<ImageSource, { asked: string }>): Promise<Uint8Array> {
  for (const path of paths) {
    const bytes = await readRegular(path);
    if (bytes) return bytes;
  }
  throw badInput(`image: there is no file ${jsonLine(asked)}`);
}

async function readRegular(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readRegularFile(path, MAX_FILE_BYTES, (expected) => badInput(`image: ${expected}`));
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw badInput(`image: the file cannot be read (${code ?? "unknown error"})`);
  }
}

const pngOf = (picture: Picture) => Buffer.from(encodePng(picture)).toString("base64");

/** How thick the line around a match is, in pixels. */
const LINE = 2;
const [RED, ORANGE] = [
  [0xe0, 0x10, 0x30],
  [0xff, 0x9a, 0x00],
] as const;

/** The picture with a line around each of `places`, outside them: red around matches, orange around what is only near. */
function outlined(picture: Picture, places: readonly Match[], areMatches: boolean): Picture {
  const { width, height, redAt } = picture;
  const pixels = picture.pixels.slice();
  const [red, green, blue] = areMatches ? RED : ORANGE;
  const fill = (x1: number, y1: number, x2: number, y2: number) => {
    for (let y = Math.max(0, y1); y < Math.min(height, y2); y++) {
      for (let x = Math.max(0, x1); x < Math.min(width, x2); x++) {
        const at = (y * width + x) * 4;
        pixels[at + redAt] = red;
        pixels[at + 1] = green;
        pixels[at + 2 - redAt] = blue;
      }
    }
  };
  for (const { x, y, ...size } of places) {
    const [right, bottom] = [x + size.width, y + size.height];
    fill(x - LINE, y - LINE, right + LINE, y);
    fill(x - LINE, bottom, right + LINE, bottom + LINE);
    fill(x - LINE, y, x, bottom);
    fill(right, y, right + LINE, bottom);
  }
  return { ...picture, pixels };
}

function differenceOf(
  before: Picture,
  now: Picture,
  { place, scale, tolerance }: { readonly place: Region; readonly scale: number; readonly tolerance: number },
): Difference {
  const { width, height, redAt } = now;
  const swap = before.redAt === redAt ? 0 : 2;
  let changed = 0;
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const first = Math.abs((now.pixels[at] as number) - (before.pixels[at + swap] as number));
      const second = Math.abs((now.pixels[at + 1] as number) - (before.pixels[at + 1] as number));
      const third = Math.abs((now.pixels[at + 2] as number) - (before.pixels[at + 2 - swap] as number));
      if (first <= tolerance && second <= tolerance && third <= tolerance) continue;
      changed++;
      if (x < left) left = x;
      if (x >= right) right = x + 1;
      if (y < top) top = y;
      bottom = y + 1;
    }
  }
  const share = Math.ceil((changed / (width * height)) * 1_000_000) / 1_000_000;
  if (changed === 0) return { changed_pixels: 0, changed_share: 0, changed_region: null };
  return {
    changed_pixels: changed,
    changed_share: share,
    changed_region: [
      place.x1 + Math.floor(left / scale),
      place.y1 + Math.floor(top / scale),
      place.x1 + Math.ceil(right / scale),
      place.y1 + Math.ceil(bottom / scale),
    ],
  };
}

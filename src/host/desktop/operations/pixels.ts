/**
 * The operations on what the screen shows, whatever it means: the colour of a pixel, whether anything changes, and what has changed.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { between, field, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { timedOut } from "../../../lib/errors";
import { DIFFERENCE } from "../images/answers";
import { CORNERS, PNG, patience, SEES } from "../images/fields";
import { regionOf, sourceOf, until } from "../images/wait";
import { cornersOn, placeOn, RELATIVE_TO } from "../relative";
import { COLUMN, REGION, ROW, type Uses } from "./input-operation";

const PLACE = { x: field(COLUMN, "Column"), y: field(ROW, "Row") };
const TOLERANCE = whole(0, 255);
/** More pixels than a caret has, also the block of a terminal (9 x 17) and a bar on a screen of twice the density (4 x 40). */
const CARET_PIXELS = 200;
const COLOR = v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i, "# and six hexadecimal digits, such as #ff8800"));

type Rgb = readonly [red: number, green: number, blue: number];
const colorOf = (rgb: Rgb) => `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
const partsOf = (color: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as unknown as Rgb;

const PIXEL = v.object({
  x: v.number(),
  y: v.number(),
  color: v.string(),
  red: v.number(),
  green: v.number(),
  blue: v.number(),
});
const pixelAt = (x: number, y: number, rgb: Rgb) => {
  const [red, green, blue] = rgb;
  return { x, y, color: colorOf(rgb), red, green, blue };
};

export const getPixel = operation({
  ...SEES,
  name: "desktop.get_pixel",
  answeredBy: "display",
  summary: "Get the color of a pixel of the screen",
  command: "AC_get_pixel",
  example: { x: 640, y: 400 },
  input: v.strictObject({ ...PLACE, ...RELATIVE_TO }),
  output: PIXEL,
  async run(service: Uses, place, caller) {
    const desktop = await service.desktop();
    const at = await placeOn(desktop, place, requesterOf(caller));
    return pixelAt(at.x, at.y, await desktop.pixel(at, requesterOf(caller)));
  },
});

export const waitPixel = operation({
  ...SEES,
  name: "desktop.wait_pixel",
  summary: "Wait until a pixel of the screen has a color",
  command: "AC_wait_pixel",
  example: { x: 640, y: 400, color: "#00aa00", timeout: 30 },
  input: v.strictObject({
    ...PLACE,
    color: field(COLOR, "The color, such as #ff8800"),
    tolerance: field(v.optional(TOLERANCE, 10), "By how much red, green and blue may differ, of 255"),
    ...patience(10, 0.1),
    ...RELATIVE_TO,
  }),
  output: PIXEL,
  async run(service: Uses, { color, tolerance, timeout, poll, ...place }, caller) {
    const desktop = await service.desktop();
    const requester = requesterOf(caller);
    const { x, y } = await placeOn(desktop, place, requester);
    const expected = partsOf(color);
    return until({ timeout, poll }, requester.signal, async (isLast) => {
      const found = await desktop.pixel({ x, y }, requester);
      if (found.every((part, nth) => Math.abs(part - (expected[nth] ?? 0)) <= tolerance))
        return pixelAt(x, y, found);
      if (!isLast) return undefined;
      const is = colorOf(found);
      throw timedOut(`the pixel at ${x}, ${y} did not become ${color} within ${timeout} s: it is ${is}`, {
        color: is,
      });
    });
  },
});

export const waitStill = operation({
  ...SEES,
  name: "desktop.wait_still",
  summary: "Wait until the screen, or a region, has not changed for a while, but for a caret",
  command: "AC_wait_still",
  example: { still: 1, region: [0, 0, 640, 400] },
  input: v.strictObject({
    still: field(v.optional(seconds(between(0.05, 600)), 0.5), "Seconds without a change"),
    region: CORNERS,
    tolerance: field(
      v.optional(TOLERANCE, 0),
      "By how much red, green and blue of a pixel may differ, of 255",
    ),
    max_changed: field(
      v.optional(whole(0, 100_000_000), CARET_PIXELS),
      "How many pixels may differ; a caret that blinks has fewer than the default",
    ),
    ...patience(10, 0.1),
    ...RELATIVE_TO,
  }),
  output: v.null(),
  async run(service: Uses, { still, tolerance, max_changed, timeout, poll, ...where }, caller) {
    const desktop = await service.desktop();
    const requester = requesterOf(caller);
    const { region } = await cornersOn(desktop, where, requester);
    const stillness = { region: regionOf(region), tolerance, max_changed };
    const wait = crypto.randomUUID();
    let since = 0;
    let largest = 0;
    try {
      await until({ timeout, poll }, requester.signal, async (isLast) => {
        const asked = performance.now();
        const changed = await desktop.changedPixels(wait, stillness, requester);
        largest = Math.max(largest, changed ?? 0);
        if (changed === null || changed > max_changed) since = performance.now();
        else if (asked - since >= still * 1_000) return true;
        if (!isLast) return undefined;
        const most =
          largest > max_changed ? `: ${largest} pixels changed, expected at most ${max_changed}` : "";
        throw timedOut(`the screen was not still for ${still} s within ${timeout} s${most}`);
      });
    } finally {
      await desktop.endWait(wait).catch(() => {});
    }
    return null;
  },
});

const screenshotDiff = operation({
  ...SEES,
  name: "desktop.screenshot_diff",
  summary: "Compare the screen with an earlier screenshot of it; returns how much has changed, and where",
  command: "AC_screenshot_diff",
  example: { image: "before.png", region: [0, 0, 640, 400] },
  input: v.strictObject({
    image: field(
      PNG,
      "The earlier screenshot, a PNG of the same size: a path as for AC_locate_image_center, or base64",
    ),
    region: field(v.optional(REGION), "What it shows: x1, y1, x2, y2 (default: all monitors together)"),
    tolerance: field(v.optional(TOLERANCE, 0), "By how much red, green and blue may differ, of 255"),
  }),
  output: DIFFERENCE,
  async run(service: Uses, { image, region, tolerance }, caller) {
    const desktop = await service.desktop();
    const source = sourceOf(image, desktop, caller);
    return desktop.difference(source, regionOf(region), tolerance, requesterOf(caller));
  },
});

export const operations = [getPixel, waitPixel, waitStill, screenshotDiff];

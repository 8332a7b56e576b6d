/**
 * The operations that see: pictures on the screen, single pixels, and whether it changes.
 *
 * They have the scope of the screenshot; what clicks has that of the click.
 */
import * as v from "valibot";
import { ACTION_LIST, between, field, flag, pathOrContent, seconds, whole } from "../../core/fields";
import { failed, INSIDE, insideOf, runOf } from "../../core/nested";
import { operation } from "../../core/operation";
import { rejected, timedOut } from "../../lib/errors";
import { BUTTON, BUTTONS, COORDINATE, inputOperation, NO_ROUTE, REGION, type Uses } from "../shared";
import { DIFFERENCE, HIT, LOCATED } from "./seen";
import { bestOf, nameOf, nearestOf, queryOf, regionOf, sourceOf, until, waitForImage } from "./wait";

export { bestOf };

const SEES = { scope: "screen", reveals: true, leftOut: NO_ROUTE } as const;

/** The longest picture in base64, in characters. */
const MAX_CONTENT = 4 * 1024 * 1024;
const PNG = pathOrContent(v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_CONTENT)));
const CORNERS = field(
  v.optional(REGION),
  "Where to look: x1, y1, x2, y2 in the coordinates of the pointer; column x2 and row y2 are not in it",
);
const WANTED = {
  image: field(
    PNG,
    "The PNG to look for: the name of a file in {config_dir}/images, or base64; in scripts and on the command line also an absolute path, or one from the folder of the script or the working folder",
  ),
  detect_threshold: field(
    v.optional(between(0.5, 1), 0.9),
    "The lowest score that counts: 1 is a perfect copy; a part that differs lowers it more than noise does",
  ),
  region: CORNERS,
  scales: field(
    v.optional(v.pipe(v.array(between(0.25, 4)), v.minLength(1), v.maxLength(8)), [1]),
    "The sizes at which it may be shown: 1 is its own, 2 is twice as wide and high",
  ),
};
const patience = (timeout: number, poll: number) => ({
  timeout: field(v.optional(seconds(between(0, 3_600)), timeout), "Seconds to wait"),
  poll: field(v.optional(seconds(between(0.01, 60)), poll), "Seconds between two looks"),
});
const WAITING = patience(10, 0.5);
const EXAMPLE = { image: "save.png" };
/** One look. */
const ONCE = { timeout: 0, poll: 0 };

export const locate = operation({
  name: "desktop.locate",
  summary: "Look for an image on the screen; returns all matches or the best one, and where it comes near",
  scope: "screen",
  reveals: true,
  subcommand: "locate",
  http: { method: "POST", path: "/locate" },
  leftOut: { script: "AC_locate_image_center and AC_locate_all_image do it" },
  example: EXAMPLE,
  input: v.strictObject({
    ...WANTED,
    all: flag("Return all matches, and not only the best one"),
    marked: flag("Return a picture of the region too, with a line around each match"),
  }),
  output: v.object({ found: v.boolean(), ...LOCATED.entries }),
  async run(service: Uses, { all, marked, ...wanted }, caller) {
    const desktop = await service.desktop();
    const query = { ...queryOf(wanted, desktop, caller), all, marked, near: true };
    const located = await desktop.locate(query, caller.signal);
    return { found: located.matches.length > 0, ...located };
  },
});

const locateCenter = operation({
  ...SEES,
  name: "desktop.locate_image_center",
  summary: "Find an image on the screen; returns where the best match is",
  command: "AC_locate_image_center",
  example: EXAMPLE,
  input: v.strictObject(WANTED),
  output: HIT,
  run: async (service: Uses, wanted, caller) => waitForImage(await service.desktop(), wanted, ONCE, caller),
});

const locateAll = operation({
  ...SEES,
  name: "desktop.locate_all_image",
  summary: "Find an image on the screen wherever it is; returns the matches, the best first",
  command: "AC_locate_all_image",
  example: EXAMPLE,
  input: v.strictObject(WANTED),
  output: v.array(HIT),
  async run(service: Uses, wanted, caller) {
    const desktop = await service.desktop();
    const query = { ...queryOf(wanted, desktop, caller), all: true };
    const { matches } = await desktop.locate(query, caller.signal);
    // The search for the nearest one takes longer.
    return matches.length > 0 ? matches : [await waitForImage(desktop, wanted, ONCE, caller)];
  },
});

export const locateAndClick = inputOperation("locate_and_click", {
  summary: "Find an image on the screen and click on it; returns where it was",
  example: { image: "save.png", timeout: 10 },
  input: v.strictObject({
    ...WANTED,
    mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"),
    offset_x: field(
      v.optional(COORDINATE, 0),
      "Columns to the right of its center; a negative number is to the left",
    ),
    offset_y: field(v.optional(COORDINATE, 0), "Rows below its center; a negative number is above"),
    clicks: field(v.optional(whole(1, 3), 1), "How often to click"),
    ...patience(0, 0.5),
  }),
  output: HIT,
  async perform(
    desktop,
    { mouse_keycode, offset_x, offset_y, clicks, timeout, poll, ...wanted },
    signal,
    caller,
  ) {
    const match = await waitForImage(desktop, wanted, { timeout, poll }, { ...caller, signal });
    const place = { x: match.center_x + offset_x, y: match.center_y + offset_y };
    for (let nth = 0; nth < clicks; nth++) {
      await desktop.click(place, BUTTONS[mouse_keycode], "tap", signal);
    }
    return match;
  },
});

const waitImage = operation({
  ...SEES,
  name: "desktop.wait_image",
  summary: "Wait for an image on the screen; returns where it is",
  command: "AC_wait_image",
  example: { image: "ready.png", timeout: 30 },
  input: v.strictObject({ ...WANTED, ...WAITING }),
  output: HIT,
  run: async (service: Uses, { timeout, poll, ...wanted }, caller) =>
    waitForImage(await service.desktop(), wanted, { timeout, poll }, caller),
});

export const waitImageGone = operation({
  ...SEES,
  name: "desktop.wait_image_gone",
  summary: "Wait until an image is not on the screen",
  command: "AC_wait_image_gone",
  example: { image: "loading.png", timeout: 30 },
  input: v.strictObject({ ...WANTED, ...WAITING }),
  output: v.null(),
  async run(service: Uses, { timeout, poll, ...wanted }, caller) {
    const desktop = await service.desktop();
    const query = queryOf(wanted, desktop, caller);
    await until({ timeout, poll }, caller.signal, async (isLast) => {
      const [match] = (await desktop.locate(query, caller.signal)).matches;
      if (!match) return true;
      if (!isLast) return undefined;
      const where = `at ${match.x}, ${match.y} with a score of ${match.score}`;
      throw timedOut(`${nameOf(wanted)} is still there after ${timeout} s, ${where}`, { match });
    });
    return null;
  },
});

const IN_LISTS = "it has a meaning inside a list of actions only";

const ifImageFound = operation({
  ...SEES,
  name: "desktop.if_image_found",
  summary: "Run actions depending on whether an image is on the screen",
  command: "AC_if_image_found",
  leftOut: { http: IN_LISTS, cli: IN_LISTS },
  example: { image: "warning.png", then: [["AC_hotkey", { key_code_list: ["esc"] }]] },
  input: v.strictObject({
    ...WANTED,
    then: field(v.optional(ACTION_LIST, []), "Actions that run when it is there"),
    else: field(v.optional(ACTION_LIST, []), "Actions that run when it is not"),
  }),
  output: v.object({ match: v.nullable(HIT), ...INSIDE }),
  async run(service: Uses, wanted, caller) {
    const run = runOf(caller);
    const desktop = await service.desktop();
    const { matches } = await desktop.locate(queryOf(wanted, desktop, caller), caller.signal);
    const [match = null] = matches;
    const report = await run.list(match ? "then" : "else");
    if (!report.ok) throw failed(report, report.error ?? "", { match, ...insideOf([report]) });
    return { match, ...insideOf([report]) };
  },
});

const assertImage = operation({
  ...SEES,
  name: "desktop.assert_image",
  summary: "Fail unless an image is on the screen; returns where it is",
  command: "AC_assert_image",
  example: EXAMPLE,
  input: v.strictObject({
    ...WANTED,
    message: field(v.optional(v.pipe(v.string(), v.maxLength(1_000)), ""), "What the failure says first"),
  }),
  output: HIT,
  async run(service: Uses, { message, ...wanted }, caller) {
    const desktop = await service.desktop();
    const query = { ...queryOf(wanted, desktop, caller), near: true };
    const located = await desktop.locate(query, caller.signal);
    const [match] = located.matches;
    if (match) return match;
    const { words, more } = nearestOf(located, wanted);
    const missing = `${nameOf(wanted)} is not on the screen${words}`;
    throw rejected(message === "" ? missing : `${message}: ${missing}`, more);
  },
});

// Pixels

const PLACE = { x: field(COORDINATE, "Column"), y: field(COORDINATE, "Row") };
const TOLERANCE = whole(0, 255);
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
  summary: "Get the color of a pixel of the screen",
  command: "AC_get_pixel",
  example: { x: 640, y: 400 },
  input: v.strictObject(PLACE),
  output: PIXEL,
  run: async (service: Uses, { x, y }, { signal }) =>
    pixelAt(x, y, await (await service.desktop()).pixel({ x, y }, signal)),
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
  }),
  output: PIXEL,
  async run(service: Uses, { x, y, color, tolerance, timeout, poll }, { signal }) {
    const desktop = await service.desktop();
    const expected = partsOf(color);
    return until({ timeout, poll }, signal, async (isLast) => {
      const found = await desktop.pixel({ x, y }, signal);
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
  summary: "Wait until nothing on the screen, or in a region, has changed for a while",
  command: "AC_wait_still",
  example: { still: 1, region: [0, 0, 640, 400] },
  input: v.strictObject({
    still: field(v.optional(seconds(between(0.05, 600)), 0.5), "Seconds without a change"),
    region: CORNERS,
    ...patience(10, 0.1),
  }),
  output: v.null(),
  async run(service: Uses, { still, region, timeout, poll }, { signal }) {
    const desktop = await service.desktop();
    const place = regionOf(region);
    let [last, since] = ["", 0];
    await until({ timeout, poll }, signal, async (isLast) => {
      const asked = performance.now();
      const now = await desktop.fingerprint(place, signal);
      if (now !== last) [last, since] = [now, performance.now()];
      else if (asked - since >= still * 1_000) return true;
      if (!isLast) return undefined;
      throw timedOut(`the screen was not still for ${still} s within ${timeout} s`);
    });
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
    return desktop.difference(source, regionOf(region), tolerance, caller.signal);
  },
});

export const operations = [
  locate,
  locateCenter,
  locateAll,
  locateAndClick,
  waitImage,
  waitImageGone,
  ifImageFound,
  assertImage,
  getPixel,
  waitPixel,
  waitStill,
  screenshotDiff,
];

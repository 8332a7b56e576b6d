/**
 * Which desktop a run works on: that of the host, one of its own, or one that is kept under a name.
 */
import * as v from "valibot";
import { field } from "./fields";

/** What asks for a desktop that begins with the run and ends with it. */
export const NEW = "new";

/** The name of a desktop that is kept. */
export const DESKTOP_NAME = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/, "1 to 40 letters, digits, '.', '_' or '-'"),
);

const SMALLEST = { width: 320, height: 200 };
/** An X server takes no more columns or rows (16 bits, signed). */
const LARGEST = 16_384;
/** What a desktop has at most, in pixels: 8K UHD. An X server holds four bytes of each, and svc as many for a picture. */
const MOST_PIXELS = 7_680 * 4_320;

const SIZE_TEXT = /^\d{3,5}x\d{3,5}$/;
const SIZE = v.pipe(
  v.string(),
  v.regex(SIZE_TEXT, "WIDTHxHEIGHT, such as 1280x800"),
  v.check((text) => {
    if (!SIZE_TEXT.test(text)) return true;
    const { width, height } = sizeIn(text);
    const isLargeEnough = width >= SMALLEST.width && height >= SMALLEST.height;
    return isLargeEnough && Math.max(width, height) <= LARGEST && width * height <= MOST_PIXELS;
  }, `at least ${SMALLEST.width}x${SMALLEST.height}, at most ${LARGEST} each way, and as many pixels as 7680x4320`),
);

/** How a desktop is made. */
export const DESKTOP_SETTINGS = {
  size: field(v.optional(SIZE), "Its size in pixels (default: 1280x800)"),
  scale: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4))),
    "How many pixels programs draw for one (default: 1)",
  ),
  locale: field(
    v.optional(
      v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.@-]{1,64}$/, "the name of a locale, such as de_DE.UTF-8")),
    ),
    "The language of its programs (default: that of svc)",
  ),
  session: field(
    v.optional(v.picklist(["x11", "wayland"])),
    "What its programs draw on: x11 (the default), or wayland, by sway",
  ),
};

/** `new`, the name of a desktop that is kept, or either with how it is made. */
export const DESKTOP_REQUEST = v.union([
  DESKTOP_NAME,
  v.strictObject({ name: v.optional(DESKTOP_NAME), ...DESKTOP_SETTINGS }),
]);

export type DesktopRequest = v.InferOutput<typeof DESKTOP_REQUEST>;

/** How a desktop is asked for to be made. What is left out has its default. */
export type DesktopSettings = Omit<Exclude<DesktopRequest, string>, "name">;

/** `desktop` among the options of a run. */
export const ON_DESKTOP = field(
  v.optional(DESKTOP_REQUEST),
  "The desktop to run on: `new`, which ends with the run, or the name of a kept one (default: the host's)",
);

/** `desktop` of an operation that looks at a screen. */
export const AT_DESKTOP = field(
  v.optional(DESKTOP_NAME),
  "A desktop of `svc desktops list` (default: the host's)",
);

function sizeIn(text: string): { readonly width: number; readonly height: number } {
  const [width = 0, height = 0] = text.split("x").map(Number);
  return { width, height };
}

/** The parts of a request. */
export function partsOf(request: DesktopRequest): { readonly name: string } & DesktopSettings {
  return typeof request === "string" ? { name: request } : { ...request, name: request.name ?? NEW };
}

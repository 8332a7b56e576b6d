import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Service } from "../../service";
import { COORDINATE, PAIR } from "./fields";

const REGION = v.pipe(
  v.strictTuple([COORDINATE, COORDINATE, COORDINATE, COORDINATE]),
  v.check(([x1, y1, x2, y2]) => x2 > x1 && y2 > y1, "[x1, y1, x2, y2] with x2 above x1 and y2 above y1"),
);
const FRAME = v.strictObject({
  screen_region: field(
    v.optional(REGION),
    "[x1, y1, x2, y2] in pixels, without the last column and row; in a query string x1,y1,x2,y2",
  ),
  monitor: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(63))),
    "Number of a monitor, from 0; screen_region is then within it",
  ),
});
type Frame = v.InferOutput<typeof FRAME>;

const INLINE = v.object({
  format: v.literal("png"),
  /** Null of hosts that do not tell. */
  width: v.nullable(v.number()),
  height: v.nullable(v.number()),
  encoding: v.literal("base64"),
  data: v.string(),
});
const IN_FILE = v.object({
  format: v.literal("png"),
  width: v.number(),
  height: v.number(),
  file_path: v.string(),
});

export const screenSize = operation({
  name: "desktop.screen_size",
  summary: "Tell the size of the desktop, all monitors together",
  scope: "read",
  command: "AC_screen_size",
  http: { method: "GET", path: "/screen_size" },
  input: NO_INPUT,
  output: v.object({ width: v.number(), height: v.number() }),
  plain: { output: PAIR, of: ({ width, height }) => [width, height] },
  run: async (service: Service, _input, { signal }) => (await service.desktop()).screenSize(signal),
});

export const screenshot = operation({
  name: "desktop.screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in base64",
  scope: "read",
  http: { method: "GET", path: "/screenshot" },
  input: FRAME,
  output: INLINE,
  run: (service: Service, frame, caller) => inline(service, frame, caller),
});

export const saveScreenshot = operation({
  name: "desktop.save_screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in a file or in base64",
  scope: "operate",
  changes: true,
  command: "AC_screenshot",
  example: { file_path: "/var/tmp/screen.png", screen_region: [0, 0, 640, 400] },
  input: v.strictObject({
    file_path: field(
      v.optional(
        v.pipe(v.string(), v.maxLength(4_096), v.regex(/^[^\0]*\.png$/i, "a path that ends in .png")),
      ),
      "Where to write it on the host, replacing what is there (default: in the answer)",
    ),
    ...FRAME.entries,
  }),
  output: v.union([INLINE, IN_FILE]),
  async run(service: Service, { file_path, ...frame }, caller) {
    if (file_path === undefined) return inline(service, frame, caller);
    const { width, height } = await take(service, frame, file_path, caller);
    return { format: "png" as const, width, height, file_path };
  },
});

export const operations = [screenSize, screenshot, saveScreenshot];

async function inline(service: Service, frame: Frame, caller: Caller): Promise<v.InferInput<typeof INLINE>> {
  const { width, height, base64 } = await take(service, frame, null, caller);
  return { format: "png", width, height, encoding: "base64", data: base64 ?? "" };
}

async function take(
  service: Service,
  { screen_region, monitor }: Frame,
  file: string | null,
  { signal }: Caller,
) {
  const region = screen_region && regionOf(screen_region);
  return (await service.desktop()).screenshot({ monitor, region }, file, signal);
}

const regionOf = ([x1, y1, x2, y2]: v.InferOutput<typeof REGION>) => ({ x1, y1, x2, y2 });

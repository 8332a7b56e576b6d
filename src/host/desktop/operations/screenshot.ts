/**
 * The operations of the screen: its size, its monitors, and pictures of it.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { AT_DESKTOP } from "../../../core/desktop-request";
import { field, NO_INPUT, path, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import type { Requester } from "../../../lib/slots";
import { NO_ROUTE, PAIR, REGION, type Uses } from "./input-operation";

const FRAME = v.strictObject({
  screen_region: field(v.optional(REGION), "Region in pixels: x1, y1, x2, y2; x2 and y2 are outside"),
  monitor: field(v.optional(whole(0, 63)), "Number of the monitor, from 0; the region is relative to it"),
});

/** x1, y1, x2, y2. */
const CORNERS = v.strictTuple([v.number(), v.number(), v.number(), v.number()]);

const INLINE = v.object({
  format: v.literal("png"),
  /** Null of hosts that do not report it. */
  width: v.nullable(v.number()),
  height: v.nullable(v.number()),
  /** What it shows, in coordinates of the pointer, of which a sharp monitor has fewer than pixels. Hosts of before do not send it. */
  region: v.optional(v.nullable(CORNERS), null),
  encoding: v.literal("base64"),
  data: v.string(),
});
const SIZE = { width: v.number(), height: v.number() };
const IN_FILE = v.object({ format: v.literal("png"), ...SIZE, file_path: v.string() });

export const screenSize = operation({
  name: "desktop.screen_size",
  answeredBy: "display",
  summary: "Get the size of the desktop, all monitors together",
  scope: "read",
  command: "AC_screen_size",
  http: { method: "GET", path: "/screen_size" },
  input: NO_INPUT,
  output: v.object(SIZE),
  plain: { output: PAIR, of: ({ width, height }) => [width, height] },
  run: async (service: Uses, _input, caller) => (await service.desktop()).screenSize(requesterOf(caller)),
});

export const listMonitors = operation({
  name: "desktop.monitors",
  answeredBy: "display",
  summary: "List the monitors, with their numbers and where each is",
  scope: "read",
  command: "AC_monitors",
  leftOut: NO_ROUTE,
  input: NO_INPUT,
  output: v.object({
    monitors: v.array(v.object({ monitor: v.number(), x: v.number(), y: v.number(), ...SIZE })),
  }),
  async run(service: Uses, _input, caller) {
    const found = await (await service.desktop()).monitors(requesterOf(caller));
    const monitors = found.map(({ x1, y1, x2, y2 }, monitor) => ({
      monitor,
      x: x1,
      y: y1,
      width: x2 - x1,
      height: y2 - y1,
    }));
    return { monitors };
  },
});

const SHOT = v.strictObject({ ...FRAME.entries, desktop: AT_DESKTOP });

async function takeScreenshot(
  service: Uses,
  { screen_region, monitor, desktop }: v.InferOutput<typeof SHOT>,
  file: string | null,
  requester: Requester,
) {
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = screen_region ?? [];
  const region = screen_region && { x1, y1, x2, y2 };
  const { base64, width, height, shown } = await (await service.desktop(desktop)).screenshot(
    { monitor, region },
    file,
    requester,
  );
  const corners: v.InferOutput<typeof CORNERS> = [shown.x1, shown.y1, shown.x2, shown.y2];
  return {
    format: "png",
    width,
    height,
    region: corners,
    encoding: "base64",
    data: base64 ?? "",
  } as const;
}

export const screenshot = operation({
  name: "desktop.screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in base64",
  scope: "screen",
  reveals: true,
  subcommand: "screenshot",
  http: { method: "GET", path: "/screenshot" },
  answeredBy: "display",
  leftOut: { script: "AC_screenshot does it, and can write a file" },
  input: SHOT,
  output: INLINE,
  run: (service: Uses, frame, caller) => takeScreenshot(service, frame, null, requesterOf(caller)),
});

const PNG_PATH = v.pipe(
  v.string(),
  v.maxLength(4_096),
  v.regex(/^[^\0]*\.png$/i, "a path that ends in .png"),
);

export const saveScreenshot = operation({
  name: "desktop.save_screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in a file or in base64",
  scope: "screen",
  changes: true,
  command: "AC_screenshot",
  leftOut: { ...NO_ROUTE, cli: "`svc screenshot --output` writes the file" },
  example: { file_path: "/var/tmp/screen.png", screen_region: [0, 0, 640, 400] },
  input: v.strictObject({
    file_path: field(
      v.optional(path(PNG_PATH)),
      "File to write on the host; an existing one is replaced (default: none, the answer has the picture)",
    ),
    ...SHOT.entries,
  }),
  output: v.union([INLINE, IN_FILE]),
  async run(service: Uses, { file_path, ...frame }, caller) {
    const taken = await takeScreenshot(service, frame, file_path ?? null, requesterOf(caller));
    if (file_path === undefined) return taken;
    const { format, width, height } = taken;
    return { format, width, height, file_path };
  },
});

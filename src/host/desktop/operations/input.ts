/**
 * The operations of screen, pointer and keyboard.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { AT_DESKTOP } from "../../../core/desktop-request";
import { between, field, flag, judged, NO_INPUT, path, point, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { DEFAULT_PACE_S } from "../../../core/run";
import { nearest } from "../../../lib/nearest";
import type { Requester } from "../../../lib/slots";
import type { Stroke } from "../backend";
import type { Desktop } from "../desktop";
import { drag } from "../drag";
import { giveFocusBack, isHolding } from "../focus-hold";
import { takeInput } from "../input-place";
import { isKey, isTypable, KEY_NAMES, keysNamed } from "../keys";
import { placeOn, pointOn, RELATIVE_TO, reach } from "../relative";
import {
  BUTTON,
  BUTTONS,
  COLUMN,
  COORDINATE,
  inputOperation,
  NO_ROUTE,
  PAIR,
  pair,
  REGION,
  ROW,
  type Uses,
} from "./input-operation";

// The screen

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

const screenSize = operation({
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
      ...{ x: x1, y: y1, width: x2 - x1, height: y2 - y1 },
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

const saveScreenshot = operation({
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

// The pointer

const DIRECTION = v.picklist(["scroll_up", "scroll_down", "scroll_left", "scroll_right"]);
const DIRECTIONS = {
  scroll_up: "up",
  scroll_down: "down",
  scroll_left: "left",
  scroll_right: "right",
} as const;

const target = {
  x: field(v.optional(COLUMN), "Column to move the pointer to first (default: the current one)"),
  y: field(v.optional(ROW), "Row to move the pointer to first (default: the current one)"),
};

const mousePosition = operation({
  name: "desktop.mouse_position",
  answeredBy: "display",
  summary: "Get the position of the pointer",
  scope: "read",
  command: "AC_get_mouse_position",
  http: { method: "GET", path: "/mouse_position" },
  input: NO_INPUT,
  output: v.object({ x: v.number(), y: v.number() }),
  plain: { output: PAIR, of: pair },
  run: async (service: Uses, _input, caller) => (await service.desktop()).pointer(requesterOf(caller)),
});

export const setMousePosition = inputOperation("set_mouse_position", {
  summary: "Move the pointer; returns its new position",
  example: { x: 640, y: 400 },
  input: v.strictObject({ x: field(COLUMN, "Column"), y: field(ROW, "Row"), ...RELATIVE_TO }),
  output: PAIR,
  perform: async (desktop, place, requester) =>
    pair(await desktop.move(await pointOn(desktop, place, requester), requester)),
});

const BUTTON_AT = { mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"), ...target };

function buttonOperation(verb: string, what: string, stroke: Stroke) {
  return inputOperation(verb, {
    summary: `${what}; returns the position of the pointer`,
    input: v.strictObject({ ...BUTTON_AT, ...RELATIVE_TO }),
    output: PAIR,
    async perform(desktop, { mouse_keycode, ...place }, requester, { run }) {
      const at = await placeOn(desktop, place, requester);
      // What is dragged may well be let go on another window.
      if (stroke !== "release") await reach(desktop, at, place.relative_to, requester, run);
      return pair(await desktop.click(at, BUTTONS[mouse_keycode], stroke, requester));
    },
  });
}

export const clickMouse = inputOperation("click_mouse", {
  summary: "Click a button; returns the position of the pointer",
  input: v.strictObject({
    ...BUTTON_AT,
    clicks: field(v.optional(whole(1, 3), 1), "How often to click: 2 is a double click"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { mouse_keycode, clicks, ...place }, requester, { run }) {
    const there = await placeOn(desktop, place, requester);
    await reach(desktop, there, place.relative_to, requester, run);
    let at = await desktop.click(there, BUTTONS[mouse_keycode], "tap", requester);
    for (let nth = 1; nth < clicks; nth++) {
      at = await desktop.click({}, BUTTONS[mouse_keycode], "tap", requester);
    }
    return pair(at);
  },
});
export const pressMouse = buttonOperation("press_mouse", "Press a button and hold it", "press");
export const releaseMouse = buttonOperation("release_mouse", "Release a button", "release");

export const scrollMouse = inputOperation("mouse_scroll", {
  summary: "Turn the mouse wheel; returns the position of the pointer",
  example: { scroll_value: 3 },
  input: v.strictObject({
    scroll_value: field(
      whole(-1_000, 1_000),
      "How many notches; a negative number turns the wheel the other way",
    ),
    ...target,
    scroll_direction: field(v.optional(DIRECTION, "scroll_down"), "The direction"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { scroll_value, scroll_direction, ...place }, requester, { run }) {
    const at = await placeOn(desktop, place, requester);
    await reach(desktop, at, place.relative_to, requester, run);
    return pair(await desktop.scroll(at, DIRECTIONS[scroll_direction], scroll_value, requester));
  },
});

const PLACE = point(v.strictTuple([COORDINATE, COORDINATE]));

export const dragMouse = inputOperation("drag", {
  summary: "Drag with a button from one place to another; returns the position of the pointer",
  example: { from: [100, 200], to: [400, 200] },
  input: v.strictObject({
    from: field(PLACE, "Where the button goes down: x, y"),
    to: field(PLACE, "Where it goes up: x, y"),
    duration: field(v.optional(seconds(between(0, 60)), 0.5), "Seconds that the way takes"),
    mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"),
    ...RELATIVE_TO,
  }),
  output: PAIR,
  async perform(desktop, { from, to, duration, mouse_keycode, relative_to }, requester, { run }) {
    // Both from one look: the window may be what is dragged.
    const { x, y } = await pointOn(desktop, { x: 0, y: 0, relative_to }, requester);
    const at = ([column, row]: readonly [number, number]) => ({ x: x + column, y: y + row });
    await reach(desktop, at(from), relative_to, requester, run);
    const way = { from: at(from), to: at(to), duration_s: duration, button: BUTTONS[mouse_keycode] };
    return pair(await drag(desktop, way, requester));
  },
});

// The keyboard

const done = () => null;

/** What may be meant by `value`, which is no key: of several with `+` between them, each that is none has the name that is nearest. */
function meantKeys(value: string): readonly string[] {
  const keys = keysNamed(value);
  if (keys.length === 1) return KEY_NAMES;
  const near = keys.map((key) => (isKey(key) ? key : (nearest(key, KEY_NAMES) ?? key)));
  return near.every(isKey) ? [near.join("+")] : [];
}

const KEY = v.pipe(
  v.string(),
  v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
    if (!typed || keysNamed(value).every(isKey)) return;
    const expected = meantKeys(value)
      .map((name) => JSON.stringify(name))
      .join(" | ");
    addIssue({ message: "one character, or the name of a key such as enter, esc, left or f5", expected });
  }),
);
const KEYS = v.pipe(v.array(KEY), v.minLength(1), v.maxLength(16));
const TEXT = v.pipe(
  v.string(),
  v.maxLength(20_000),
  v.check(isTypable, "text without control characters other than tab and line feed"),
);

/**
 * Keys go to the window that has the focus: they wait until a click before them has given it to the one that it was meant for, and the
 * one that the script holds has it again.
 */
async function beforeKeys(desktop: Desktop, requester: Requester, { run }: Caller): Promise<void> {
  await desktop.pointerRests(run?.pace ?? DEFAULT_PACE_S, requester);
  await giveFocusBack(desktop, requester, run);
}

/** What is pressed as `Shift` is released as `shift`. */
async function strike(
  desktop: Desktop,
  keys: readonly string[],
  stroke: Stroke,
  requester: Requester,
  caller: Caller,
) {
  if (stroke !== "release") await beforeKeys(desktop, requester, caller);
  return desktop.strike(keys.flatMap(keysNamed), stroke, requester).then(done);
}

function keyOperation(verb: string, summary: string, stroke: Stroke) {
  return inputOperation(verb, {
    summary,
    input: v.strictObject({
      keycode: field(
        KEY,
        "The key: one character, or a name such as enter, ctrl, f5 or num0; or several, such as ctrl+s",
      ),
      is_shift: flag("Use Shift together with the key"),
    }),
    output: v.null(),
    perform: (desktop, { keycode, is_shift }, requester, caller) =>
      strike(desktop, is_shift ? ["shift", keycode] : [keycode], stroke, requester, caller),
  });
}

export const typeKey = keyOperation("type_keyboard", "Press and release a key", "tap");
export const pressKey = keyOperation("press_keyboard_key", "Press a key and hold it", "press");
export const releaseKey = keyOperation("release_keyboard_key", "Release a key", "release");

export const hotkey = inputOperation("hotkey", {
  summary: "Press keys one after the other and release them in reverse order",
  example: { key_code_list: ["ctrl", "s"] },
  input: v.strictObject({
    key_code_list: field(KEYS, 'The keys in order, such as ["ctrl", "s"]'),
  }),
  output: v.null(),
  perform: (desktop, { key_code_list }, requester, caller) =>
    strike(desktop, key_code_list, "tap", requester, caller),
});

/** Characters that are typed before somebody looks whether the held window still has the focus. */
const PIECE = 24;

/** A text in pieces of {@link PIECE}, none of which ends within a character. */
function piecesOf(text: string): string[] {
  const characters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const count = Math.ceil(characters.length / PIECE);
  return Array.from({ length: count }, (_, nth) => characters.slice(nth * PIECE, (nth + 1) * PIECE).join(""));
}

export const writeText = inputOperation("write", {
  summary: "Type text into the window that has the focus",
  example: { write_string: "Grüße" },
  input: v.strictObject({
    write_string: field(judged(TEXT), "Any Unicode text; a tab and a line feed are the keys Tab and Enter"),
  }),
  output: v.null(),
  async perform(desktop, { write_string }, requester, caller) {
    for (const piece of isHolding(desktop, caller.run) ? piecesOf(write_string) : [write_string]) {
      await beforeKeys(desktop, requester, caller);
      await desktop.type(piece, requester);
    }
    return null;
  },
});

export const operations = [
  screenSize,
  listMonitors,
  screenshot,
  takeInput,
  saveScreenshot,
  mousePosition,
  setMousePosition,
  clickMouse,
  pressMouse,
  releaseMouse,
  scrollMouse,
  dragMouse,
  typeKey,
  pressKey,
  releaseKey,
  hotkey,
  writeText,
];

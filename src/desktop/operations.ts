import * as v from "valibot";
import type { Caller } from "../caller";
import { unavailable } from "../lib/errors";
import { field, NO_INPUT, operation, secret } from "../operation";
import type { Service } from "../service";
import type { Point, Region } from "./geometry";
import { isKey, isTypable, KEY_NAMES } from "./keys";

const integer = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

/** Far beyond any desktop (X11 has 16 bits for a coordinate). */
const COORDINATE = integer(-32_768, 32_767);
const x = field(v.optional(COORDINATE), "Column to move the pointer to first (default: where it is)");
const y = field(v.optional(COORDINATE), "Row to move the pointer to first (default: where it is)");

const BUTTONS = { mouse_left: "left", mouse_middle: "middle", mouse_right: "right" } as const;
const DIRECTIONS = {
  scroll_up: "up",
  scroll_down: "down",
  scroll_left: "left",
  scroll_right: "right",
} as const;
const mouse_keycode = field(v.optional(v.picklist(namesOf(BUTTONS)), "mouse_left"), "The button");

const KEY = v.pipe(v.string(), v.check(isKey, `one character, or one of ${KEY_NAMES.join(" ")}`));
const keycode = field(KEY, "The key: one character, or a name such as enter, ctrl, f5 or num0");
const is_shift = field(v.optional(v.boolean(), false), "Hold Shift with it");

const SCREEN_REGION = v.pipe(
  v.strictTuple([COORDINATE, COORDINATE, COORDINATE, COORDINATE]),
  v.check(([x1, y1, x2, y2]) => x2 > x1 && y2 > y1, "[x1, y1, x2, y2] with x2 above x1 and y2 above y1"),
);
const frame = {
  screen_region: field(
    v.optional(SCREEN_REGION),
    "[x1, y1, x2, y2] in pixels, without the last column and row; in a query string x1,y1,x2,y2",
  ),
  monitor: field(v.optional(integer(0, 63)), "Number of a monitor, from 0; screen_region is then within it"),
};

const title_substring = field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000)), "A part of its title");
const case_sensitive = field(v.optional(v.boolean(), false), "Whether capitals matter in the title");
const seconds = (min: number, max: number) => v.pipe(v.number(), v.minValue(min), v.maxValue(max));

const PLACE = v.strictTuple([v.number(), v.number()]);
const HWND = v.pipe(v.number(), v.description("The window's hwnd"));
const DONE = v.null();
const INLINE_PNG = {
  format: v.literal("png"),
  width: v.number(),
  height: v.number(),
  encoding: v.literal("base64"),
  data: v.string(),
};

export const screenSize = operation({
  name: "desktop.screen_size",
  summary: "Tell the size of the desktop, all monitors together, in pixels",
  scope: "read",
  command: "AC_screen_size",
  http: { method: "GET", path: "/screen_size" },
  input: NO_INPUT,
  output: v.object({ width: v.number(), height: v.number() }),
  plain: { output: PLACE, of: ({ width, height }) => [width, height] },
  run: async (service, _input, { signal }) => (await service.desktop()).screenSize(signal),
});

export const mousePosition = operation({
  name: "desktop.mouse_position",
  summary: "Tell where the pointer is",
  scope: "read",
  command: "AC_get_mouse_position",
  http: { method: "GET", path: "/mouse_position" },
  input: NO_INPUT,
  output: v.object({ x: v.number(), y: v.number() }),
  plain: { output: PLACE, of: placeOf },
  run: async (service, _input, { signal }) => (await service.desktop()).pointer(signal),
});

export const setMousePosition = operation({
  name: "desktop.set_mouse_position",
  summary: "Move the pointer; answers where it then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_set_mouse_position",
  input: v.strictObject({ x: field(COORDINATE, "Column"), y: field(COORDINATE, "Row") }),
  output: PLACE,
  run: async (service, target, { signal }) => placeOf(await (await service.desktop()).move(target, signal)),
});

const mouseInput = v.strictObject({ mouse_keycode, x, y });

export const clickMouse = operation({
  name: "desktop.click_mouse",
  summary: "Click a button; answers where the pointer then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_click_mouse",
  input: mouseInput,
  output: PLACE,
  run: (service, input, caller) => click(service, input, "tap", caller),
});

export const pressMouse = operation({
  name: "desktop.press_mouse",
  summary: "Press a button and leave it down; answers where the pointer then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_press_mouse",
  input: mouseInput,
  output: PLACE,
  run: (service, input, caller) => click(service, input, "press", caller),
});

export const releaseMouse = operation({
  name: "desktop.release_mouse",
  summary: "Release a button; answers where the pointer then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_release_mouse",
  input: mouseInput,
  output: PLACE,
  run: (service, input, caller) => click(service, input, "release", caller),
});

export const scrollMouse = operation({
  name: "desktop.mouse_scroll",
  summary: "Turn the wheel; answers where the pointer then is",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_mouse_scroll",
  input: v.strictObject({
    scroll_value: field(integer(-1_000, 1_000), "How many notches; a negative number turns the other way"),
    x,
    y,
    scroll_direction: field(v.optional(v.picklist(namesOf(DIRECTIONS)), "scroll_down"), "Which way"),
  }),
  output: PLACE,
  async run(service, { scroll_value, x, y, scroll_direction }, { signal }) {
    const desktop = await service.desktop();
    return placeOf(await desktop.scroll({ x, y }, DIRECTIONS[scroll_direction], scroll_value, signal));
  },
});

const keyInput = v.strictObject({ keycode, is_shift });

export const typeKeyboard = operation({
  name: "desktop.type_keyboard",
  summary: "Press and release a key",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_type_keyboard",
  input: keyInput,
  output: DONE,
  run: (service, input, caller) => strike(service, keysOf(input), "tap", caller),
});

export const pressKey = operation({
  name: "desktop.press_keyboard_key",
  summary: "Press a key and leave it down",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_press_keyboard_key",
  input: keyInput,
  output: DONE,
  run: (service, input, caller) => strike(service, keysOf(input), "press", caller),
});

export const releaseKey = operation({
  name: "desktop.release_keyboard_key",
  summary: "Release a key",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_release_keyboard_key",
  input: keyInput,
  output: DONE,
  run: (service, input, caller) => strike(service, keysOf(input), "release", caller),
});

export const hotkey = operation({
  name: "desktop.hotkey",
  summary: "Press keys one after the other and release them in reverse",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_hotkey",
  input: v.strictObject({
    key_code_list: field(
      v.pipe(v.array(KEY), v.minLength(1), v.maxLength(16)),
      'The keys in order, such as ["ctrl", "s"]',
    ),
  }),
  output: DONE,
  run: (service, { key_code_list }, caller) => strike(service, key_code_list, "tap", caller),
});

export const writeText = operation({
  name: "desktop.write",
  summary: "Type a text into the window that has the focus",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_write",
  input: v.strictObject({
    write_string: field(
      secret(
        v.pipe(
          v.string(),
          v.maxLength(20_000),
          v.check(isTypable, "text without control characters other than tab and line feed"),
        ),
      ),
      "Any Unicode text; a tab and a line feed are the keys Tab and Enter",
    ),
  }),
  output: DONE,
  async run(service, { write_string }, { signal }) {
    await (await service.desktop()).type(write_string, signal);
    return null;
  },
});

export const screenshot = operation({
  name: "desktop.screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in base64",
  scope: "read",
  http: { method: "GET", path: "/screenshot" },
  input: v.strictObject(frame),
  output: v.object(INLINE_PNG),
  run: (service, input, caller) => takeInline(service, input, caller),
});

export const saveScreenshot = operation({
  name: "desktop.save_screenshot",
  summary: "Take a picture of the desktop, a monitor or a region, as a PNG in a file or in base64",
  scope: "operate",
  changes: true,
  command: "AC_screenshot",
  input: v.strictObject({
    file_path: field(
      v.optional(
        v.pipe(v.string(), v.maxLength(4_096), v.regex(/^[^\0]*\.png$/i, "a path that ends in .png")),
      ),
      "Where to write it on the host, replacing what is there (default: in the answer)",
    ),
    ...frame,
  }),
  output: v.union([
    v.object(INLINE_PNG),
    v.object({ format: v.literal("png"), width: v.number(), height: v.number(), file_path: v.string() }),
  ]),
  async run(service, { file_path, ...frame }, caller) {
    if (file_path === undefined) return takeInline(service, frame, caller);
    const { width, height } = await take(service, frame, file_path, caller);
    return { format: "png" as const, width, height, file_path };
  },
});

export const listWindows = operation({
  name: "desktop.windows",
  summary: "List the windows on the desktop",
  scope: "read",
  command: "AC_list_windows",
  http: { method: "GET", path: "/windows" },
  input: v.strictObject({
    titled_only: field(v.optional(v.boolean(), true), "Leave out windows without a title"),
  }),
  output: v.object({
    windows: v.array(v.object({ hwnd: v.number(), title: v.string() })),
    platform_supported: v.exactOptional(v.literal(false)),
  }),
  plain: {
    output: v.array(v.strictTuple([HWND, v.string()])),
    of({ windows, platform_supported }) {
      if (platform_supported === false)
        throw unavailable("this platform does not tell which windows there are");
      return windows.map(({ hwnd, title }) => [hwnd, title]);
    },
  },
  async run(service, { titled_only }, { signal }) {
    const windows = await (await service.desktop()).windows(signal);
    if (!windows) return { windows: [], platform_supported: false as const };
    return { windows: windows.filter(({ title }) => title !== "" || !titled_only) };
  },
});

export const focusWindow = operation({
  name: "desktop.focus_window",
  summary: "Give the focus to the first window whose title contains a text; answers its hwnd",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_focus_window",
  input: v.strictObject({ title_substring, case_sensitive }),
  output: HWND,
  async run(service, { title_substring, case_sensitive }, { signal }) {
    const { focusByTitle } = await import("./windows");
    const query = { titleSubstring: title_substring, caseSensitive: case_sensitive };
    return focusByTitle(await service.desktop(), query, signal);
  },
});

export const waitWindow = operation({
  name: "desktop.wait_window",
  summary: "Wait until there is a window whose title contains a text; answers its hwnd",
  scope: "read",
  command: "AC_wait_window",
  input: v.strictObject({
    title_substring,
    timeout: field(v.optional(seconds(0, 3_600), 10), "How long to wait, in seconds"),
    poll: field(v.optional(seconds(0.01, 60), 0.5), "How often to look, in seconds"),
    case_sensitive,
  }),
  output: HWND,
  async run(service, { title_substring, case_sensitive, timeout, poll }, { signal }) {
    const { waitForTitle } = await import("./windows");
    const query = { titleSubstring: title_substring, caseSensitive: case_sensitive };
    return waitForTitle(await service.desktop(), query, { timeout, poll }, signal);
  },
});

export const operations = [
  screenSize,
  mousePosition,
  setMousePosition,
  clickMouse,
  pressMouse,
  releaseMouse,
  scrollMouse,
  typeKeyboard,
  pressKey,
  releaseKey,
  hotkey,
  writeText,
  screenshot,
  saveScreenshot,
  listWindows,
  focusWindow,
  waitWindow,
];

function placeOf({ x, y }: Point): [number, number] {
  return [x, y];
}

function namesOf<T extends Record<string, unknown>>(table: T): (keyof T & string)[] {
  return Object.keys(table);
}

async function click(
  service: Service,
  { mouse_keycode, x, y }: v.InferOutput<typeof mouseInput>,
  stroke: "press" | "release" | "tap",
  { signal }: Caller,
): Promise<[number, number]> {
  return placeOf(await (await service.desktop()).click({ x, y }, BUTTONS[mouse_keycode], stroke, signal));
}

async function strike(
  service: Service,
  keys: readonly string[],
  stroke: "press" | "release" | "tap",
  { signal }: Caller,
): Promise<null> {
  await (await service.desktop()).strike(keys, stroke, signal);
  return null;
}

function keysOf({ keycode, is_shift }: v.InferOutput<typeof keyInput>): string[] {
  return is_shift ? ["shift", keycode] : [keycode];
}

type FrameInput = v.InferOutput<v.StrictObjectSchema<typeof frame, undefined>>;

async function take(
  service: Service,
  { screen_region, monitor }: FrameInput,
  file: string | null,
  { signal }: Caller,
) {
  const region = screen_region && regionOf(screen_region);
  return (await service.desktop()).screenshot({ monitor, region }, file, signal);
}

function regionOf([x1, y1, x2, y2]: v.InferOutput<typeof SCREEN_REGION>): Region {
  return { x1, y1, x2, y2 };
}

async function takeInline(service: Service, input: FrameInput, caller: Caller) {
  const { width, height, base64 } = await take(service, input, null, caller);
  return { format: "png" as const, width, height, encoding: "base64" as const, data: base64 ?? "" };
}

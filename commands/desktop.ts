/** `svc desktop`: moves pointer, keyboard and windows, and looks at pixels and text on the screen. */
import * as v from "valibot";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { waitImageGone } from "../src/host/desktop/images/operations";
import { allowDesktop } from "../src/host/desktop/operations/allow";
import { hotkey, pressKey, releaseKey, typeKey, writeText } from "../src/host/desktop/operations/keyboard";
import { getPixel, waitPixel, waitStill } from "../src/host/desktop/operations/pixels";
import {
  clickMouse,
  dragMouse,
  pressMouse,
  releaseMouse,
  scrollMouse,
  setMousePosition,
} from "../src/host/desktop/operations/pointer";
import { listMonitors } from "../src/host/desktop/operations/screenshot";
import { locateText, waitText } from "../src/host/desktop/operations/text";
import {
  CANNOT_LIST,
  closeWindow,
  focusWindow,
  listWindows,
  maximizeWindow,
  minimizeWindow,
  moveWindow,
  resizeWindow,
  waitWindow,
  waitWindowGone,
} from "../src/host/desktop/operations/windows";

const byTitle = { names: { title_substring: "title" }, positionals: ["title_substring"] } as const;

type Row = v.InferInput<typeof listWindows.output>["windows"][number];

/** Hosts of former versions say no more than hwnd and title. */
const rowOf = ({ hwnd, title, x, y, width, height, process, state, focused }: Row) => [
  `${hwnd}`,
  process ?? "-",
  typeof x === "number" ? `${width}x${height} at ${x},${y}` : "-",
  [state ?? "-", ...(focused ? ["focused"] : [])].join(", "),
  title,
];

const ALLOWED = {
  not_needed: "nobody has to allow svc this desktop",
  kept: "svc may use this desktop from now on",
  held: "svc may use this desktop until its server ends: the portal here remembers nothing (xdg-desktop-portal 1.18 does)",
} as const;

export default {
  verbs: {
    allow: view(allowDesktop, {
      text: ({ allowed }) => ALLOWED[allowed],
      examples: [["$0 desktop allow", "Typed at the screen: say yes in the dialog that opens"]],
    }),
    "set-mouse-position": view(setMousePosition, {
      positionals: ["x", "y"],
      examples: [["$0 desktop set-mouse-position 640 400", "Move the pointer"]],
    }),
    "click-mouse": view(clickMouse, {
      positionals: ["x", "y"],
      examples: [["$0 desktop click-mouse 640 400", "Move the pointer and click the left button"]],
    }),
    "press-mouse": view(pressMouse, { positionals: ["x", "y"] }),
    "release-mouse": view(releaseMouse, { positionals: ["x", "y"] }),
    "mouse-scroll": view(scrollMouse, {
      positionals: ["scroll_value", "x", "y"],
      examples: [["$0 desktop mouse-scroll 3 640 400", "Turn the wheel by three notches at a place"]],
    }),
    drag: view(dragMouse, {
      text: ([x, y]) => `dragged to ${x}, ${y}`,
      examples: [["$0 desktop drag --from 100,200 --to 400,200", "Drag with the left button"]],
    }),
    "get-pixel": view(getPixel, {
      positionals: ["x", "y"],
      examples: [["$0 desktop get-pixel 640 400", "The color of a pixel"]],
    }),
    "wait-pixel": view(waitPixel, {
      positionals: ["x", "y", "color"],
      examples: [["$0 desktop wait-pixel 640 400 '#00aa00'", "Wait until a pixel has a color"]],
    }),
    "wait-still": view(waitStill, {
      text: () => "nothing changes any more",
      examples: [["$0 desktop wait-still --still 2s", "Wait until nothing has changed for two seconds"]],
    }),
    "wait-image-gone": view(waitImageGone, { text: () => "the image is no longer on the screen" }),
    monitors: view(listMonitors, {
      columns: ["MONITOR", "PLACE"],
      rows: ({ monitors }) =>
        monitors.map(({ monitor, x, y, width, height }) => [`${monitor}`, `${x},${y} ${width}x${height}`]),
      examples: [["$0 desktop monitors", "Which monitor has which number"]],
    }),
    windows: view(listWindows, {
      columns: ["HWND", "PROCESS", "PLACE", "STATE", "TITLE"],
      rows: ({ windows }) => windows.map(rowOf),
      none: "no windows",
      problems: ({ platform_supported }) => (platform_supported === false ? [CANNOT_LIST] : []),
      good: ({ platform_supported }) => platform_supported !== false,
    }),
    "focus-window": view(focusWindow, {
      ...byTitle,
      examples: [["$0 desktop focus-window Report", "Focus the first window with that in its title"]],
    }),
    "wait-window": view(waitWindow, {
      ...byTitle,
      examples: [["$0 desktop wait-window Report --timeout 30s", "Wait for a window"]],
    }),
    "wait-window-gone": view(waitWindowGone, {
      ...byTitle,
      text: () => "no such window is open",
      examples: [["$0 desktop wait-window-gone Saving --timeout 30s", "Wait until a window is closed"]],
    }),
    "close-window": view(closeWindow, byTitle),
    "minimize-window": view(minimizeWindow, byTitle),
    "maximize-window": view(maximizeWindow, byTitle),
    "move-window": view(moveWindow, {
      ...byTitle,
      examples: [["$0 desktop move-window Report --x 0 --y 0", "Move a window to the upper left corner"]],
    }),
    "resize-window": view(resizeWindow, {
      ...byTitle,
      examples: [["$0 desktop resize-window --process xterm --width 800 --height 600", "Resize a window"]],
    }),
    "locate-text": view(locateText, {
      positionals: ["text"],
      examples: [['$0 desktop locate-text "Save changes"', "Say where a text is on the screen"]],
    }),
    "wait-text": view(waitText, {
      positionals: ["text"],
      examples: [["$0 desktop wait-text Saved --timeout 30s", "Wait for a text on the screen"]],
    }),
    write: view(writeText, {
      hidden: ["write_string"],
      extra: {
        write_string: field(
          v.string(),
          "The text; - reads it from stdin, because other users can see a command line",
        ),
      },
      names: { write_string: "text" },
      positionals: ["write_string"],
      complete: async (_input, { write_string: text }) => ({
        write_string: text === "-" ? (await Bun.stdin.text()).replace(/\r?\n$/, "") : text,
      }),
      text: () => "typed",
      examples: [
        ["$0 desktop write hello", "Type into the window that has the focus"],
        ["$0 desktop write - < password", "Keep the text out of the process list"],
      ],
    }),
    "type-keyboard": view(typeKey, {
      positionals: ["keycode"],
      text: () => "pressed",
      examples: [["$0 desktop type-keyboard Page_Down", "Press and release a key"]],
    }),
    "press-keyboard-key": view(pressKey, { positionals: ["keycode"], text: () => "held" }),
    "release-keyboard-key": view(releaseKey, { positionals: ["keycode"], text: () => "released" }),
    hotkey: view(hotkey, {
      hidden: ["key_code_list"],
      extra: { key_code_list: field(v.string(), "The keys in order, with + between them") },
      names: { key_code_list: "keys" },
      positionals: ["key_code_list"],
      complete: (_input, { key_code_list: keys }) => ({ key_code_list: [keys] }),
      text: () => "pressed",
      examples: [["$0 desktop hotkey ctrl+shift+t", "Press keys in order, release them in reverse"]],
    }),
  },
} satisfies Group;

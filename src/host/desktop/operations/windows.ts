/**
 * The operations of windows: listing and finding them, moving, resizing and closing them.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { between, columns, field, flag, rows, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, unavailable } from "../../../lib/errors";
import { WINDOW_STATES, type WindowRequest } from "../backend";
import { holdFocus } from "../focus-hold";
import {
  CANNOT_LIST,
  findWindow,
  focusByTitle,
  listed,
  matches,
  waitForTitle,
  waitUntilGone,
} from "../windows";
import { COLUMN, inputOperation, NO_ROUTE, ROW, type Uses } from "./input-operation";

export { CANNOT_LIST };

const HWND = v.number();
const LENGTH = whole(1, 32_767);

/** Which window; one of them at least. */
const TITLE = {
  title_substring: field(
    v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000))),
    "Part of the window's title",
  ),
};
const OTHERS = {
  case_sensitive: flag("Match upper and lower case exactly"),
  process: field(
    v.optional(v.union([v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000)), whole(1, 2 ** 31)])),
    "Name of the window's program, or its process id; on Linux also that of a wrapper or shell that started it, as AC_launch answers",
  ),
  hwnd: field(v.optional(whole(0, Number.MAX_SAFE_INTEGER)), "The window's hwnd"),
};

/** The input of a command that finds a window. @param own the fields of the command itself; `last` where it got them later. */
function windowInput<const E extends v.ObjectEntries>(own: E, place: "second" | "last" = "second") {
  const [second, last] = place === "second" ? [own, {}] : [{}, own];
  const entries = { ...TITLE, ...second, ...OTHERS, ...last } as typeof TITLE & E & typeof OTHERS;
  return v.pipe(
    v.strictObject(entries),
    v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
      if (typed && ["title_substring", "process", "hwnd"].every((name) => !Object.hasOwn(value, name)))
        addIssue({ message: "title_substring, process or hwnd", received: "none of them" });
    }),
  );
}

/** Null of hosts that do not report it. */
const reported = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null);

const WINDOW_ROW = v.object({
  hwnd: HWND,
  title: v.string(),
  /** The outline with its frame, in the coordinates of the pointer. */
  x: reported(v.number()),
  y: reported(v.number()),
  width: reported(v.number()),
  height: reported(v.number()),
  /** From 0; null when it is on all desktops, or the system does not say. */
  desktop: reported(v.number()),
  pid: reported(v.number()),
  process: reported(v.string()),
  state: reported(v.picklist(WINDOW_STATES)),
  focused: reported(v.boolean()),
});

const TITLED_ONLY = field(v.optional(v.boolean(), true), "Leave out windows without a title");

export const listWindows = operation({
  name: "desktop.windows",
  answeredBy: "display",
  summary: "List the windows on the desktop",
  scope: "screen",
  reveals: true,
  command: "AC_list_windows",
  http: { method: "GET", path: "/windows" },
  input: v.strictObject({ titled_only: TITLED_ONLY }),
  output: v.object({
    windows: v.array(WINDOW_ROW),
    platform_supported: v.exactOptional(v.literal(false)),
  }),
  plain: {
    output: v.array(v.strictTuple([HWND, v.string()])),
    of({ windows, platform_supported }) {
      // An empty list would mean that there are none.
      if (platform_supported === false) throw unavailable(CANNOT_LIST);
      return windows.map(({ hwnd, title }) => [hwnd, title]);
    },
  },
  async run(service: Uses, { titled_only }, caller) {
    const windows = await (await service.desktop()).windows(requesterOf(caller));
    if (!windows) return { windows: [], platform_supported: false as const };
    return { windows: windows.filter(({ title }) => title !== "" || !titled_only) };
  },
});

const windowRows = operation({
  name: "desktop.window_rows",
  answeredBy: "display",
  summary: "List windows with their place, desktop, process and state",
  scope: "screen",
  reveals: true,
  command: "AC_windows",
  leftOut: {
    http: "GET /windows answers with the same rows",
    cli: "`svc desktop windows` prints the same rows",
  },
  example: { process: "xterm" },
  input: v.strictObject({ ...TITLE, titled_only: TITLED_ONLY, ...OTHERS }),
  output: v.array(WINDOW_ROW),
  async run(service: Uses, { titled_only, ...query }, caller) {
    const windows = await listed(await service.desktop(), requesterOf(caller));
    return windows.filter((window) => (window.title !== "" || !titled_only) && matches(window, query));
  },
});

export const focusWindow = inputOperation("focus_window", {
  summary: "Focus the first window that matches; returns its hwnd",
  aims: true,
  example: { title_substring: "Report" },
  input: windowInput(
    {
      hold: flag(
        "In a script: until the next AC_focus_window, keys go to this window or another of its program; one of another program that takes the focus loses it again",
      ),
    },
    "last",
  ),
  output: HWND,
  async perform(desktop, { hold, ...query }, requester, { run }) {
    if (hold && !run) throw badInput("hold: only a script can hold a window");
    const hwnd = await focusByTitle(desktop, query, requester);
    if (run) await holdFocus(desktop, hold ? hwnd : undefined, requester, run);
    return hwnd;
  },
});

const PATIENCE = {
  timeout: field(v.optional(seconds(between(0, 3_600)), 10), "Seconds to wait"),
  poll: field(v.optional(seconds(between(0.01, 60)), 0.5), "Seconds between two checks"),
};

export const waitWindow = operation({
  name: "desktop.wait_window",
  summary: "Wait for a window that matches; returns its hwnd",
  scope: "operate",
  reveals: true,
  aims: true,
  command: "AC_wait_window",
  leftOut: NO_ROUTE,
  example: { title_substring: "Report", timeout: 30 },
  input: windowInput(PATIENCE),
  output: HWND,
  run: async (service: Uses, query, caller) =>
    waitForTitle(await service.desktop(), query, requesterOf(caller)),
});

export const waitWindowGone = operation({
  name: "desktop.wait_window_gone",
  summary: "Wait until no window matches",
  scope: "operate",
  reveals: true,
  command: "AC_wait_window_gone",
  leftOut: NO_ROUTE,
  example: { title_substring: "Saving", timeout: 30 },
  input: windowInput(PATIENCE),
  output: v.null(),
  run: async (service: Uses, query, caller) =>
    waitUntilGone(await service.desktop(), query, requesterOf(caller)),
});

const PLACE = v.object({
  hwnd: HWND,
  x: v.number(),
  y: v.number(),
  width: v.number(),
  height: v.number(),
});

export const moveWindow = inputOperation("move_window", {
  summary: "Move the first window that matches; returns where it is then",
  aims: true,
  example: { title_substring: "Report", x: 0, y: 0 },
  input: windowInput({
    x: field(COLUMN, "Column of its left edge"),
    y: field(ROW, "Row of its upper edge"),
  }),
  output: PLACE,
  async perform(desktop, { x, y, ...query }, requester) {
    const { hwnd } = await findWindow(desktop, query, requester);
    return { hwnd, ...(await desktop.place(hwnd, { x, y }, requester)) };
  },
});

export const resizeWindow = inputOperation("resize_window", {
  summary: "Resize the first window that matches; returns where it is then",
  aims: true,
  example: { title_substring: "Report", width: 800, height: 600 },
  input: windowInput({
    width: field(columns(LENGTH), "Its width in pixels, with its frame"),
    height: field(rows(LENGTH), "Its height in pixels, with its frame"),
  }),
  output: PLACE,
  async perform(desktop, { width, height, ...query }, requester) {
    const { hwnd } = await findWindow(desktop, query, requester);
    return { hwnd, ...(await desktop.place(hwnd, { width, height }, requester)) };
  },
});

function requestOperation(what: WindowRequest, summary: string) {
  return inputOperation(`${what}_window`, {
    summary: `${summary}; returns its hwnd`,
    aims: true,
    example: { title_substring: "Report" },
    input: windowInput({}),
    output: HWND,
    async perform(desktop, query, requester) {
      const { hwnd } = await findWindow(desktop, query, requester);
      await desktop.request(hwnd, what, requester);
      return hwnd;
    },
  });
}

export const closeWindow = requestOperation(
  "close",
  "Ask the first window that matches to close, as its close button does",
);
export const minimizeWindow = requestOperation("minimize", "Minimise the first window that matches");
export const maximizeWindow = requestOperation("maximize", "Maximise the first window that matches");

export const operations = [
  listWindows,
  windowRows,
  focusWindow,
  waitWindow,
  waitWindowGone,
  moveWindow,
  resizeWindow,
  closeWindow,
  minimizeWindow,
  maximizeWindow,
];

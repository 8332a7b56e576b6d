import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { unavailable } from "../../lib/errors";
import type { Service } from "../../service";
import { focusByTitle, NOT_TOLD, waitForTitle } from "../windows";

const title = field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000)), "A part of its title");
const caseSensitive = field(v.optional(v.boolean(), false), "Whether capitals matter in the title");
const HWND = v.number();

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
    windows: v.array(v.object({ hwnd: HWND, title: v.string() })),
    platform_supported: v.exactOptional(v.literal(false)),
  }),
  plain: {
    output: v.array(v.strictTuple([HWND, v.string()])),
    of({ windows, platform_supported }) {
      // In a plain list, none would look like none there.
      if (platform_supported === false) throw unavailable(NOT_TOLD);
      return windows.map(({ hwnd, title }) => [hwnd, title]);
    },
  },
  async run(service: Service, { titled_only }, { signal }) {
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
  example: { title_substring: "Report" },
  input: v.strictObject({ title_substring: title, case_sensitive: caseSensitive }),
  output: HWND,
  async run(service: Service, { title_substring, case_sensitive }, { signal }) {
    const query = { titleSubstring: title_substring, caseSensitive: case_sensitive };
    return focusByTitle(await service.desktop(), query, signal);
  },
});

export const waitWindow = operation({
  name: "desktop.wait_window",
  summary: "Wait until there is a window whose title contains a text; answers its hwnd",
  scope: "read",
  command: "AC_wait_window",
  example: { title_substring: "Report", timeout: 30 },
  input: v.strictObject({
    title_substring: title,
    timeout: field(
      v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(3_600)), 10),
      "How long to wait, in seconds",
    ),
    poll: field(
      v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(60)), 0.5),
      "How often to look, in seconds",
    ),
    case_sensitive: caseSensitive,
  }),
  output: HWND,
  async run(service: Service, { title_substring, case_sensitive, timeout, poll }, { signal }) {
    const query = { titleSubstring: title_substring, caseSensitive: case_sensitive };
    return waitForTitle(await service.desktop(), query, { timeout, poll }, signal);
  },
});

export const operations = [listWindows, focusWindow, waitWindow];

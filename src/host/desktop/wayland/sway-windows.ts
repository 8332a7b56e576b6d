/**
 * The windows of sway: with their places, their processes and their workspaces.
 */
import { sleep } from "../../../lib/deadline";
import { notFound, unavailable } from "../../../lib/errors";
import type { Backend, DesktopWindow, Place } from "../backend";
import { programOf } from "../program-name";
import type { Sway, SwayNode, SwayWindow } from "./sway-ipc";

/** The workspace of windows that are put aside. */
const SCRATCHPAD = "__i3_scratch";
/** How long a window may take to do what it is asked, and how often it is looked at, in milliseconds. */
const DONE_MS = 4_000;
const POLL_MS = 20;
/** For how long a place must be the same, in milliseconds: sway waits up to 200 for the program to draw its window anew. */
const STILL_MS = 300;
/** The same for the place that is wanted. */
const THERE_MS = 60;

export function createSwayWindows(sway: Sway): Pick<Backend, "windows" | "focus" | "place" | "request"> {
  const find = async (hwnd: number) => {
    const found = (await sway.windows()).find(({ node }) => node.id === hwnd);
    if (!found) throw notFound(`there is no window ${hwnd}`);
    return found;
  };
  const tell = async (hwnd: number, ...commands: readonly string[]) => {
    await find(hwnd);
    await sway.command(commands.map((command) => `[con_id=${hwnd}] ${command}`).join("; "));
  };
  /** The first look of which `isDone` holds. */
  const until = async (hwnd: number, what: string, isDone: (window: SwayWindow) => boolean) => {
    for (const end = performance.now() + DONE_MS; ; ) {
      const window = await find(hwnd);
      if (isDone(window)) return window;
      if (performance.now() > end) throw unavailable(`window ${hwnd} ${what} within ${DONE_MS / 1_000} s`);
      await sleep(POLL_MS, undefined);
    }
  };
  /** The window, once its place stays the same; sooner where it is `wanted`. */
  const rests = (hwnd: number, wanted?: Place) => {
    const asked = JSON.stringify(wanted);
    let last = "";
    let since = performance.now();
    return until(hwnd, "did not stay in its place", ({ node }) => {
      const seen = JSON.stringify(outlineOf(node));
      if (seen !== last) since = performance.now();
      last = seen;
      return performance.now() - since > (seen === asked ? THERE_MS : STILL_MS);
    });
  };
  return {
    windows: async () => (await sway.windows()).map(rowOf),
    async focus(hwnd) {
      await tell(hwnd, "focus");
      await until(hwnd, "did not get the focus", ({ node }) => node.focused);
    },
    async place(hwnd, wanted) {
      const { node } = await find(hwnd);
      const before = outlineOf(node);
      const { x = before.x, y = before.y, width = before.width, height = before.height } = wanted;
      const title = before.height - node.rect.height;
      const size = `resize set width ${width} px height ${Math.max(1, height - title)} px`;
      const position = `move absolute position ${x} px ${y} px`;
      if (node.type !== "floating_con") {
        // A tiled window has the place that is left for it. One that begins to float gets the size that its program then draws.
        await tell(hwnd, "fullscreen disable", "floating enable");
        await rests(hwnd);
      }
      await tell(hwnd, "fullscreen disable", size, position);
      const done = await rests(hwnd, { x, y, width, height });
      return outlineOf(done.node);
    },
    async request(hwnd, what) {
      if (what === "close") return tell(hwnd, "kill");
      if (what === "maximize")
        throw unavailable("sway has no maximised windows: a tiled one has all the place that is left");
      await tell(hwnd, "move scratchpad");
      await until(hwnd, "was not minimised", isAside);
    },
  };
}

const isAside = ({ workspace }: SwayWindow) => workspace?.name === SCRATCHPAD;

/** The title bar that sway draws is above the rectangle of the window. */
function outlineOf({ rect, deco_rect }: SwayNode): Place {
  const title = deco_rect.height;
  return { x: rect.x, y: rect.y - title, width: rect.width, height: rect.height + title };
}

function rowOf(window: SwayWindow): DesktopWindow {
  const { node, workspace } = window;
  const number = workspace?.num;
  const state = isAside(window) ? "minimized" : (node.fullscreen_mode ?? 0) > 0 ? "fullscreen" : "normal";
  const pid = node.pid ?? null;
  return {
    hwnd: node.id,
    title: node.name,
    ...outlineOf(node),
    // Workspaces count from 1; those that have names alone have no number.
    desktop: number !== undefined && number >= 1 ? number - 1 : null,
    pid,
    process:
      (pid === null ? undefined : programOf(pid)) ?? node.app_id ?? node.window_properties?.class ?? null,
    state,
    focused: node.focused,
  };
}

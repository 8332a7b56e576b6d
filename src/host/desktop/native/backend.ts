/**
 * The desktop of macOS and Windows, through native addons: robotjs for the input devices, node-screenshots for screens
 * and windows, and the system itself ({@link Platform}) for what neither can do.
 */

import type { Window } from "node-screenshots";
import { messageOf, noScreen, unavailable } from "../../../lib/errors";
import { orElse } from "../../../lib/or-else";
import type { Backend, DesktopWindow, Direction, Place, Stroke, Target, WindowRequest } from "../backend";
import { around, assertOn, type Point, type Region } from "../geometry";
import { robotKeyOf } from "../keys";
import type { Devices } from "../screen/child/input";
import { capture, placeOf, type Screens } from "./screen";
import { createViewerInput } from "./viewer-input";
import { watchByLooking } from "./watch";

type Robot = typeof import("robotjs");

/** What differs between macOS and Windows. */
export interface Platform {
  /** What robotjs's `scrollMouse` takes for one notch of a wheel. */
  readonly wheelStep: number;
  /** Types one character (code point) into the window that has the focus. */
  typeCharacter(character: string, robot: Robot): void;
  /** @throws `not_found` when there is no such window, `unavailable` when it did not get the focus. */
  focus(hwnd: number, addons: { readonly robot: Robot; readonly screens: Screens }): Promise<void>;
  /** As {@link Backend.place}. */
  place(hwnd: number, place: Partial<Place>, screens: Screens): Promise<Place>;
  /** As {@link Backend.request}. */
  request(hwnd: number, what: WindowRequest, screens: Screens): Promise<void>;
  /** As {@link Backend.clipboard}; the system keeps the text itself. */
  clipboard(): Promise<string>;
  setClipboard(text: string): Promise<void>;
}

/** @throws an `unavailable` failure when an addon cannot be loaded or the system has not allowed its use. */
export async function createNativeBackend(platform: Platform): Promise<Backend> {
  const [robot, screens] = await Promise.all([
    // In the binary, an addon's functions are on the default export only.
    loaded("robotjs", async () => (await import("robotjs")).default),
    loaded("node-screenshots", async () => (await import("node-screenshots")).default),
  ]);
  const monitors = () => placesOf(screens);
  const desktop = () => around(monitors());
  const go = (target: Target) => movePointer(robot, desktop(), target);
  const backend = {
    session: async () => ({
      system: process.platform === "darwin" ? "macos" : "windows",
      name: "",
      way: "",
      lacks: [],
    }),
    desktop: async () => desktop(),
    monitors: async () => monitors(),
    pointer: async () => pointerAt(robot),
    // robotjs does not say what is down.
    keysDown: async () => null,
    move: async (target) => go(target),
    async click(target, button, stroke) {
      allowInput(robot);
      go(target);
      if (stroke !== "release") robot.mouseToggle("down", button);
      if (stroke !== "press") robot.mouseToggle("up", button);
      return pointerAt(robot);
    },
    async scroll(target, direction, steps) {
      allowInput(robot);
      go(target);
      const [x, y] = WHEEL[direction];
      const notch = Math.sign(steps) * platform.wheelStep;
      for (let step = 0; step < Math.abs(steps); step++) robot.scrollMouse(x * notch, y * notch);
      return pointerAt(robot);
    },
    ...createKeyboard(robot, platform),
    async liftAll() {},
    async capture(region) {
      if (robot.getScreenCapturePermission() === false) throw notAllowed("Screen Recording");
      return capture(screens, region);
    },
    windows: async () => screens.Window.all().map(rowOf),
    focus: (hwnd) => platform.focus(hwnd, { robot, screens }),
    place: (hwnd, place) => platform.place(hwnd, place, screens),
    request: (hwnd, what) => platform.request(hwnd, what, screens),
    clipboard: () => platform.clipboard(),
    setClipboard: (text) => platform.setClipboard(text),
    async close() {},
  } satisfies Omit<Backend, keyof Devices | "watch">;
  return {
    ...backend,
    ...createViewerInput(backend),
    watch: (events) => watchByLooking(backend, events),
  };
}

async function loaded<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw noScreen(`no desktop: ${name} cannot be loaded (${messageOf(error)})`);
  }
}

/** What is known of a window: the system throws for what it does not know, and for a window that has just been closed. */
function rowOf(window: Window): DesktopWindow {
  const isMaximized = () => orElse(() => window.isMaximized(), false);
  return {
    hwnd: window.id(),
    title: orElse(() => window.title(), ""),
    x: orElse(() => window.x(), 0),
    y: orElse(() => window.y(), 0),
    width: orElse(() => window.width(), 0),
    height: orElse(() => window.height(), 0),
    desktop: null,
    pid: orElse(() => window.pid() || null, null),
    process: orElse(() => window.appName() || null, null),
    state: orElse(() => window.isMinimized(), false) ? "minimized" : isMaximized() ? "maximized" : "normal",
    focused: orElse(() => window.isFocused(), false),
  };
}

/** In robotjs, up and left are positive. */
const WHEEL: Record<Direction, readonly [x: number, y: number]> = {
  up: [0, 1],
  down: [0, -1],
  left: [1, 0],
  right: [-1, 0],
};

function pointerAt(robot: Robot): Point {
  const { x, y } = robot.getMousePos();
  return { x, y };
}

function movePointer(robot: Robot, desktop: Region, target: Target): Point {
  const now = pointerAt(robot);
  if (target.x === undefined && target.y === undefined) return now;
  const { x = now.x, y = now.y } = target;
  allowInput(robot);
  assertOn(desktop, { x, y });
  // robotjs remembers the screens it found at its first call.
  robot.updateScreenMetrics();
  robot.moveMouse(x, y);
  return pointerAt(robot);
}

function placesOf(screens: Screens): Region[] {
  const places = screens.Monitor.all().map(placeOf);
  if (places.length === 0) throw noScreen("no display: the system knows of no monitor");
  return places;
}

/** macOS silently drops synthetic input until a person has allowed it; elsewhere robotjs returns null. */
function allowInput(robot: Robot): void {
  if (robot.getAccessibilityPermission() === false) throw notAllowed("Accessibility");
}

const notAllowed = (what: string) =>
  unavailable(`macOS has not allowed it: turn svc on in System Settings, Privacy & Security, ${what}`);

const MODIFIERS: readonly string[] = ["shift", "control", "alt", "command"];

/** A key goes down together with its modifiers: macOS uses those that the event names, not the keys that are down. */
function createKeyboard(robot: Robot, platform: Platform): Pick<Backend, "strike" | "type"> {
  /** The modifiers that were pressed alone and not released. */
  const held = new Set<string>();

  const toggle = (key: string, way: "down" | "up", modifiers: readonly string[] = []) => {
    try {
      robot.keyToggle(key, way, [...modifiers]);
    } catch {
      throw unavailable(`this platform has no key ${key}`);
    }
  };
  const strikeModifiers = (keys: readonly string[], stroke: Stroke) => {
    if (stroke !== "release") for (const key of keys) toggle(key, "down");
    if (stroke !== "press") for (const key of keys.toReversed()) toggle(key, "up");
    for (const key of keys) {
      if (stroke === "press") held.add(key);
      else held.delete(key);
    }
  };
  return {
    async strike(names, stroke) {
      allowInput(robot);
      const keys = [...new Set(names.flatMap(robotKeysOf))];
      const others = keys.filter((key) => !MODIFIERS.includes(key));
      if (others.length === 0) return strikeModifiers(keys, stroke);
      const modifiers = [...new Set([...held, ...keys.filter((key) => MODIFIERS.includes(key))])];
      if (stroke !== "release") for (const key of others) toggle(key, "down", modifiers);
      if (stroke !== "press") for (const key of others.toReversed()) toggle(key, "up", modifiers);
      // The key's release released them too.
      if (stroke !== "press") for (const key of held) toggle(key, "down");
    },
    async type(text) {
      allowInput(robot);
      for (const character of text) {
        if (character === "\n") robot.keyTap("enter");
        else if (character === "\t") robot.keyTap("tab");
        else platform.typeCharacter(character, robot);
      }
    },
  };
}

/** The keys of `name`; for a capital, Shift and the small letter. @throws `unavailable` where there is no such key. */
function robotKeysOf(name: string): string[] {
  const key = robotKeyOf(name);
  if (key === null) throw unavailable(`this platform has no key ${name}`);
  return /^[A-Z]$/.test(key) ? ["shift", key.toLowerCase()] : [key];
}

/**
 * What a platform does for the desktop: one shape, implemented for X11 (`x11/`), Wayland (`wayland/`), GNOME (`gnome/`), KDE
 * (`portal/`), and macOS and Windows (`native/`).
 *
 * A backend lives in the child process and gets one call at a time.
 */
import type { Point, Region, Size } from "./geometry";
import type { SeeingCalls } from "./images/look";
import type { VideoEvents, ViewerCalls, ViewerEvents } from "./screen/calls";
import type { Devices } from "./screen/child/input";
import type { Watch, WatchEvents } from "./screen/child/watch";
import type { WindowWatch } from "./shown-windows";
import type { Page, PageOptions } from "./text/page";

/** Where the pointer goes first; a coordinate that is left out stays as it is. */
export interface Target {
  readonly x?: number | undefined;
  readonly y?: number | undefined;
}

export type Button = "left" | "middle" | "right";
export type Direction = "up" | "down" | "left" | "right";

/** A press without a release, a release, or both at once. */
export type Stroke = "press" | "release" | "tap";

/** Pixels of a picture, row by row without gaps, four bytes each; the fourth is unused. */
export interface Picture extends Size {
  readonly pixels: Uint8Array;
  /** Whether a pixel's bytes are red, green, blue (0) or blue, green, red (2). */
  readonly redAt: 0 | 2;
}

/** Where the outline of a window is, its frame included: the coordinates of the pointer. */
export interface Place extends Point, Size {}

export const WINDOW_STATES = ["normal", "minimized", "maximized", "fullscreen"] as const;

export interface DesktopWindow {
  /** Where it is, as {@link Place}; null where the system does not say. */
  readonly x: number | null;
  readonly y: number | null;
  readonly width: number | null;
  readonly height: number | null;
  /** The X11 window id, the Windows HWND, the macOS CGWindowID, sway's container; a number of svc's own on other Wayland compositors. */
  readonly hwnd: number;
  /** As its program set it: untrusted text. Empty when it has none. */
  readonly title: string;
  /** The number of the virtual desktop that it is on, from 0; null when it is on all, or the system does not say. */
  readonly desktop: number | null;
  /** The id of its process on this host; null when it does not say. */
  readonly pid: number | null;
  /** The name of its program: untrusted text. Null when it does not say. */
  readonly process: string | null;
  readonly state: (typeof WINDOW_STATES)[number];
  /** Whether keys go to it. */
  readonly focused: boolean;
}

/** The window that a click at the pointer goes to. */
export interface PointedWindow extends Pick<DesktopWindow, "title" | "pid"> {
  /** As that of a {@link DesktopWindow}; of a menu, an id of its own. */
  readonly hwnd: number;
}

/** What a window can be asked for, as its buttons do. */
export type WindowRequest = "close" | "minimize" | "maximize";

/** Which part of the desktop; all of it when neither is given. */
export interface Frame {
  /** The number of a monitor, from 0. */
  readonly monitor?: number | undefined;
  /** Measured from the corner of that monitor; without one, in the coordinates of the pointer. */
  readonly region?: Region | undefined;
}

/** A picture as a PNG. */
export interface Screenshot extends Size {
  /** What it shows, in coordinates of the pointer. */
  readonly shown: Region;
  /** Null when it was written to a file. */
  readonly base64: string | null;
}

export const SYSTEMS = ["x11", "wayland", "macos", "windows"] as const;

/** Which desktop that is, and what svc cannot do on it. */
export interface Session {
  readonly system: (typeof SYSTEMS)[number];
  /** The X display (`:0`), or the program of the compositor; empty where there is but one. */
  readonly name: string;
  /** The way by which svc reaches it, in words; empty where there is but one. */
  readonly way: string;
  /** In words, each with the protocol that is missing. */
  readonly lacks: readonly string[];
}

/** Every method throws Failure; `unavailable` when the display or the platform cannot do it. */
export interface Backend extends Devices {
  session(): Promise<Session>;
  /**
   * Has the system ask whoever sits at the screen to let svc use the desktop, unless that is allowed; absent where nobody has to.
   *
   * @param ms for how long. @returns whether the yes is kept beyond this process. @throws `unavailable` where they do not, `timeout`.
   */
  allow?(ms: number): Promise<boolean>;
  /** What all monitors cover together. Its corner is not 0, 0 when one lies left of the main one, or above it. */
  desktop(): Promise<Region>;
  /** The regions of the monitors, at least one, in the system's order. */
  monitors(): Promise<readonly Region[]>;
  pointer(): Promise<Point>;
  /** How many keys of the keyboard are down, whoever pressed them; null where the system does not say. */
  keysDown(): Promise<number | null>;
  /** @returns the new position of the pointer, as `click` and `scroll` do. */
  move(target: Target): Promise<Point>;
  click(target: Target, button: Button, stroke: Stroke): Promise<Point>;
  /** @param steps how many notches of the wheel; a negative number turns it the other way. */
  scroll(target: Target, direction: Direction, steps: number): Promise<Point>;
  /** @param keys pressed in order and released in reverse; a `tap` does both. */
  strike(keys: readonly string[], stroke: Stroke): Promise<void>;
  /** @param text any Unicode text; line feeds and tabs are the keys of those names. */
  type(text: string): Promise<void>;
  /** Releases every key and button that is down, whoever pressed it; nothing where the system does not say which are. */
  liftAll(): Promise<void>;
  /** @param region inside the desktop, not empty. */
  capture(region: Region): Promise<Picture>;
  windows(): Promise<readonly DesktopWindow[]>;
  /** The window under the pointer, undefined where there is none; absent where the platform does not say. */
  pointed?(): Promise<PointedWindow | undefined>;
  /** Gives `hwnd` the focus; resolves when it has it. */
  focus(hwnd: number): Promise<void>;
  /**
   * Moves and resizes a window, which is neither maximised nor fullscreen then; what is left out stays as it is.
   *
   * @returns where it is then: programs and window managers have sizes and places of their own.
   */
  place(hwnd: number, place: Partial<Place>): Promise<Place>;
  /** Resolves when it is done; for `close`, when it was asked: a program may ask a person first. */
  request(hwnd: number, what: WindowRequest): Promise<void>;
  /** The text of the clipboard; empty when it holds nothing. @throws `not_found` when it holds something else. */
  clipboard(): Promise<string>;
  setClipboard(text: string): Promise<void>;
  /** Watches the screen for viewers. */
  watch(events: WatchEvents): Promise<Watch>;
  /** Watches the windows; absent where the platform does not say when they change. */
  watchWindows?(): Promise<WindowWatch>;
  /** Puts back what was changed on the display (a key mapping). */
  close(): Promise<void>;
}

/** What a backend reports to its owner. */
export interface BackendEvents {
  /** The display has gone; the backend is of no use any more. */
  lost(): void;
  /** Whether the clipboard has a text that is gone when the backend is closed. */
  clipboard(owned: boolean): void;
}

/** What the child process reports to its parent. */
export interface DesktopEvents extends Pick<BackendEvents, "clipboard">, ViewerEvents, VideoEvents {
  /**
   * What is known of the yes of a person (`PortalPermission`).
   *
   * @param token what restores it; null where there is nothing. @param isHeld whether it is lost with the child.
   */
  permission(token: string | null, isHeld: boolean): void;
  /** Whether a session is being given the token just now: with a child that is killed then, it is lost. */
  restoring(isOn: boolean): void;
  /** A person was asked though nobody had {@link Backend.allow} called. @param isSpent whether the token may be of no use to anybody any more. */
  unasked(isSpent: boolean): void;
}

export const YESES = ["not_needed", "kept", "held"] as const;

/** What there is of the yes of a person: none is needed, it is kept, or it holds for as long as the child does. */
export type Yes = (typeof YESES)[number];

/** The calls that the child process (`worker-child.ts`) answers: most are the backend's own. */
export interface DesktopCalls
  extends Omit<
      Backend,
      | "allow"
      | "desktop"
      | "capture"
      | "windows"
      | "pointed"
      | "close"
      | "watch"
      | "watchWindows"
      | keyof Devices
    >,
    SeeingCalls,
    ViewerCalls {
  /** The first call of a child that is to know a token: as the parent has it on disk. Null where it is of no use any more. */
  permit(token: string | null): Promise<void>;
  /** As {@link Backend.allow}. Other calls do not wait for it. */
  allow(ms: number): Promise<Yes>;
  /** Of all monitors together. */
  screenSize(): Promise<Size>;
  /** @param file where to write the PNG; null to have it in the answer. */
  screenshot(frame: Frame, file: string | null): Promise<Screenshot>;
  /** A picture of a region for the program that reads text; default: all monitors together. */
  page(region: Region | undefined, options: PageOptions): Promise<Page>;
  /** Undefined where the platform cannot list them. */
  windows(): Promise<readonly DesktopWindow[] | undefined>;
  /** The window under the pointer; undefined where there is none, and where the platform does not say. */
  pointed(): Promise<PointedWindow | undefined>;
  /** The library that would encode videos for viewers, and its version; null where the host has none that svc knows. */
  videoEncoder(): Promise<string | null>;
  /** Leaves keys and buttons as they are when the child ends: the runs that pressed them have finished. */
  keepPressed(): Promise<void>;
}

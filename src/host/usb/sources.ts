/**
 * The ways to list USB devices: the addon, and one for each platform. The child process uses them.
 */
import * as v from "valibot";
import { NOTHING, type Protocol } from "../../lib/child";
import { USB_DEVICE, type UsbDevice } from "./device";

export type UsbSource = "usb" | "linux" | "macos" | "windows";

interface Source {
  /** How long a listing may take, in milliseconds. */
  readonly deadlineMs: number;
  readonly load: () => Promise<{ readonly list: () => UsbDevice[] | Promise<UsbDevice[]> }>;
}

export const SOURCES: Readonly<Record<UsbSource, Source>> = {
  // Opening a device that does not react takes the addon up to a second.
  usb: { deadlineMs: 5_000, load: () => import("./lister-addon") },
  linux: { deadlineMs: 5_000, load: () => import("./lister-linux") },
  macos: { deadlineMs: 20_000, load: () => import("./lister-macos") },
  windows: { deadlineMs: 20_000, load: () => import("./lister-windows") },
};

/** A platform's own way, for when the addon fails. */
export const PLATFORM_SOURCE: Readonly<Partial<Record<NodeJS.Platform, UsbSource>>> = {
  linux: "linux",
  darwin: "macos",
  win32: "windows",
};

/** What the child process does. */
export interface UsbCalls {
  /** @throws an `unavailable` failure when that way is not open. */
  list(source: UsbSource): Promise<UsbDevice[]>;
  /** Reports `changed` from now on, where the addon can. */
  watch(): Promise<void>;
}

/** What the child process reports. */
export interface UsbEvents {
  /** A device came or went. */
  changed(): void;
}

export const USB_PROTOCOL: Protocol<UsbCalls, UsbEvents> = {
  answers: { list: v.array(USB_DEVICE), watch: NOTHING },
  events: { changed: v.tuple([]) },
};

/** The events of USB. */
import * as v from "valibot";
import { eventType } from "../../core/events";
import { USB_DEVICE } from "./device";

const data = v.object({
  /** As in `/usb/events`: 1 for the first event of the watcher, then one more for each. */
  seq: v.number(),
  device: USB_DEVICE,
});

export const usbAdded = eventType({
  name: "usb.added",
  summary: "A USB device was plugged in while the watcher ran",
  scope: "read",
  data,
});

export const usbRemoved = eventType({
  name: "usb.removed",
  summary: "A USB device was unplugged while the watcher ran",
  scope: "read",
  data,
});

export const usbWatching = eventType({
  name: "usb.watching",
  summary: "The USB watcher was started or stopped, or has another interval",
  scope: "read",
  data: v.object({ running: v.boolean(), interval_s: v.number() }),
});

export const eventTypes = [usbAdded, usbRemoved, usbWatching];

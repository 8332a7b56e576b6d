/**
 * A USB device as svc shows it, whatever its source: text from the device is bounded and well-formed, ids are four
 * lower-case hex digits or null, and what is not known is null.
 */
import * as v from "valibot";

const ID = v.nullable(v.pipe(v.string(), v.regex(/^[0-9a-f]{4}$/)));

/** low 1.5, full 12, high 480, super 5,000, super_plus 10,000 Mbit/s and more. */
const USB_SPEED = v.picklist(["low", "full", "high", "super", "super_plus"]);

export type UsbSpeed = v.InferOutput<typeof USB_SPEED>;

/** What a listing has of a device. */
export const USB_DEVICE = v.object({
  vendor_id: ID,
  product_id: ID,
  manufacturer: v.nullable(v.string()),
  product: v.nullable(v.string()),
  serial: v.nullable(v.string()),
  /** Which port of which bus: distinguishes two identical devices. */
  bus_location: v.nullable(v.string()),
  /** What only some sources know. */
  extra: v.object({
    /** bDeviceClass, two hex digits; `00`: each interface has its own (USB 2.0 section 9.6.1). */
    class: v.exactOptional(v.string()),
    speed: v.exactOptional(USB_SPEED),
    /** The kernel drivers (Linux) or the service (Windows) that use it. */
    driver: v.exactOptional(v.string()),
    /** Port numbers from the root hub down. */
    ports: v.exactOptional(v.array(v.number())),
    /** The address the bus gave it: another one means that it was unplugged and plugged in again. */
    address: v.exactOptional(v.number()),
  }),
});

export type UsbDevice = v.InferOutput<typeof USB_DEVICE>;

/** The devices that are plugged in now. */
export const USB_LISTING = v.object({
  /** `usb`, `windows`, `macos`, `linux` or `unsupported`; hosts of other makes have names of their own. */
  backend: v.string(),
  /** Why the backend is not `usb`; null when it is. */
  error: v.nullable(v.string()),
  devices: v.array(USB_DEVICE),
});

export type UsbListing = v.InferOutput<typeof USB_LISTING>;

/** A device that came or went. */
const USB_EVENT = v.object({
  /** 1 for the first event of this process, then one more for each. */
  seq: v.number(),
  kind: v.picklist(["added", "removed"]),
  device: USB_DEVICE,
  /** When it was noticed, ISO 8601 in UTC. */
  at: v.string(),
});

export type UsbEvent = v.InferOutput<typeof USB_EVENT>;

/** Events of a watcher. */
export const USB_EVENTS = v.object({
  /** Oldest first. */
  events: v.array(USB_EVENT),
  count: v.number(),
  watcher_running: v.boolean(),
  /** The oldest number still kept, null without events: events between a lower `since` and it were forgotten. */
  oldest_seq: v.nullable(v.number()),
  /** The number of the newest event, 0 without: one lower than `since` means that the process started anew. */
  newest_seq: v.number(),
});

/** A string descriptor has at most 126 UTF-16 units (USB 2.0 section 9.6.7); drivers' own names are longer. */
const MAX_TEXT = 256;

/** `value` without surrounding white space and NULs, cut, without lone surrogates; null when that is empty or no text. */
export function deviceText(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const text = value
    .replace(/^[\s\0]+|[\s\0]+$/g, "")
    .slice(0, MAX_TEXT)
    .toWellFormed();
  return text === "" ? null : text;
}

/** `value` as four lower-case hex digits; a number, or text such as `0x46D` or `0x05ac (Apple Inc.)`; else null. */
export function hexId(value: unknown): string | null {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff) {
    return value.toString(16).padStart(4, "0");
  }
  const digits =
    typeof value === "string" ? /^\s*(?:0x)?([0-9a-f]{1,4})(?![\w])/i.exec(value)?.[1] : undefined;
  return digits === undefined ? null : digits.toLowerCase().padStart(4, "0");
}

/** The speed of a link of `mbps` Mbit/s; undefined when there is no such link. */
export function speedOf(mbps: number): UsbSpeed | undefined {
  if (!(mbps > 0)) return undefined;
  if (mbps < 12) return "low";
  if (mbps < 480) return "full";
  if (mbps < 5_000) return "high";
  return mbps < 10_000 ? "super" : "super_plus";
}

/** The speed that a source calls `super`, `superPlus` or `super_speed_plus`; undefined when it is no such name. */
export function speedNamed(name: string): UsbSpeed | undefined {
  const plain = name.replace("_speed", "").replace("superPlus", "super_plus");
  return v.is(USB_SPEED, plain) ? plain : undefined;
}

/** The device with its serial number hidden, except the last four characters of a long one. */
export function maskSerial<D extends UsbDevice>(device: D): D {
  if (device.serial === null) return device;
  const tail = device.serial.length > 8 ? device.serial.slice(-4) : "";
  return { ...device, serial: `****${tail}` };
}

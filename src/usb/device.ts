/**
 * A USB device as svc tells of it, whatever told svc: text from the device is bounded and well-formed, ids are four
 * lower-case hex digits or null, and what is not known is null.
 */

/** A device; the field names are those of the wire. */
export interface UsbDevice {
  readonly vendor_id: string | null;
  readonly product_id: string | null;
  readonly manufacturer: string | null;
  readonly product: string | null;
  readonly serial: string | null;
  /** Which port of which bus: what tells two identical devices apart. */
  readonly bus_location: string | null;
  readonly extra: UsbExtra;
}

/** What only some backends know. */
export interface UsbExtra {
  /** bDeviceClass, two hex digits; `00`: each interface has its own (USB 2.0 section 9.6.1). */
  readonly class?: string;
  readonly speed?: UsbSpeed;
  /** The kernel drivers (Linux) or the service (Windows) that hold it. */
  readonly driver?: string;
  /** Port numbers from the root hub down. */
  readonly ports?: number[];
  /** The address the bus gave it: another one means that it was plugged in anew. */
  readonly address?: number;
}

/** low 1.5, full 12, high 480, super 5,000, super_plus 10,000 Mbit/s and more. */
export type UsbSpeed = "low" | "full" | "high" | "super" | "super_plus";

/** What told svc of the devices. */
export type UsbBackend = "usb" | "windows" | "macos" | "linux" | "unsupported";

/** The devices that are there now. */
export interface UsbListing {
  readonly backend: UsbBackend;
  /** Why another backend than `usb` had to; null when it did not. */
  readonly error: string | null;
  readonly devices: readonly UsbDevice[];
}

/** A string descriptor has at most 126 UTF-16 units (USB 2.0 section 9.6.7); drivers' own names are longer. */
const MAX_TEXT = 256;

/** `value` without surrounding white space and NULs, cut, without lone surrogates; null for anything but text. */
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

/** The speed of a link of `mbps` Mbit/s, or undefined when there is no such link. */
export function speedOf(mbps: number): UsbSpeed | undefined {
  if (!(mbps > 0)) return undefined;
  if (mbps < 12) return "low";
  if (mbps < 480) return "full";
  if (mbps < 5_000) return "high";
  return mbps < 10_000 ? "super" : "super_plus";
}

/** The device with its serial number hidden but for the last four characters of a long one. */
export function maskSerial<D extends UsbDevice>(device: D): D {
  if (device.serial === null) return device;
  const tail = device.serial.length > 8 ? device.serial.slice(-4) : "";
  return { ...device, serial: `****${tail}` };
}

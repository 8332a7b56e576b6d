/**
 * USB devices from the macOS system profiler: a tree of buses, hubs and devices.
 */
import { runProgram } from "../../lib/run-program";
import { deviceText, hexId, speedNamed, speedOf, type UsbDevice, type UsbSpeed } from "./device";
import { itemsOf, parseReport, type Report } from "./report";

/** macOS 15 and older lists devices in the first of these, macOS 26 and newer in the second, under other names. */
const DATA_TYPES = ["SPUSBDataType", "SPUSBHostDataType"] as const;

/** @throws an `unavailable` or `timeout` failure when the profiler gives no report. */
export async function list(): Promise<UsbDevice[]> {
  return parseMacos(await runProgram(["/usr/sbin/system_profiler", "-json", ...DATA_TYPES]));
}

/**
 * The devices of a report, a hub before the devices behind it; buses are not devices.
 *
 * @throws an `unavailable` failure when it is not JSON.
 */
export function parseMacos(report: Uint8Array): UsbDevice[] {
  const [tree] = itemsOf(parseReport("system_profiler", report));
  return DATA_TYPES.flatMap((type) => itemsOf(tree?.[type]).flatMap((bus) => walk(bus, 0)));
}

/** No bus has more than seven tiers (USB 2.0 section 4.1.1); a report may. */
const MAX_DEPTH = 32;

function walk(item: Report, depth: number): UsbDevice[] {
  if (depth > MAX_DEPTH) return [];
  const below = itemsOf(item._items).flatMap((child) => walk(child, depth + 1));
  return isBus(item, depth) ? below : [toDevice(item), ...below];
}

function isBus(item: Report, depth: number): boolean {
  const hasId = item.vendor_id ?? item.product_id ?? item.USBDeviceKeyVendorID ?? item.USBDeviceKeyProductID;
  return "host_controller" in item || (depth === 0 && hasId === undefined);
}

function toDevice(item: Report): UsbDevice {
  const speed = speedIn(item.device_speed ?? item.USBDeviceKeyLinkSpeed);
  // `0x14200000 / 3`: the location, then the address on the bus.
  const location = /^\s*(0x[0-9a-f]{1,8})(?:\s*\/\s*(\d{1,3}))?/i.exec(
    deviceText(item.location_id ?? item.USBKeyLocationID) ?? "",
  );
  return {
    vendor_id: hexId(item.vendor_id ?? item.USBDeviceKeyVendorID),
    product_id: hexId(item.product_id ?? item.USBDeviceKeyProductID),
    manufacturer: provided(item.manufacturer ?? item.USBDeviceKeyVendorName),
    product: provided(item._name),
    serial: provided(item.serial_num ?? item.USBDeviceKeySerialNumber),
    bus_location: location?.[1]?.toLowerCase() ?? null,
    extra: { ...(speed && { speed }), ...(location?.[2] && { address: Number(location[2]) }) },
  };
}

function provided(value: unknown): string | null {
  const text = deviceText(value);
  return text === "Not Provided" ? null : text;
}

/** `high_speed`, or `480 Mb/s` and `10 Gb/s` in newer reports. */
function speedIn(value: unknown): UsbSpeed | undefined {
  if (typeof value !== "string") return undefined;
  const link = /^([\d.]+) ([MG])b\/s/.exec(value);
  return link ? speedOf(Number(link[1]) * (link[2] === "G" ? 1_000 : 1)) : speedNamed(value);
}

/**
 * USB devices from Linux's sysfs (Documentation/ABI/testing/sysfs-bus-usb, sysfs-bus-usb-*).
 *
 * An attribute that cannot be read counts as absent; a device that goes while it is read is left out.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { unlessMissing } from "../../lib/files";
import { orElse } from "../../lib/or-else";
import { deviceText, hexId, speedOf, type UsbDevice } from "./device";

/** `1-4`, `1-4.2`: a device. `usb1` is a root hub, `1-4:1.0` an interface. */
const DEVICE_NAME = /^\d+-(\d+(?:\.\d+)*)$/;

/**
 * The devices under `{root}/bus/usb/devices`; none when the kernel has no USB.
 *
 * @throws the system error when the folder exists and cannot be read.
 */
export function list(root = "/sys"): UsbDevice[] {
  const names = unlessMissing(() => readdirSync(join(root, "bus/usb/devices"))) ?? [];
  return names.filter((name) => DEVICE_NAME.test(name)).flatMap((name) => readDevice(root, name) ?? []);
}

/** The device that sysfs calls `name`; undefined when there is none. */
export function readDevice(root: string, name: string): UsbDevice | undefined {
  const folder = `${root}/bus/usb/devices/${name}`;
  const entries = folderEntries(folder);
  if (entries === undefined) return undefined;
  const attribute = (file: string) => readText(`${folder}/${file}`);
  const deviceClass = /^[0-9a-f]{2}$/i.exec(attribute("bDeviceClass") ?? "")?.[0];
  const speed = speedOf(Number(attribute("speed")));
  const driver = interfaceDrivers(folder, name, entries);
  const address = Number(attribute("devnum"));
  return {
    vendor_id: hexId(attribute("idVendor")),
    product_id: hexId(attribute("idProduct")),
    manufacturer: deviceText(attribute("manufacturer")),
    product: deviceText(attribute("product")),
    serial: deviceText(attribute("serial")),
    bus_location: name,
    extra: {
      ...(deviceClass && { class: deviceClass.toLowerCase() }),
      ...(speed && { speed }),
      ...(driver && { driver }),
      ports: (DEVICE_NAME.exec(name)?.[1] ?? "").split(".").map(Number),
      ...(address > 0 && { address }),
    },
  };
}

/** The drivers of a device's interfaces (`1-4:1.0`): its own is always `usb`. */
function interfaceDrivers(folder: string, name: string, entries: readonly string[]): string {
  const drivers = entries
    .filter((entry) => entry.startsWith(`${name}:`))
    .flatMap((entry) => linkName(`${folder}/${entry}/driver`) ?? []);
  return [...new Set(drivers)].sort().join(", ");
}

const folderEntries = (folder: string) => orElse(() => readdirSync(folder), undefined);
const readText = (path: string) => orElse(() => readFileSync(path, "utf8").trim(), undefined);
const linkName = (path: string) => orElse(() => basename(readlinkSync(path)), undefined);

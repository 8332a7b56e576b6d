/**
 * USB devices from the `usb` addon (https://github.com/node-usb/node-usb-rs).
 *
 * Only for svc's own child process (`worker-child.ts`): reading a string that the platform did not keep opens the device
 * on the JavaScript thread, and an addon can crash.
 */
import { orElse } from "../../lib/or-else";
import { deviceText, hexId, speedNamed, type UsbDevice } from "./device";
import { readDevice } from "./lister-linux";

/** What is read of an addon's device; each of the strings may throw. */
export interface AddonDevice {
  readonly vendorId: number;
  readonly productId: number;
  readonly deviceClass: number;
  readonly bus: string;
  readonly address: number;
  readonly ports: readonly number[];
  readonly speed?: string | null;
  readonly manufacturerName?: string | null;
  readonly productName?: string | null;
  readonly serialNumber?: string | null;
}

/** @throws what the addon throws when it cannot be loaded or cannot list. */
export async function list(sysfsRoot = "/sys"): Promise<UsbDevice[]> {
  const { usb } = await import("usb");
  const devices: readonly AddonDevice[] = await usb.getDevices();
  return devices.map((device) => fromAddon(device, process.platform === "linux" ? sysfsRoot : null));
}

/** Calls `changed` whenever a device comes or goes, until the process ends. */
export async function onHotplug(changed: () => void): Promise<void> {
  const { usb } = await import("usb");
  usb.addEventListener("connect", changed);
  usb.addEventListener("disconnect", changed);
}

/**
 * @param sysfsRoot where Linux keeps what it read from the device when it came, so that nothing has to open the device;
 *   null on other platforms.
 */
export function fromAddon(device: AddonDevice, sysfsRoot: string | null): UsbDevice {
  const bus = /^\d+$/.test(device.bus) ? String(Number(device.bus)) : device.bus;
  const location = device.ports.length > 0 ? `${bus}-${device.ports.join(".")}` : bus;
  const known = sysfsRoot === null ? undefined : readDevice(sysfsRoot, location);
  // The addon has no name for a link of 20 Gbit/s.
  const speed = speedNamed(device.speed ?? "") ?? known?.extra.speed;
  return {
    vendor_id: hexId(device.vendorId),
    product_id: hexId(device.productId),
    manufacturer: known ? known.manufacturer : ask(() => device.manufacturerName),
    product: known ? known.product : ask(() => device.productName),
    serial: known ? known.serial : ask(() => device.serialNumber),
    bus_location: location,
    extra: {
      class: device.deviceClass.toString(16).padStart(2, "0"),
      ...(speed && { speed }),
      ...(known?.extra.driver && { driver: known.extra.driver }),
      ports: [...device.ports],
      address: device.address,
    },
  };
}

/** A device that cannot be opened is listed without its strings. */
const ask = (read: () => unknown): string | null => orElse(() => deviceText(read()), null);

/** What the tests of USB need: devices, a sysfs tree, and a lister with given answers. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UsbDevice, UsbListing } from "../../../src/host/usb/device";
import type { UsbLister } from "../../../src/host/usb/lister";

/** A USB stick; `other` overrides its fields. */
export const stick = (other: Partial<UsbDevice> = {}): UsbDevice => ({
  vendor_id: "0781",
  product_id: "5567",
  manufacturer: "SanDisk",
  product: "Cruzer Blade",
  serial: "4C530001230615109384",
  bus_location: "1-1",
  extra: { address: 2 },
  ...other,
});

/** A listing through the addon. */
export const listing = (...devices: UsbDevice[]): UsbListing => ({ backend: "usb", error: null, devices });

/** A lister that a test leads. */
export interface FakeLister {
  /** What it answers with, or throws. */
  answer: UsbListing | Error;
  /** How often it was asked. */
  asked: number;
  /** What the addon does when something comes or goes; undefined while nobody watches. */
  hotplug: (() => void) | undefined;
  readonly lister: UsbLister;
}

export function fakeLister(answer: UsbListing = listing()): FakeLister {
  const fake: FakeLister = {
    answer,
    asked: 0,
    hotplug: undefined,
    lister: {
      async list() {
        fake.asked++;
        if (fake.answer instanceof Error) throw fake.answer;
        return fake.answer;
      },
      watch(changed) {
        fake.hotplug = changed;
        return () => {
          fake.hotplug = undefined;
        };
      },
      stop() {},
    },
  };
  return fake;
}

/** Adds a device to the sysfs tree at `root`: its attributes, and the driver of each of its interfaces. */
export function addToSysfs(
  root: string,
  name: string,
  attributes: Readonly<Record<string, string | Uint8Array>>,
  drivers: readonly string[] = [],
): void {
  const folder = join(root, "devices", name);
  mkdirSync(folder, { recursive: true });
  for (const [attribute, value] of Object.entries(attributes)) writeFileSync(join(folder, attribute), value);
  drivers.forEach((driver, at) => {
    mkdirSync(join(folder, `${name}:1.${at}`), { recursive: true });
    symlinkSync(`../../../../bus/usb/drivers/${driver}`, join(folder, `${name}:1.${at}`, "driver"));
  });
  mkdirSync(join(root, "bus/usb/devices"), { recursive: true });
  symlinkSync(`../../../devices/${name}`, join(root, "bus/usb/devices", name));
}

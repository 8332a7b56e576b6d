import { expect, test } from "bun:test";
import { type AddonDevice, fromAddon } from "../../../src/host/usb/lister-addon";
import { temporaryFolder } from "../../support";
import { addToSysfs } from "./support";

const receiver: AddonDevice = {
  vendorId: 0x46d,
  productId: 0xc52b,
  deviceClass: 0,
  bus: "001",
  address: 5,
  ports: [4, 2],
  speed: "superPlus",
  manufacturerName: "Logitech",
  productName: "USB Receiver",
  serialNumber: null,
};

/** What Windows answers for a device without a WinUSB driver, and Linux for a device node of somebody else's. */
const refusing: AddonDevice = {
  ...receiver,
  speed: null,
  get manufacturerName(): string {
    throw new Error("open error: Permission denied");
  },
  get productName(): string {
    throw new Error("open error: Permission denied");
  },
  get serialNumber(): string {
    throw new Error("open error: Permission denied");
  },
};

test("a device has what the addon says of it", () => {
  expect(fromAddon(receiver, null)).toEqual({
    vendor_id: "046d",
    product_id: "c52b",
    manufacturer: "Logitech",
    product: "USB Receiver",
    serial: null,
    bus_location: "1-4.2",
    extra: { class: "00", speed: "super_plus", ports: [4, 2], address: 5 },
  });
});

test("a device that refuses to be opened is listed all the same", () => {
  expect(fromAddon(refusing, null)).toMatchObject({ vendor_id: "046d", manufacturer: null, serial: null });
});

test("on Linux its strings and driver come from sysfs, and it is not opened; its speed when the addon has none", () => {
  using root = temporaryFolder();
  const strings = { manufacturer: "Logitech\n", product: "USB Receiver\n" };
  addToSysfs(root.path, "1-4.2", { ...strings, speed: "20000\n" }, ["usbhid"]);
  expect(fromAddon(refusing, root.path)).toMatchObject({
    manufacturer: "Logitech",
    product: "USB Receiver",
    serial: null,
    extra: { driver: "usbhid", speed: "super_plus" },
  });
});

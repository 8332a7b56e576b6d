import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { list as listLinux } from "../../../src/host/usb/lister-linux";
import { temporaryFolder } from "../../support";
import { addToSysfs } from "./support";

const CRUZER = {
  idVendor: "0781\n",
  idProduct: "5567\n",
  manufacturer: "SanDisk\n",
  product: "Cruzer Blade\n",
  serial: "4C530001230615109384\n",
  bDeviceClass: "00\n",
  speed: "480\n",
  devnum: "7\n",
};

test("a device has what sysfs says of it", () => {
  using root = temporaryFolder();
  addToSysfs(root.path, "1-4.2", CRUZER, ["usb-storage", "uas", "uas"]);
  expect(listLinux(root.path)).toEqual([
    {
      vendor_id: "0781",
      product_id: "5567",
      manufacturer: "SanDisk",
      product: "Cruzer Blade",
      serial: "4C530001230615109384",
      bus_location: "1-4.2",
      extra: { class: "00", speed: "high", driver: "uas, usb-storage", ports: [4, 2], address: 7 },
    },
  ]);
});

test("root hubs and interfaces are not devices", () => {
  using root = temporaryFolder();
  addToSysfs(root.path, "usb1", { idVendor: "1d6b\n", idProduct: "0002\n" });
  addToSysfs(root.path, "1-4:1.0", { bInterfaceClass: "08\n" });
  addToSysfs(root.path, "1-4", CRUZER);
  expect(listLinux(root.path).map((device) => device.bus_location)).toEqual(["1-4"]);
});

test("attributes that are missing or make no sense are null", () => {
  using root = temporaryFolder();
  addToSysfs(root.path, "2-1", {
    idVendor: "zzzz\n",
    speed: "unknown\n",
    devnum: "x\n",
    bDeviceClass: "?\n",
  });
  expect(listLinux(root.path)).toEqual([
    {
      vendor_id: null,
      product_id: null,
      manufacturer: null,
      product: null,
      serial: null,
      bus_location: "2-1",
      extra: { ports: [1] },
    },
  ]);
});

test("a device that went while it was read is left out", () => {
  using root = temporaryFolder();
  addToSysfs(root.path, "1-1", CRUZER);
  symlinkSync("../../../devices/1-2", join(root.path, "bus/usb/devices/1-2"));
  expect(listLinux(root.path)).toHaveLength(1);
});

test("a kernel without USB has no devices", () => {
  using root = temporaryFolder();
  expect(listLinux(root.path)).toEqual([]);
});

test("a folder that cannot be read is an error, not an empty list", () => {
  using root = temporaryFolder();
  mkdirSync(join(root.path, "bus/usb"), { recursive: true });
  Bun.write(join(root.path, "bus/usb/devices"), "not a folder");
  expect(() => listLinux(root.path)).toThrow("ENOTDIR");
});

test("whatever bytes a device sends, its text is well-formed and bounded", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      using root = temporaryFolder();
      addToSysfs(root.path, "1-1", { ...CRUZER, product: bytes });
      const [device] = listLinux(root.path);
      const product = device?.product ?? null;
      expect(product === null || (product.isWellFormed() && product.length <= 256 && product !== "")).toBe(
        true,
      );
    }),
    { numRuns: 50 },
  );
});

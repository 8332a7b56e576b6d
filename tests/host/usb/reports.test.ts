/** The platforms' own reports: recorded ones, and what no platform should send. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { Language, Parser } from "web-tree-sitter";
import { parseMacos } from "../../../src/host/usb/lister-macos";
import { parseWindows, SCRIPT } from "../../../src/host/usb/lister-windows";

const fixture = (name: string) => readFileSync(join(import.meta.dir, "../../fixtures/usb", name));
const bytes = (text: string) => new TextEncoder().encode(text);
const ids = (devices: readonly { vendor_id: string | null; product_id: string | null }[]) =>
  devices.map(({ vendor_id, product_id }) => `${vendor_id}:${product_id}`);

describe("Windows", () => {
  test("devices are listed; controllers, root hubs and single interfaces are not", () => {
    expect(ids(parseWindows(fixture("windows.json")))).toEqual(["05e3:0610", "046d:c52b", "0781:5567"]);
  });

  test("ids, and the serial number or the location, are in the instance id", () => {
    const [, receiver, storage] = parseWindows(fixture("windows.json"));
    expect(storage).toEqual({
      vendor_id: "0781",
      product_id: "5567",
      manufacturer: "Compatible USB storage device",
      product: "USB Mass Storage Device",
      serial: "4C530001230615109384",
      bus_location: null,
      extra: { driver: "USBSTOR" },
    });
    expect(receiver).toMatchObject({ serial: null, bus_location: "6&1F9C1A0B&0&2" });
  });

  test("a single device comes without a list around it", () => {
    expect(ids(parseWindows(fixture("windows-one.json")))).toEqual(["0781:5567"]);
  });

  test("no devices is an empty list", () => {
    expect(parseWindows(bytes("\ufeff[]\r\n"))).toEqual([]);
  });

  test("the script is PowerShell", async () => {
    await Parser.init();
    const grammar = Bun.resolveSync("tree-sitter-powershell/tree-sitter-powershell.wasm", import.meta.dir);
    const parser = new Parser().setLanguage(await Language.load(grammar));
    expect(parser.parse(SCRIPT)?.rootNode.hasError).toBe(false);
  });

  test("missing fields and wrong types are null, non-objects are skipped", () => {
    const devices = parseWindows(fixture("windows-hostile.json"));
    expect(ids(devices)).toEqual(["dead:beef", "null:null", "null:null", "null:null", "null:null"]);
    expect(devices[0]).toMatchObject({ manufacturer: null, extra: {} });
  });
});

describe("macOS", () => {
  test("devices on nested hubs are listed; buses are not", () => {
    expect(ids(parseMacos(fixture("macos.json")))).toEqual([
      "05e3:0626",
      "05e3:0610",
      "0781:5567",
      "null:029c",
    ]);
  });

  test("a device has what the profiler says of it", () => {
    expect(parseMacos(fixture("macos.json"))[2]).toEqual({
      vendor_id: "0781",
      product_id: "5567",
      manufacturer: "SanDisk",
      product: "Cruzer Blade",
      serial: "4C530001230615109384",
      bus_location: "0x14212000",
      extra: { speed: "high", address: 9 },
    });
  });

  test("a symbolic vendor id is null", () => {
    expect(parseMacos(fixture("macos.json"))[3]).toMatchObject({
      vendor_id: null,
      manufacturer: "Apple Inc.",
    });
  });

  test("from macOS 26 on, the devices are under another type", () => {
    expect(parseMacos(fixture("macos-26.json"))).toEqual([
      {
        vendor_id: "1a86",
        product_id: "7523",
        manufacturer: null,
        product: "USB Serial",
        serial: null,
        bus_location: "0x01100000",
        extra: { speed: "full" },
      },
      {
        vendor_id: "04e8",
        product_id: "61f5",
        manufacturer: "Samsung",
        product: "Portable SSD T7",
        serial: "S5SXNS0T000000",
        bus_location: "0x01200000",
        extra: { speed: "super_plus" },
      },
    ]);
  });

  test("missing fields and wrong types are null, non-objects are skipped", () => {
    expect(ids(parseMacos(fixture("macos-hostile.json")))).toEqual([
      "0781:null",
      "null:null",
      "null:null",
      "0001:abcd",
    ]);
    const odd = '{"SPUSBDataType":[{"vendor_id":"0x1","location_id":{"toString":1,"valueOf":1}}]}';
    expect(parseMacos(bytes(odd))).toMatchObject([{ vendor_id: "0001", bus_location: null }]);
  });

  test("a report nested without end is cut, not followed", () => {
    const deep = `${'{"_items":['.repeat(5_000)}${"]}".repeat(5_000)}`;
    expect(parseMacos(bytes(`{"SPUSBDataType":[${deep}]}`)).length).toBeLessThan(40);
  });
});

for (const [name, parse] of [
  ["Windows", parseWindows],
  ["macOS", parseMacos],
] as const) {
  test(`${name}: bytes that are not UTF-8 become replacement characters`, () => {
    const report = Buffer.concat([
      bytes('{"SPUSBDataType":[{"vendor_id":"0x1","_name":"a'),
      Buffer.from([0xff, 0xc3]),
      bytes('b"}],"InstanceId":"USB\\\\VID_0001&PID_0002\\\\1","FriendlyName":"a'),
      Buffer.from([0xff, 0xc3]),
      bytes('b"}'),
    ]);
    expect(parse(report)[0]?.product).toBe("a\ufffd\ufffdb");
  });

  test(`${name}: a tool that answers with nothing has failed`, () => {
    for (const nothing of ["", "\ufeff\r\n"])
      expect(() => parse(bytes(nothing))).toThrow("answered with nothing");
  });

  test(`${name}: what is not JSON is a failure that says so`, () => {
    expect(() => parse(bytes("Get-PnpDevice : not recognized"))).toThrow("something other than JSON");
  });

  test(`${name}: any JSON parses to well-formed devices`, () => {
    const field = fc.constantFrom(
      "SPUSBDataType",
      "_items",
      "_name",
      "vendor_id",
      "product_id",
      "serial_num",
      "location_id",
      "InstanceId",
      "FriendlyName",
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.string({ unit: "binary" }),
        fc.integer(),
        fc.constant(null),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(field, tie("tree"), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        for (const device of parse(bytes(JSON.stringify(value)))) {
          expect(device.vendor_id ?? "0000").toMatch(/^[0-9a-f]{4}$/);
          for (const text of [device.manufacturer, device.product, device.serial, device.bus_location]) {
            expect(text === null || (text !== "" && text.length <= 256 && text.isWellFormed())).toBe(true);
          }
        }
      }),
    );
  });
}

import { describe, expect, test } from "bun:test";
import { deviceText, hexId, maskSerial, speedOf } from "../../../src/host/usb/device";
import { stick } from "./support";

describe("text of a device", () => {
  test.each([
    ["  SanDisk \0\0", "SanDisk"],
    ["\0", null],
    ["", null],
    [42, null],
    [undefined, null],
    ["a\ud800b", "a\ufffdb"],
    ["x".repeat(300), "x".repeat(256)],
    [`${"x".repeat(255)}😀`, `${"x".repeat(255)}\ufffd`],
  ] as const)("%j is %j", (value, text) => {
    expect(deviceText(value)).toBe(text);
  });
});

describe("an id", () => {
  test.each([
    [0x46d, "046d"],
    [0, "0000"],
    [0x10000, null],
    [-1, null],
    [1.5, null],
    ["0x05ac  (Apple Inc.)", "05ac"],
    ["46D", "046d"],
    ["apple_vendor_id", null],
    ["0x12345", null],
    [null, null],
  ] as const)("%j is %j", (value, id) => {
    expect(hexId(value)).toBe(id);
  });
});

test.each([
  [1.5, "low"],
  [12, "full"],
  [480, "high"],
  [5_000, "super"],
  [10_000, "super_plus"],
  [20_000, "super_plus"],
  [0, undefined],
  [Number.NaN, undefined],
] as const)("%d Mbit/s is %p", (mbps, speed) => {
  expect(speedOf(mbps)).toBe(speed);
});

test.each([
  [null, null],
  ["1234", "****"],
  ["12345678", "****"],
  ["4C530001230615109384", "****9384"],
] as const)("the serial number %p is masked as %p", (serial, masked) => {
  expect(maskSerial(stick({ serial })).serial).toBe(masked);
});

/** Native addons as the binary loads them; here they are files, and not compressed. */
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addons } from "../../build/addons";
import { loadedPart } from "../../build/elf";
import { hostTarget, ROOT } from "../../build/targets";
import { inFolder, loadAddon } from "../../src/lib/addon";
import { temporaryFolder } from "../support";

const pathOf = (name: string) =>
  join(ROOT, "node_modules", addons[name]?.files[hostTarget()] ?? `there is no ${name} here`);

test("an addon works without its symbols, and is smaller", () => {
  using folder = temporaryFolder();
  const whole = readFileSync(pathOf("node-datachannel"));
  const part = loadedPart(new Uint8Array(whole));
  if (process.platform === "linux") expect(part.length).toBeLessThan(whole.length);
  const file = join(folder.path, "part.node");
  writeFileSync(file, part);
  expect(loadAddon(file)).toHaveProperty("PeerConnection");
});

test("two addons in one process are two", () => {
  expect(loadAddon(pathOf("usb"))).toHaveProperty("UsbDevice");
  expect(loadAddon(pathOf("node-datachannel"))).toHaveProperty("PeerConnection");
});

test("what the loader says has the name of the addon, and no path", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "broken.node");
  writeFileSync(file, "this is no library");
  expect(() => loadAddon(file)).toThrow(/^broken\.node: /);
});

test("in a folder, an addon is written once, and again where it has changed", () => {
  using folder = temporaryFolder();
  const addon = Buffer.from("an addon");
  const path = inFolder(addon, folder.path);
  const { ino } = statSync(path);
  expect(inFolder(addon, folder.path)).toBe(path);
  expect(statSync(path).ino).toBe(ino);
  writeFileSync(path, "an adder");
  expect(readFileSync(inFolder(addon, folder.path))).toEqual(addon);
  expect(inFolder(Buffer.from("another"), folder.path)).not.toBe(path);
});

test("a folder that is open to others, or that a link leads to, is refused", () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  const addon = Buffer.from("an addon");
  inFolder(addon, folder.path);
  const [name = ""] = readdirSync(folder.path);
  const own = join(folder.path, name);
  chmodSync(own, 0o770);
  expect(() => inFolder(addon, folder.path)).toThrow("is not a folder of this user alone");
  rmSync(own, { recursive: true });
  symlinkSync(other.path, own);
  expect(() => inFolder(addon, folder.path)).toThrow("is not a folder of this user alone");
});

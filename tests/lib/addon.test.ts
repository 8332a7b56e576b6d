/** Native addons as the binary loads them; here they are files, and not compressed. */
import { expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { addons } from "../../build/addons";
import { loadedPart } from "../../build/elf";
import { hostTarget, ROOT } from "../../build/targets";
import { addonPlace, inFolder, loadAddon } from "../../src/lib/addon";
import * as files from "../../src/lib/files";
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

const fileOf = (file: string) => file;

test("in a folder, an addon is written once, and again where it has changed", () => {
  using folder = temporaryFolder();
  const addon = Buffer.from("an addon");
  const path = inFolder(addon, fileOf, folder.path);
  const { ino } = statSync(path);
  expect(inFolder(addon, fileOf, folder.path)).toBe(path);
  expect(statSync(path).ino).toBe(ino);
  writeFileSync(path, "an adder");
  expect(readFileSync(inFolder(addon, fileOf, folder.path))).toEqual(addon);
  expect(inFolder(Buffer.from("another"), fileOf, folder.path)).not.toBe(path);
});

test("what another process has written meanwhile is taken, also where the system lets nobody replace it", () => {
  using folder = temporaryFolder();
  const addon = Buffer.from("an addon");
  const path = inFolder(addon, fileOf, folder.path);
  rmSync(path);
  const write = spyOn(files, "writeFileAtomic").mockImplementation(() => {
    writeFileSync(path, addon);
    throw Object.assign(new Error("EPERM: rename"), { code: "EPERM" });
  });
  try {
    expect(inFolder(addon, fileOf, folder.path)).toBe(path);
    expect(write).toHaveBeenCalledTimes(1);
  } finally {
    write.mockRestore();
  }
});

test("an addon of last month goes when another one is written, and so does what a killed process left", () => {
  using folder = temporaryFolder();
  const [old, recent] = ["an old one", "a recent one"].map((text) =>
    inFolder(Buffer.from(text), fileOf, folder.path),
  ) as [string, string];
  const lastMonth = Date.now() / 1_000 - 31 * 86_400;
  utimesSync(old, lastMonth, lastMonth);
  writeFileSync(`${recent}.tmp-999999999-${crypto.randomUUID()}`, "a pa");
  const path = inFolder(Buffer.from("a new one"), fileOf, folder.path);
  expect(readdirSync(dirname(path)).toSorted()).toEqual(
    [recent, path].map((one) => basename(one)).toSorted(),
  );
});

test("a folder that is open to others, that a link leads to, or that is a file is left alone: the addon is in a new one", () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  const addon = Buffer.from("an addon");
  inFolder(addon, fileOf, folder.path);
  const [name = ""] = readdirSync(folder.path);
  const own = join(folder.path, name);
  const isInNew = () => {
    const seen = inFolder(
      addon,
      (file) => {
        expect(readFileSync(file)).toEqual(addon);
        expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
        return dirname(file);
      },
      folder.path,
    );
    expect(seen).not.toBe(own);
    // Nothing is left.
    expect(readdirSync(folder.path)).toEqual([name]);
  };
  chmodSync(own, 0o770);
  isInNew();
  rmSync(own, { recursive: true });
  symlinkSync(other.path, own);
  isInNew();
  rmSync(own);
  writeFileSync(own, "");
  isInNew();
  expect(readdirSync(other.path)).toEqual([]);
});

test("where there is no folder, the failure says what it is about", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  expect(() => inFolder(Buffer.from("an addon"), fileOf, file)).toThrow(
    `a native library cannot be unpacked into ${file}: `,
  );
});

test("on Windows, the folder is in the profile of the user: to that for temporary files of the system, all may write", () => {
  const env = { TEMP: "C:\\Windows\\Temp", LOCALAPPDATA: "C:\\Users\\ann\\AppData\\Local" };
  expect(addonPlace("win32", env)).toBe(env.LOCALAPPDATA);
  expect(addonPlace("win32", { TEMP: env.TEMP })).toEndWith(join("AppData", "Local"));
  expect(addonPlace("win32", { ...env, BUN_TMPDIR: "D:\\own" })).toBe("D:\\own");
  expect(addonPlace("darwin", {})).toBe(tmpdir());
});

test.skipIf(process.platform !== "linux")(
  "what is not loaded from memory leaves nothing there, and is loaded from a folder where the system refuses it",
  () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "one.node");
    writeFileSync(path, "an addon");
    const before = readdirSync("/proc/self/fd").length;
    const tried: string[] = [];
    const loading = (reason: string) => () =>
      loadAddon(path, (file) => {
        tried.push(file);
        if (file.startsWith("/proc/")) throw new Error(`${file}: ${reason}`);
        return file;
      });
    expect(loading("file too short")).toThrow(/^one\.node: file too short$/);
    expect(tried).toHaveLength(1);
    process.env.BUN_TMPDIR = folder.path;
    try {
      expect(loading("failed to map segment from shared object")()).toStartWith(folder.path);
    } finally {
      delete process.env.BUN_TMPDIR;
    }
    expect(readdirSync("/proc/self/fd").length).toBe(before);
  },
);

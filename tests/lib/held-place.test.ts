import { expect, mock, test } from "bun:test";
import * as fs from "node:fs";
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { holdFolder, holdPlace } from "../../src/lib/held-place";
import { temporaryFolder } from "../support";

const ANN = 4_242;

/** Root has a folder here, and ann one with a folder in it. */
function folders() {
  const folder = temporaryFolder();
  const at = (...names: string[]) => join(folder.path, ...names);
  for (const name of ["own", "ann", "ann/sub"]) mkdirSync(at(name));
  for (const name of ["ann", "ann/sub"]) lchownSync(at(name), ANN, ANN);
  const link = (target: string, name: string) => {
    symlinkSync(target, at(name));
    lchownSync(at(name), ANN, ANN);
  };
  return { at, link, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Makes a folder. */
function make(path: string, mode: number) {
  using _folder = holdFolder(path, mode);
}

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("skipping tests: only root holds places in folders of others");
const asRoot = test.skipIf(!isRoot || process.platform !== "linux");

/** Runs `work`; `meanwhile` happens once, when svc has looked at the path and begins to open it. */
async function withSomebodyFaster(meanwhile: () => void, work: () => void) {
  const { openSync: open } = { ...fs };
  let isDone = false;
  const openSync = (...given: Parameters<typeof open>) => {
    if (!isDone && given[0] === "/") {
      isDone = true;
      meanwhile();
    }
    return open(...given);
  };
  await mock.module("node:fs", () => ({ ...fs, openSync }));
  try {
    work();
  } finally {
    await mock.module("node:fs", () => ({ ...fs, openSync: open }));
  }
  expect(isDone).toBe(true);
}

test("a missing folder is made with its parents, and one that is there stays", () => {
  using made = folders();
  make(made.at("own", "new", "newer"), 0o700);
  make(made.at("own", "new", "newer"), 0o711);
  expect(statSync(made.at("own", "new", "newer")).mode & 0o777).toBe(0o700);
  writeFileSync(made.at("own", "file"), "");
  expect(() => make(made.at("own", "file"), 0o700)).toThrow("EEXIST");
  expect(() => holdPlace(made.at("own", "none", "file"))).not.toThrow("EEXIST");
});

asRoot("root makes folders in somebody's folder, and none through a link of theirs", () => {
  using made = folders();
  {
    using place = holdPlace(made.at("ann", "new", "newer", "file"), 0o700);
    writeFileSync(place.path, "");
  }
  expect(existsSync(made.at("ann", "new", "newer", "file"))).toBe(true);
  made.link(made.at("own"), "ann/link");
  made.link(made.at("own", "none"), "ann/dangling");
  for (const name of ["link", "link/new", "dangling", "dangling/new"]) {
    expect(() => make(made.at("ann", name), 0o700)).toThrow("leads through a link");
    expect(() => holdPlace(made.at("ann", name, "file"), 0o700)).toThrow("leads through a link");
  }
  expect(readdirSync(made.at("own"))).toEqual([]);
});

asRoot("a folder that another process makes at the same time is used", async () => {
  using made = folders();
  await withSomebodyFaster(
    () => mkdirSync(made.at("own", "new")),
    () => make(made.at("own", "new", "newer"), 0o700),
  );
  expect(existsSync(made.at("own", "new", "newer"))).toBe(true);
});

asRoot("a link that appears after the look is not followed", async () => {
  using made = folders();
  await withSomebodyFaster(
    () => {
      renameSync(made.at("ann", "sub"), made.at("ann", "moved"));
      made.link(made.at("own"), "ann/sub");
    },
    () => expect(() => make(made.at("ann", "sub", "new"), 0o700)).toThrow(),
  );
  rmSync(made.at("ann", "sub"));
  // Everybody may write there, as in /tmp.
  await withSomebodyFaster(
    () => made.link(made.at("own"), "new"),
    () => expect(() => make(made.at("new", "newer"), 0o700)).toThrow("ENOTDIR"),
  );
  expect(readdirSync(made.at("own"))).toEqual([]);
});

/** What the folders of a desktop may hold, by looks. */
import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDisks, holds } from "../../../src/host/desktops/disk";
import { temporaryFolder, until } from "../../support";

const MIB = 1_048_576;
const PLENTY = { bytes: 100 * MIB, files: 1_000 };

const byLooks = (limitBytes: number) => createDisks({ limitBytes, lookEveryMs: 5 });

describe("what a folder holds", () => {
  test("is what its files take of the disk, in folders of folders too", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "a/b"), { recursive: true });
    writeFileSync(join(folder.path, "a/b/c"), Buffer.alloc(MIB, 1));
    const held = await holds(folder.path, PLENTY);
    expect(held.files).toBe(3);
    expect(held.bytes).toBeGreaterThanOrEqual(MIB);
    expect(held.bytes).toBeLessThan(1.1 * MIB);
  });

  test("counts the bytes of a file of several names once, each name as a file, and follows no link", async () => {
    using folder = temporaryFolder();
    using elsewhere = temporaryFolder();
    writeFileSync(join(elsewhere.path, "large"), Buffer.alloc(4 * MIB, 1));
    writeFileSync(join(folder.path, "one"), Buffer.alloc(MIB, 1));
    linkSync(join(folder.path, "one"), join(folder.path, "other"));
    symlinkSync(elsewhere.path, join(folder.path, "link"));
    const held = await holds(folder.path, PLENTY);
    expect(held.bytes).toBeLessThan(1.1 * MIB);
    expect(held.files).toBe(3);
  });

  test("is counted no further than it may be", async () => {
    using folder = temporaryFolder();
    for (let file = 0; file < 20; file++) writeFileSync(join(folder.path, `${file}`), "");
    expect((await holds(folder.path, { ...PLENTY, files: 5 })).files).toBe(6);
  });
});

describe("by looks", () => {
  test("a folder that holds more than the limit is full, and the text says how much it holds", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disk = byLooks(16 * MIB).make(own, 0o700);
    writeFileSync(join(own, "first"), Buffer.alloc(15 * MIB, 1));
    await until("a look", () => disk.use().used_bytes >= 15 * MIB);
    writeFileSync(join(own, "second"), Buffer.alloc(15 * MIB, 1));
    expect((await disk.full).text).toBe(
      "its folders hold 30 MiB, which is more than --desktop-disk 16 MiB allows",
    );
  });

  test("a folder that holds more files than one for each 16 KiB is full", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disk = byLooks(16 * MIB).make(own, 0o700);
    for (let file = 0; file <= 4_096; file++) writeFileSync(join(own, `${file}`), "");
    expect((await disk.full).text).toBe(
      "its folders hold more than 4096 files, which is more than --desktop-disk 16 MiB allows",
    );
  });

  test("a folder that is gone is looked at no longer", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disks = byLooks(16 * MIB);
    disks.make(own, 0o700);
    rmSync(own, { recursive: true });
    const second = disks.make(join(folder.path, "second"), 0o700);
    writeFileSync(join(folder.path, "second/file"), Buffer.alloc(MIB, 1));
    await until("a look at the other", () => second.use().used_bytes >= MIB);
  });
});

/** What the folders of a desktop may hold: in a file system of their own, and by looks. */
import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDisks, holds } from "../../../src/host/desktops/disk";
import { silentLog } from "../../../src/lib/log";
import { runToEnd, temporaryFolder, testWith, until } from "../../support";

const MIB = 1_048_576;
const PLENTY = { bytes: 100 * MIB, files: 1_000 };

/** A folder in a new one, in which a file system may be; both are gone when the scope ends. */
function folderToMount(): AsyncDisposable & { readonly path: string; readonly own: string } {
  const folder = temporaryFolder();
  const own = join(folder.path, "own");
  return {
    ...{ path: folder.path, own },
    async [Symbol.asyncDispose]() {
      await runToEnd(["umount", "-l", own]);
      folder[Symbol.dispose]();
    },
  };
}

/** Whether this process may mount; root in a container may not. */
const canMount = createDisks({ limitBytes: MIB, log: silentLog }).way() === "file_system";

const byLooks = (limitBytes: number) =>
  createDisks({ limitBytes, log: silentLog, mostInMemory: 0, lookEveryMs: 5 });

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

  test("counts a file of several names once, and follows no link", async () => {
    using folder = temporaryFolder();
    using elsewhere = temporaryFolder();
    writeFileSync(join(elsewhere.path, "large"), Buffer.alloc(4 * MIB, 1));
    writeFileSync(join(folder.path, "one"), Buffer.alloc(MIB, 1));
    linkSync(join(folder.path, "one"), join(folder.path, "other"));
    symlinkSync(elsewhere.path, join(folder.path, "link"));
    expect((await holds(folder.path, PLENTY)).bytes).toBeLessThan(1.1 * MIB);
  });

  test("is counted no further than it may be", async () => {
    using folder = temporaryFolder();
    for (let file = 0; file < 20; file++) writeFileSync(join(folder.path, `${file}`), "");
    expect((await holds(folder.path, { ...PLENTY, files: 5 })).files).toBe(6);
  });
});

describe("by looks", () => {
  test("a folder that holds more is told, with what it holds", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disk = await byLooks(16 * MIB).make(own, 0o700);
    writeFileSync(join(own, "first"), Buffer.alloc(15 * MIB, 1));
    await until("a look", () => disk.use().used_bytes >= 15 * MIB);
    writeFileSync(join(own, "second"), Buffer.alloc(15 * MIB, 1));
    expect((await disk.full).text).toBe(
      "its folders hold 30 MiB, which is more than --desktop-disk 16 MiB allows",
    );
  });

  test("a folder that holds more files than one for each 16 KiB is told", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disk = await byLooks(16 * MIB).make(own, 0o700);
    for (let file = 0; file <= 4_096; file++) writeFileSync(join(own, `${file}`), "");
    expect((await disk.full).text).toBe(
      "its folders hold more than 4096 files, which is more than --desktop-disk 16 MiB allows",
    );
  });

  testWith("prlimit")("no program writes a larger file by itself", async () => {
    using folder = temporaryFolder();
    const disk = await byLooks(16 * MIB).make(join(folder.path, "own"), 0o700);
    const file = join(folder.path, "elsewhere");
    await runToEnd(disk.within(["sh", "-c", `head -c 20000000 /dev/zero >${file}`]));
    expect(readFileSync(file).length).toBe(16 * MIB);
  });

  test("a folder that is gone is looked at no longer", async () => {
    using folder = temporaryFolder();
    const own = join(folder.path, "own");
    const disks = byLooks(16 * MIB);
    await disks.make(own, 0o700);
    rmSync(own, { recursive: true });
    const second = await disks.make(join(folder.path, "second"), 0o700);
    writeFileSync(join(folder.path, "second/file"), Buffer.alloc(MIB, 1));
    await until("a look at the other", () => second.use().used_bytes >= MIB);
  });
});

describe.skipIf(!canMount)("in a file system of their own", () => {
  test("a program is told that it is full, and what is beside it is not", async () => {
    await using folder = folderToMount();
    const { own } = folder;
    const disk = await createDisks({ limitBytes: 16 * MIB, log: silentLog, lookEveryMs: 5 }).make(own, 0o700);
    const written = await runToEnd(["sh", "-c", `head -c 20000000 /dev/zero >${join(own, "file")}`]);
    expect(written.stderr).toContain("No space left on device");
    writeFileSync(join(folder.path, "beside"), "there is room");
    expect(await disk.full).toMatchObject({
      ...{ limit_bytes: 16 * MIB, used_bytes: 16 * MIB, kept_by: "file_system" },
      text: "its folders are full: they hold 16 MiB, and --desktop-disk is 16 MiB",
    });
  });

  test("it holds no more files than one for each 16 KiB", async () => {
    await using folder = folderToMount();
    const { own } = folder;
    await createDisks({ limitBytes: 16 * MIB, log: silentLog }).make(own, 0o700);
    const fill = () => {
      for (let file = 0; file <= 4_096; file++) writeFileSync(join(own, `${file}`), "");
    };
    expect(fill).toThrow("ENOSPC");
  });

  test("a limit of more than half of the memory is kept by looks", () => {
    const disks = createDisks({ limitBytes: 3 * MIB, log: silentLog, mostInMemory: 2 * MIB });
    expect(disks.way()).toBe("looks");
  });
});

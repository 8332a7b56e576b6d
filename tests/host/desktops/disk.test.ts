/** What the folders of a desktop may hold, by looks. */
import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDisks, holds } from "../../../src/host/desktops/disk";
import { runToEnd, temporaryFolder, testWith, until } from "../../support";

const ROOT = join(import.meta.dir, "../../..");

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

  const canMount = process.getuid?.() === 0 && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;
  (canMount ? testWith("unshare", "mount") : test.skip)(
    "is counted though something is mounted in it that does not answer",
    async () => {
      using folder = temporaryFolder();
      mkdirSync(join(folder.path, "mounted"));
      writeFileSync(join(folder.path, "file"), Buffer.alloc(MIB, 1));
      // Nobody reads what the kernel asks; the shell keeps the connection open.
      const shell = `exec 3<>/dev/fuse
        mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none "$1/mounted" || exit 77
        "$2" -e "$3"`;
      const script = `
        import { holds } from "./src/host/desktops/disk";
        const held = holds(${JSON.stringify(folder.path)}, { bytes: 1e9, files: 1000 });
        console.log(JSON.stringify(await Promise.race([held, Bun.sleep(5_000)])) ?? "no answer");
        process.exit();`;
      const command = ["unshare", "-m", "sh", "-c", shell, "sh", folder.path, process.execPath, script];
      const { stdout, exitCode } = await runToEnd(command, { cwd: ROOT });
      // A kernel without FUSE.
      if (exitCode === 77) return;
      expect(JSON.parse(stdout)).toMatchObject({ files: 1 });
    },
  );

  testWith("python3")("is too much where folders are so deep that nobody can look into them", async () => {
    using folder = temporaryFolder();
    // From inside: no path may be so long.
    const script = `import os\nfor n in range(40): os.mkdir("d" * 200); os.chdir("d" * 200)`;
    expect((await runToEnd(["python3", "-c", script], { cwd: folder.path })).exitCode).toBe(0);
    expect((await holds(folder.path, PLENTY)).files).toBeGreaterThan(PLENTY.files);
    await runToEnd(["rm", "-rf", join(folder.path, "d".repeat(200))]);
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
    // A file system may need a block more.
    expect((await disk.full).text).toMatch(
      /^its folders hold 30(\.1)? MiB, which is more than --desktop-disk 16 MiB allows$/,
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

  test("a desktop whose look does not end keeps no other from being looked at", async () => {
    using folder = temporaryFolder();
    const [slow, other] = ["slow", "other"].map((name) => join(folder.path, name)) as [string, string];
    const disks = createDisks({
      ...{ limitBytes: 16 * MIB, lookEveryMs: 5 },
      measure: (path, most) => (path === slow ? new Promise(() => {}) : holds(path, most)),
    });
    disks.make(slow, 0o700);
    const second = disks.make(other, 0o700);
    writeFileSync(join(other, "file"), Buffer.alloc(17 * MIB, 1));
    expect((await second.full).used_bytes).toBeGreaterThan(16 * MIB);
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

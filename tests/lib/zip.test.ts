/** ZIP archives: what svc writes, and what it reads of others. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createZip, openZip } from "../../src/lib/zip";
import { temporaryFolder, testWith } from "../support";

async function archive(folder: string, files: Readonly<Record<string, Uint8Array>>): Promise<string> {
  const path = join(folder, "a.zip");
  const zip = await createZip(path);
  for (const [name, data] of Object.entries(files)) await zip.add(name, data);
  await zip.finish();
  return path;
}

const HELLO = Buffer.from("hello");
const FILES = { "a.txt": HELLO, "pictures/1.png": Buffer.alloc(100_000, 7), empty: Buffer.alloc(0) };

describe("an archive", () => {
  test("is read as it was written", async () => {
    using folder = temporaryFolder();
    using zip = openZip(await archive(folder.path, FILES), "trace");
    expect(zip.names()).toEqual(Object.keys(FILES));
    for (const [name, data] of Object.entries(FILES)) expect(zip.read(name, 1e6).equals(data)).toBe(true);
  });

  testWith("python3")("passes the test of another program", async () => {
    using folder = temporaryFolder();
    const path = await archive(folder.path, FILES);
    const tested = Bun.spawnSync(["python3", "-m", "zipfile", "-t", path]);
    expect(tested.stdout.toString()).toBe("Done testing\n");
  });

  testWith("python3")("of another program, compressed, is read too", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "b.zip");
    const write =
      "import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1],'w',zipfile.ZIP_DEFLATED)\nz.comment=b'made elsewhere'\nz.writestr('run.json','x'*5000)\nz.close()";
    Bun.spawnSync(["python3", "-c", write, path]);
    using zip = openZip(path, "trace");
    expect(zip.read("run.json", 5_000).toString()).toBe("x".repeat(5_000));
  });
});

describe("an archive that is refused:", () => {
  const refused = async (change: (bytes: Buffer) => Buffer, read = "a.txt") => {
    using folder = temporaryFolder();
    const path = await archive(folder.path, FILES);
    writeFileSync(path, change(readFileSync(path)));
    try {
      using zip = openZip(path, "trace");
      zip.read(read, 1_000);
      return "taken";
    } catch (error) {
      return error instanceof Error ? error.message : "?";
    }
  };

  test("another file", async () => {
    expect(await refused(() => Buffer.from("not a zip"))).toBe("trace: expected a ZIP archive");
    expect(await refused(() => Buffer.alloc(0))).toBe("trace: expected a ZIP archive");
  });

  test("one that is cut off", async () => {
    expect(await refused((bytes) => bytes.subarray(0, -30))).toBe("trace: expected a ZIP archive");
    expect(await refused((bytes) => bytes.subarray(200))).toBe("trace: the archive is damaged");
  });

  test("one whose content has changed", async () => {
    const flipped = (bytes: Buffer) => {
      bytes[bytes.indexOf("hello")] = 0x48;
      return bytes;
    };
    expect(await refused(flipped)).toBe("trace: a.txt in it is damaged");
  });

  test("a file larger than the reader allows, whatever its size is said to be", async () => {
    expect(await refused((bytes) => bytes, "pictures/1.png")).toBe(
      "trace: pictures/1.png in it has more than 1000 bytes",
    );
    expect(await refused((bytes) => bytes, "no.txt")).toBe("trace: the archive has no no.txt");
  });

  testWith("python3")("a file that becomes larger than it says", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "bomb.zip");
    const write =
      "import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1],'w',zipfile.ZIP_DEFLATED)\nz.writestr('run.json','x'*50000000)\nz.close()";
    Bun.spawnSync(["python3", "-c", write, path]);
    const bytes = readFileSync(path);
    // The size in the index (APPNOTE.TXT 4.3.12).
    bytes.writeUInt32LE(100, bytes.indexOf(Buffer.from("PK\u0001\u0002", "latin1")) + 24);
    writeFileSync(path, bytes);
    using zip = openZip(path, "trace");
    expect(() => zip.read("run.json", 1_000_000)).toThrow("run.json in it is damaged");
  });

  test("two files of one name", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "two.zip");
    const zip = await createZip(path);
    await zip.add("a", HELLO);
    await zip.add("a", HELLO);
    await zip.finish();
    expect(() => openZip(path, "trace")).toThrow("two files of one name");
  });
});

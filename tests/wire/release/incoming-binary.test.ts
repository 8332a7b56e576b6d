/** A newer program on its way to a host: in pieces, resumed, and whole or nowhere. */
import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { signFile } from "../../../build/package/sign";
import { createIncomingBinary, type IncomingBinaryOptions } from "../../../src/wire/release/incoming-binary";
import type { ReleasedBinary } from "../../../src/wire/release/released-binary";
import { makeKey } from "../../host/release/support";
import { movableClocks, temporaryFolder } from "../../support";

const TARGET = "linux-x64";
const OWN = { version: "0.1.0", target: TARGET };

const keys = temporaryFolder();
afterAll(() => keys[Symbol.dispose]());
const { secret, text } = makeKey(keys.path);

async function released(bytes: Uint8Array, version = "0.2.0", target = TARGET): Promise<ReleasedBinary> {
  const path = join(keys.path, crypto.randomUUID());
  writeFileSync(path, bytes);
  await signFile(secret, path, `svc ${version} ${target}`);
  const sha256 = Bun.SHA256.hash(bytes, "hex");
  const signature = readFileSync(`${path}.minisig`, "utf8");
  return { target, version, size: bytes.length, sha256, signature };
}

const bytes = crypto.getRandomValues(new Uint8Array(1_000));
const file = await released(bytes);

function host(more: Partial<IncomingBinaryOptions> = {}) {
  const folder = temporaryFolder();
  const path = join(folder.path, "upgrade");
  const open = () =>
    createIncomingBinary({ folder: path, own: OWN, key: secret.publicKey, programs: folder.path, ...more });
  return { path, open, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("the key of the tests is that of minisign", () => expect(secret.publicKey.text).toBe(text));

test("whatever pieces come, in whichever process, the file is whole once it says so", async () => {
  const piece = fc.record({
    /** Of the end of what is there, where the piece begins. */
    back: fc.nat(300),
    length: fc.nat(400),
    /** Whether the host has restarted before. */
    restarts: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      using one = host();
      let incoming = one.open();
      let received = 0;
      for (const { back, length, restarts } of [...pieces, { back: 0, length: 1_000, restarts: false }]) {
        if (restarts) incoming = one.open();
        expect(incoming.complete(file) !== undefined).toBe(received === bytes.length);
        const offset = Math.max(0, received - back);
        const end = Math.min(offset + length, bytes.length);
        const now = await incoming.receive(file, offset, bytes.subarray(offset, end));
        received = Math.max(received, end);
        expect(now).toEqual({ sha256: file.sha256, received, complete: received === bytes.length });
        expect(incoming.state()).toEqual(now);
      }
      const found = incoming.complete(file);
      expect(readFileSync(found?.file ?? "")).toEqual(Buffer.from(bytes));
      expect(readFileSync(found?.signature ?? "", "utf8")).toBe(file.signature);
    }),
    { numRuns: 50 },
  );
});

test("two that send the last piece at once both hear that it is complete", async () => {
  using one = host();
  const incoming = one.open();
  await incoming.receive(file, 0, bytes.subarray(0, 600));
  const both = await Promise.all([1, 2].map(() => incoming.receive(file, 600, bytes.subarray(600))));
  expect(both.map(({ complete }) => complete)).toEqual([true, true]);
});

test("a piece beyond what is there is refused with the place where the next one begins", async () => {
  using one = host();
  const incoming = one.open();
  await expect(incoming.receive(file, 10, bytes.subarray(10))).rejects.toThrow("expected its first piece");
  await incoming.receive(file, 0, bytes.subarray(0, 100));
  await expect(incoming.receive(file, 101, bytes.subarray(101))).rejects.toThrow("begins at 100, not 101");
  await expect(incoming.receive(file, 100, new Uint8Array(901))).rejects.toThrow("beyond the end");
  expect(incoming.state()?.received).toBe(100);
});

describe("nothing is taken", () => {
  test.each([
    [
      "for another target",
      "0.2.0",
      "linux-arm64",
      "the binary is for linux-arm64, and this svc is for linux-x64",
    ],
    ["that is not newer", "0.1.0", TARGET, "not newer than this svc"],
  ])("%s, before its first byte", async (_what, version, target, message) => {
    using one = host();
    const other = await released(bytes, version, target);
    await expect(one.open().receive(other, 0, bytes)).rejects.toThrow(message);
    expect(existsSync(one.path)).toBe(false);
  });

  test("that another key has signed, or that is said to be another version than was signed", async () => {
    using one = host({ key: makeKey(keys.path).secret.publicKey });
    await expect(one.open().receive(file, 0, bytes)).rejects.toThrow("the file is signed by the key");
    using other = host();
    const renamed = { ...file, version: "0.3.0" };
    await expect(other.open().receive(renamed, 0, bytes)).rejects.toThrow("the signature is of another file");
    expect([existsSync(one.path), existsSync(other.path)]).toEqual([false, false]);
  });

  const SPARE = 64 * 1_048_576;
  test.each([
    ["where the disk has no room for it and a copy", { id: 1, times: 2 }, { id: 1, times: 2 }],
    ["where one disk has no room for it", { id: 1, times: 1 }, { id: 2, times: 5 }],
    ["where that of the program has none for the copy", { id: 1, times: 5 }, { id: 2, times: 1 }],
  ])("%s", async (_what, ofFiles, ofProgram) => {
    const folders = (missing: number) => (folder: string) => {
      const { id, times } = folder.endsWith("upgrade") ? ofFiles : ofProgram;
      return { id, free: times * file.size + SPARE - missing };
    };
    using one = host({ disk: folders(1) });
    await expect(one.open().receive(file, 0, bytes)).rejects.toThrow("the disk has no room");
    expect(one.open().state()).toBeNull();
    using other = host({ disk: folders(0) });
    expect(await other.open().receive(file, 0, bytes)).toMatchObject({ complete: true });
  });
});

test("a file that is not what was announced goes as a whole", async () => {
  using one = host();
  const incoming = one.open();
  await incoming.receive(file, 0, bytes.subarray(0, 500));
  const [part = ""] = readdirSync(one.path).filter((name) => name.endsWith(".part"));
  writeFileSync(join(one.path, part), new Uint8Array(500));
  await expect(incoming.receive(file, 500, bytes.subarray(500))).rejects.toThrow(
    "not the one that was announced",
  );
  expect([incoming.state(), readdirSync(one.path)]).toEqual([null, []]);
  // The next attempt finds its way clear.
  expect(await incoming.receive(file, 0, bytes)).toMatchObject({ complete: true });
});

test("one that a release has signed for other bytes goes, though its digest is right", async () => {
  using one = host();
  const other = crypto.getRandomValues(new Uint8Array(1_000));
  const forged = { ...file, sha256: Bun.SHA256.hash(other, "hex") };
  await expect(one.open().receive(forged, 0, other)).rejects.toThrow("the signature does not match the file");
  expect(readdirSync(one.path)).toEqual([]);
});

test("another file takes the place of one that stood still for a minute, and not before", async () => {
  using one = host();
  const incoming = one.open();
  await incoming.receive(file, 0, bytes.subarray(0, 500));
  const next = await released(bytes.subarray(0, 700), "0.3.0");
  await expect(incoming.receive(next, 0, bytes.subarray(0, 100))).rejects.toThrow("is on its way");
  const still = new Date(Date.now() - 61_000);
  utimesSync(join(one.path, `${file.sha256}.part`), still, still);
  expect(await incoming.receive(next, 0, bytes.subarray(0, 100))).toMatchObject({ received: 100 });
  expect(readdirSync(one.path).toSorted()).toEqual(
    [`${next.sha256}.minisig`, `${next.sha256}.part`].toSorted(),
  );
});

test("a file that came no further for a week is removed, and nothing else", async () => {
  using one = host();
  const incoming = one.open();
  await incoming.receive(file, 0, bytes.subarray(0, 500));
  writeFileSync(join(one.path, "order.json"), "{}");
  incoming.forgetOld();
  expect(incoming.state()).not.toBeNull();
  const old = new Date(Date.now() - 8 * 86_400_000);
  utimesSync(join(one.path, `${file.sha256}.part`), old, old);
  using clocks = movableClocks();
  incoming.forgetOld();
  expect(incoming.state()).not.toBeNull();
  clocks.advance(3_600_000);
  incoming.forgetOld();
  expect(readdirSync(one.path)).toEqual(["order.json"]);
});

test("a torn end, as after a power failure, is found before the file is used", async () => {
  using one = host();
  await one.open().receive(file, 0, bytes.subarray(0, 500));
  appendFileSync(join(one.path, `${file.sha256}.part`), new Uint8Array(100));
  const incoming = one.open();
  expect(incoming.state()?.received).toBe(600);
  await expect(incoming.receive(file, 600, bytes.subarray(600))).rejects.toThrow(
    "not the one that was announced",
  );
});

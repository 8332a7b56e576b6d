import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { clearIncoming, INCOMING } from "../../../src/host/peers/inbox";
import { temporaryFolder } from "../../support";
import { joined } from "./transfer-ends";

const SIZE = 4_000_000;

/** Content that is the same for the same seed, and has no pattern. */
const content = (seed: number, size = SIZE) => {
  const bytes = Buffer.alloc(size);
  let state = seed + 1;
  for (let at = 0; at + 4 <= size; at += 4) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    bytes.writeInt32LE(state ^ (state >>> 13), at);
  }
  return bytes;
};

/** A change of a file: where, as a share of its length, and how many bytes. */
type Edit = { kind: "insert" | "delete" | "move" | "overwrite"; at: number; to: number; bytes: number };

function edited(before: Buffer, { kind, at, to, bytes }: Edit): Buffer {
  const place = Math.floor(at * before.length);
  const [head, part, tail] = [
    before.subarray(0, place),
    before.subarray(place, place + bytes),
    before.subarray(place + bytes),
  ];
  if (kind === "insert") return Buffer.concat([head, randomBytes(bytes), part, tail]);
  if (kind === "overwrite") return Buffer.concat([head, randomBytes(part.length), tail]);
  const rest = Buffer.concat([head, tail]);
  if (kind === "delete") return rest;
  const target = Math.floor(to * rest.length);
  return Buffer.concat([rest.subarray(0, target), part, rest.subarray(target)]);
}

/** Sends `bytes` as `file` over a new link. @returns how many bytes travelled. */
async function deliver(home: string, bytes: Buffer, options = {}): Promise<number> {
  const path = join(home, "source");
  writeFileSync(path, bytes);
  const link = joined(home, { blocks: true, ...options });
  await link.sender.send(path, "file");
  link.cut();
  expect(readFileSync(join(home, "inbox", "peer-1", "file")).equals(bytes)).toBe(true);
  expect(readdirSync(join(home, "inbox", INCOMING))).toEqual([]);
  return link.travelled();
}

/** Begins to send `bytes`, and cuts the link when about that share of them has travelled. */
async function begin(home: string, bytes: Buffer, share: number, crash = false): Promise<number> {
  const path = join(home, "source");
  writeFileSync(path, bytes);
  const link = joined(home, { blocks: true });
  let isCut = false;
  const sending = link.sender.send(path, "file", (sent) => {
    if (isCut || sent < share * bytes.length) return;
    isCut = true;
    link.cut(crash);
  });
  await expect(sending).rejects.toThrow("the channel closed");
  if (crash) clearIncoming(join(home, "inbox"), process.pid);
  return link.travelled();
}

describe("a changed file", () => {
  test("arrives as it is after any edits, and only the parts around them travel", async () => {
    const edit = fc.record({
      kind: fc.constantFrom("insert", "delete", "move", "overwrite"),
      at: fc.double({ min: 0, max: 0.99, noNaN: true }),
      to: fc.double({ min: 0, max: 1, noNaN: true }),
      bytes: fc.integer({ min: 1, max: 10_000 }),
    }) as fc.Arbitrary<Edit>;
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), fc.array(edit, { maxLength: 3 }), async (seed, edits) => {
        using home = temporaryFolder();
        const before = content(seed);
        expect(await deliver(home.path, before)).toBeGreaterThan(SIZE);
        expect(await deliver(home.path, edits.reduce(edited, before))).toBeLessThan(SIZE * 0.75);
      }),
      { numRuns: 12 },
    );
  }, 180_000);

  test("travels in the small part that changed", async () => {
    using home = temporaryFolder();
    const before = content(1);
    await deliver(home.path, before);
    const after = edited(before, { kind: "insert", at: 0.5, to: 0, bytes: 100 });
    expect(await deliver(home.path, after)).toBeLessThan(SIZE / 10);
  });

  test("costs little more than the whole when all of it changed", async () => {
    using home = temporaryFolder();
    await deliver(home.path, content(1));
    expect(await deliver(home.path, content(2))).toBeLessThan(SIZE * 1.02);
  });

  test.each([
    ["that repeats itself", Buffer.alloc(SIZE)],
    ["that becomes shorter", content(3).subarray(0, SIZE / 3)],
    ["that becomes longer", Buffer.concat([content(3), content(4)])],
  ])("%s arrives as it is", async (_what, after) => {
    using home = temporaryFolder();
    await deliver(home.path, content(3));
    await deliver(home.path, after);
    await deliver(home.path, content(3));
  });

  test("reuses nothing of a file that somebody changed here", async () => {
    using home = temporaryFolder();
    await deliver(home.path, content(1));
    const stored = join(home.path, "inbox", "peer-1", "file");
    utimesSync(stored, 1, 1);
    const path = join(home.path, "source");
    const link = joined(home.path, { blocks: true });
    await link.sender.send(path, "file");
    expect(link.travelled()).toBeGreaterThan(SIZE);
    link.cut();
  });

  test("travels whole where one side does not know blocks", async () => {
    using home = temporaryFolder();
    await deliver(home.path, content(1));
    expect(await deliver(home.path, content(1), { blocks: false })).toBeGreaterThan(SIZE);
  });
});

describe("a transfer that was cut", () => {
  test("goes on where it was, however often it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0.3, max: 0.95, noNaN: true }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (shares, crash) => {
          using home = temporaryFolder();
          const bytes = content(5);
          let travelled = 0;
          for (const share of shares.sort()) travelled += await begin(home.path, bytes, share, crash);
          travelled += await deliver(home.path, bytes);
          // What was under way when the link ended travels again.
          expect(travelled).toBeLessThan(SIZE + (shares.length + 1) * 1_300_000);
          expect(await deliver(home.path, bytes)).toBeLessThan(SIZE / 10);
        },
      ),
      { numRuns: 8 },
    );
  }, 180_000);

  test("goes on with a file that has changed meanwhile", async () => {
    for (const kind of ["insert", "delete", "overwrite"] as const)
      for (const at of [0, 0.3]) {
        using home = temporaryFolder();
        const bytes = content(6);
        await begin(home.path, bytes, 0.8);
        const travelled = await deliver(home.path, edited(bytes, { kind, at, to: 0, bytes: 50_000 }));
        // What is behind an insertion travels again: it would be written over before it is copied.
        expect(travelled).toBeLessThan(kind === "insert" ? SIZE * (1.1 - at) : SIZE * 0.6);
      }
  });

  test("goes on from both the version before and what has arrived", async () => {
    using home = temporaryFolder();
    const [before, added] = [content(7), content(8)];
    await deliver(home.path, before);
    const after = Buffer.concat([added, before]);
    await begin(home.path, after, 0.4);
    expect(await deliver(home.path, after)).toBeLessThan(SIZE * 0.9);
  });

  test("gives way to another file that needs the room", async () => {
    using home = temporaryFolder();
    await begin(home.path, content(9), 0.5);
    const path = join(home.path, "other");
    writeFileSync(path, content(10));
    const link = joined(home.path, { quota: SIZE * 1.1 });
    await link.sender.send(path, "other");
    link.cut();
    expect(readdirSync(join(home.path, "inbox", INCOMING))).toEqual([]);
  });

  test("goes on in an inbox that has room for the file once", async () => {
    using home = temporaryFolder();
    await begin(home.path, content(9), 0.7);
    expect(await deliver(home.path, content(9), { quota: SIZE * 1.1 })).toBeLessThan(SIZE * 0.8);
  });
});

// A peer that lies about blocks loses its own transfer, and nothing else.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { encodeBlocks } from "../../../src/host/peers/block-list";
import { INCOMING, openInbox } from "../../../src/host/peers/inbox";
import { partialName } from "../../../src/host/peers/partials";
import { FileSender, Window } from "../../../src/host/peers/send";
import { movableClocks, temporaryFolder, until } from "../../support";
import { receiverIn } from "./transfer-ends";

const SIZE = 1_500_000;
const BEFORE = Buffer.alloc(SIZE, "before ");
const AVERAGE = 16_384;

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** A receiver that has {@link BEFORE} as `file`. */
function receiverWithFile(home: string) {
  const peer = receiverIn(home);
  peer.begin("first", SIZE);
  peer.receiver.bytes(BEFORE);
  peer.end("first", { sha256: sha256(BEFORE) });
  peer.replies.length = 0;
  const beginBlocks = (id: string, size = SIZE, blocks = AVERAGE) =>
    peer.say({ type: "file_begin", name: "file", size, transfer_id: id, acks: true, blocks });
  const list = (id: string, blocks: string, last: boolean) =>
    peer.say({ type: "file_list", transfer_id: id, blocks, last });
  const reply = (type: string) => until(type, () => peer.replies.some((each) => each.type === type));
  const result = async () => {
    await reply("file_result");
    return peer.replies.findLast(({ type }) => type === "file_result");
  };
  const stored = () => readFileSync(join(peer.root, "file"));
  return { ...peer, beginBlocks, list, reply, result, stored };
}

/** A list of blocks that no version of the file has. */
function unknownBlocks(size: number): string {
  const blocks = [];
  for (let offset = 0; offset < size; offset += 65_536)
    blocks.push({ offset, length: Math.min(65_536, size - offset), hash: "0123456789abcdef" });
  return encodeBlocks(blocks);
}

describe("a receiver", () => {
  test("refuses blocks that a file of that size cannot have", async () => {
    using home = temporaryFolder();
    const peer = receiverWithFile(home.path);
    for (const [size, blocks] of [
      [SIZE, 1],
      [SIZE, AVERAGE + 1],
      [SIZE, 2 ** 40],
      [1_000, AVERAGE],
      [2 ** 38, AVERAGE],
    ] as const) {
      peer.beginBlocks("x", size, blocks);
      peer.end("x");
      expect(await peer.result()).toMatchObject({
        ok: false,
        error: "such a file has no blocks of that length",
      });
      peer.replies.length = 0;
    }
    expect(peer.left()).toEqual(["file"]);
  });

  test("keeps the version before when blocks make another file than the digest says", async () => {
    using home = temporaryFolder();
    const peer = receiverWithFile(home.path);
    peer.beginBlocks("x");
    peer.list("x", unknownBlocks(SIZE), true);
    await peer.reply("file_need");
    for (let at = 0; at < SIZE; at += 16_000)
      peer.receiver.bytes(Buffer.alloc(Math.min(16_000, SIZE - at), 1));
    peer.end("x", { sha256: sha256(BEFORE) });
    expect(await peer.result()).toMatchObject({ ok: false, error: expect.stringContaining("SHA-256") });
    expect(peer.stored().equals(BEFORE)).toBe(true);
    expect(peer.left()).toEqual(["file"]);
  });

  test.each<[string, (peer: ReturnType<typeof receiverWithFile>) => void]>([
    ["bytes that it did not ask for", (peer) => peer.bytes("early")],
    [
      "bytes before the end of the list",
      (peer) => {
        peer.list("x", unknownBlocks(65_536), false);
        peer.bytes("early");
      },
    ],
    [
      "more bytes than it asked for",
      (peer) => {
        peer.list("x", unknownBlocks(SIZE), true);
        for (let at = 0; at <= SIZE; at += 16_000) peer.receiver.bytes(new Uint8Array(16_000));
      },
    ],
    ["a list of a shorter file", (peer) => peer.list("x", unknownBlocks(SIZE - 1), true)],
    [
      "a list that goes on after its end",
      (peer) => {
        peer.list("x", unknownBlocks(SIZE), true);
        peer.list("x", "", true);
      },
    ],
    [
      "an end without the blocks",
      (peer) => {
        peer.list("x", unknownBlocks(SIZE), true);
        peer.end("x", { sha256: sha256(BEFORE) });
      },
    ],
    [
      "no digest",
      (peer) => {
        peer.list("x", unknownBlocks(SIZE), true);
        for (let at = 0; at < SIZE; at += 16_000)
          peer.receiver.bytes(new Uint8Array(Math.min(16_000, SIZE - at)));
        peer.end("x");
      },
    ],
  ])("refuses %s, and takes the next file", async (_what, lie) => {
    using home = temporaryFolder();
    const peer = receiverWithFile(home.path);
    peer.beginBlocks("x");
    lie(peer);
    expect(await peer.result()).toMatchObject({ transfer_id: "x", ok: false });
    expect(peer.stored().equals(BEFORE)).toBe(true);
    peer.replies.length = 0;
    peer.end("x");
    peer.begin("next", 2, "next");
    peer.bytes("ok");
    peer.end("next");
    expect(await peer.result()).toMatchObject({ transfer_id: "next", ok: true });
  });

  test("survives any sequence of messages about blocks", async () => {
    const id = fc.constantFrom("1", "2");
    const message = fc.oneof(
      fc.record({
        ...{ type: fc.constant("file_begin"), name: fc.constantFrom("file", "other"), transfer_id: id },
        ...{
          size: fc.constantFrom(2, SIZE),
          acks: fc.boolean(),
          blocks: fc.constantFrom(undefined, 0, AVERAGE, 2 ** 20),
        },
      }),
      fc.record({
        ...{
          type: fc.constantFrom("file_list", "file_need", "file_basis"),
          transfer_id: id,
          last: fc.boolean(),
        },
        blocks: fc.constantFrom("", "AAAA", unknownBlocks(SIZE), unknownBlocks(65_536), 1),
        ...{ ranges: fc.constantFrom([], [[0, 1]]), bytes: fc.integer() },
      }),
      fc.record({
        type: fc.constant("file_end"),
        transfer_id: id,
        sha256: fc.constantFrom(null, sha256(BEFORE)),
      }),
      fc.constant(new Uint8Array(65_536)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 20 }), async (messages) => {
        using home = temporaryFolder();
        const peer = receiverWithFile(home.path);
        for (const each of messages) {
          if (each instanceof Uint8Array) peer.receiver.bytes(each);
          else peer.say(each);
          // Lets it read its files.
          await setImmediate();
        }
        peer.begin("last", 2, "last");
        // It may overlap with one that never ended.
        peer.end("last");
        peer.receiver.close();
        peer.inbox[Symbol.dispose]();
        expect(peer.stored().length).toBeOneOf([SIZE, 2]);
        expect(peer.underWay().every((name) => name.startsWith("part-"))).toBe(true);
      }),
      { numRuns: 60 },
    );
  }, 180_000);
});

describe("a sender", () => {
  /** A sender whose peer says that it has a part of the file. */
  const sending = (home: string) => {
    const path = join(home, "source");
    writeFileSync(path, BEFORE);
    const said: Array<Record<string, unknown>> = [];
    let sent = 0;
    const outlet = {
      sendText: (text: string) => void said.push(JSON.parse(text)),
      sendBytes(bytes: Uint8Array) {
        sent += bytes.byteLength;
      },
      buffered: () => 0,
    };
    const sender = new FileSender(outlet, { acks: true, blocks: true, window: new Window(), stallMs: 200 });
    const done = sender.send(path, "file");
    const transfer_id = said[0]?.transfer_id;
    const say = (message: object) => sender.text(JSON.stringify({ transfer_id, ...message }));
    say({ type: "file_basis", bytes: 100_000 });
    return { done, say, sent: () => sent };
  };

  test.each<[string, Array<[number, number]>]>([
    ["blocks that do not exist", [[0, 100_000]]],
    ["blocks after the last", [[100_000, 1]]],
    [
      "the same block twice",
      [
        [0, 1],
        [0, 1],
      ],
    ],
    [
      "blocks in reverse",
      [
        [5, 1],
        [0, 1],
      ],
    ],
    ["no block", [[0, 0]]],
  ])("sends nothing to a peer that asks for %s", async (_what, ranges) => {
    using home = temporaryFolder();
    const { done, say, sent } = sending(home.path);
    say({ type: "file_need", ranges, last: true });
    await expect(done).rejects.toThrow("the peer asked for");
    expect(sent()).toBe(0);
  });

  test("gives up on a peer that never asks for anything", async () => {
    using home = temporaryFolder();
    await expect(sending(home.path).done).rejects.toThrow("no longer answers");
  });
});

describe("a partial file", () => {
  /** An inbox in `home`, and the name of the partial file that a cut transfer of `file` left in it. */
  const cut = (home: string) => {
    const peer = receiverIn(home);
    peer.say({ type: "file_begin", name: "file", size: SIZE, transfer_id: 1, acks: true, blocks: AVERAGE });
    peer.receiver.bytes(BEFORE.subarray(0, 100_000));
    peer.receiver.close();
    peer.inbox[Symbol.dispose]();
    const [name = ""] = peer.underWay();
    expect(name).toStartWith("part-");
    return { folder: join(home, "inbox", INCOMING), name };
  };

  test.each(["a link", "another name of a file", "a folder"])("is never %s", async (what) => {
    using home = temporaryFolder();
    const { folder, name } = cut(home.path);
    const precious = join(home.path, "precious");
    writeFileSync(precious, "precious");
    rmSync(join(folder, name));
    if (what === "a link") symlinkSync(precious, join(folder, name));
    else if (what === "a folder") mkdirSync(join(folder, name, "more"), { recursive: true });
    else linkSync(precious, join(folder, name));
    const peer = receiverIn(home.path);
    peer.say({ type: "file_begin", name: "file", size: SIZE, transfer_id: "1", acks: true, blocks: AVERAGE });
    expect(peer.replies).toMatchObject([{ type: "file_basis", bytes: 0 }]);
    peer.receiver.bytes(BEFORE);
    peer.end("1", { sha256: sha256(BEFORE) });
    expect(readFileSync(precious, "utf8")).toBe("precious");
    expect(peer.left()).toEqual(["file"]);
  });

  test("is removed after a day, and when there are too many", () => {
    using home = temporaryFolder();
    const { folder, name } = cut(home.path);
    const now = Date.now() / 1_000;
    using clocks = movableClocks();
    clocks.advance(3_600_000);
    for (let n = 0; n < 70; n++) {
      const path = join(folder, partialName(n.toString(16).padStart(64, "0")));
      writeFileSync(path, "x");
      utimesSync(path, now, now - (n < 10 ? 90_000 : 1_000));
    }
    receiverIn(home.path);
    expect(readdirSync(folder)).toHaveLength(61);
    for (let n = 100; n < 110; n++)
      writeFileSync(join(folder, partialName(n.toString(16).padStart(64, "0"))), "x");
    receiverIn(home.path);
    expect(readdirSync(folder)).toHaveLength(64);
    expect(readdirSync(folder)).toContain(name);
  });

  test("is of one sender and one token", () => {
    using home = temporaryFolder();
    const { folder, name } = cut(home.path);
    const place = { folder: join(home.path, "inbox"), index: join(home.path, "inbox.db") };
    const limits = { quota: 0, maxFiles: 0, minFree: 0 };
    const other = (more: object) => {
      using inbox = openInbox({ ...place, ...limits, sender: "peer-1", ...more });
      const file = inbox.begin("file", SIZE, true);
      file.abort();
      return file.before;
    };
    expect([other({ token: "ci" }), other({ sender: "peer-2" }), other({})]).toEqual([0, 0, 100_000]);
    expect(readdirSync(folder)).not.toContain(name);
  });

  test("counts as used, also where its process was killed", () => {
    using home = temporaryFolder();
    const { folder, name } = cut(home.path);
    const killed = join(folder, partialName("f".repeat(64)));
    renameSync(join(folder, name), killed);
    const peer = receiverIn(home.path, { quota: 1_000_000 });
    peer.begin("2", 950_000, "other");
    expect(peer.underWay()).toHaveLength(1);
    expect(readdirSync(folder)).not.toContain(partialName("f".repeat(64)));
  });
});

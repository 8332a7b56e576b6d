// What one transfer in blocks may cost: no other transfer, and little memory.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeBlocks } from "../../../src/host/peers/block-list";
import { MAX_BLOCKS } from "../../../src/host/peers/blocks";
import { FileSender, Window } from "../../../src/host/peers/send";
import { Needs } from "../../../src/host/peers/send-blocks";
import { temporaryFolder, until } from "../../support";
import { receiverIn } from "./transfer-ends";

const SIZE = 1_500_000;
const AVERAGE = 16_384;
const CONTENT = Buffer.alloc(SIZE, "content ");

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** A sender of a file in `home`, and what its peer may say. */
function sending(
  home: string,
  { size = SIZE, window = new Window(), stallMs = 20_000, looked = (_path: string) => {} } = {},
) {
  const path = join(home, `source-${size}`);
  writeFileSync(path, Buffer.alloc(size, "content "));
  const said: Array<Record<string, unknown>> = [];
  let [sent, listed] = [0, 0];
  let received = () => {};
  const outlet = {
    sendText(text: string) {
      const message = JSON.parse(text);
      said.push(message);
      if (message.type === "file_list") listed += Buffer.from(message.blocks, "base64").length / 20;
    },
    sendBytes(bytes: Uint8Array) {
      sent += bytes.byteLength;
      setImmediate(() => received());
    },
    buffered() {
      looked(path);
      return 0;
    },
  };
  const sender = new FileSender(outlet, { acks: true, blocks: true, window, stallMs });
  const done = sender.send(path, "file");
  // A test may look at it later than it fails.
  done.catch(() => {});
  const say = (message: object) =>
    sender.text(JSON.stringify({ transfer_id: said[0]?.transfer_id, ...message }));
  return {
    ...{ sender, path, said, done, say },
    sent: () => sent,
    /** Has the peer report all that it was sent. */
    acknowledge() {
      received = () => say({ type: "file_ack", bytes: sent });
    },
    /** Has the peer ask for all blocks once they are listed. */
    async need() {
      await until("the block list", () => said.some(({ last }) => last === true));
      say({ type: "file_need", ranges: [[0, listed]], last: true });
    },
  };
}

describe("a sender", () => {
  test("sends other files while a peer copies blocks of one", async () => {
    using home = temporaryFolder();
    const window = new Window();
    const slow = sending(home.path, { window });
    slow.say({ type: "file_basis", bytes: SIZE });
    await slow.need();
    await until("bytes under way", () => slow.sent() >= 200_000);
    const other = sending(home.path, { size: 1_000_000, window, stallMs: 500 });
    other.acknowledge();
    await until("the end of the other file", () => other.said.some(({ type }) => type === "file_end"));
    other.say({ type: "file_result", ok: true });
    await other.done;
    expect(other.sent()).toBe(1_000_000);
    slow.sender.close();
    await expect(slow.done).rejects.toThrow("the channel closed");
  });

  test("ignores what a peer asks for of a file that travels whole", async () => {
    using home = temporaryFolder();
    const { done, say, said, sent, acknowledge } = sending(home.path);
    acknowledge();
    say({ type: "file_need", ranges: [[0, 0]], last: true });
    say({ type: "file_basis", bytes: 0 });
    say({ type: "file_need", ranges: [[0, 0]], last: true });
    await until("the end", () => said.some(({ type }) => type === "file_end"));
    say({ type: "file_result", ok: true });
    await done;
    expect(sent()).toBe(SIZE);
  });

  test("counts no file as delivered that it refused to send", async () => {
    using home = temporaryFolder();
    const { done, say } = sending(home.path);
    say({ type: "file_basis", bytes: 100_000 });
    say({ type: "file_need", ranges: [[0, 0]], last: true });
    say({ type: "file_result", ok: true });
    await expect(done).rejects.toThrow("the peer asked for");
  });

  test("lists no file that has changed since it was announced", async () => {
    using home = temporaryFolder();
    const { done, path, say, said } = sending(home.path);
    appendFileSync(path, "more");
    say({ type: "file_basis", bytes: 100_000 });
    await expect(done).rejects.toThrow("changed while it was read");
    expect(said.map(({ type }) => type)).toEqual(["file_begin", "file_end"]);
  });

  test("does not complete the list of a file that changes meanwhile", async () => {
    using home = temporaryFolder();
    const looked = (path: string) => appendFileSync(path, "more");
    const { done, say, said } = sending(home.path, { looked });
    say({ type: "file_basis", bytes: 100_000 });
    await expect(done).rejects.toThrow("changed while it was read");
    expect(said.some(({ last }) => last === true)).toBe(false);
  });

  test.each([
    [0, "no longer answers"],
    [1, "makes no progress"],
  ])("gives up on a peer that has %d bytes, reports without end and takes nothing", async (bytes, error) => {
    using home = temporaryFolder();
    const { done, say } = sending(home.path, { size: 1_048_576, stallMs: 500 });
    say({ type: "file_basis", bytes });
    const reports = setInterval(() => say({ type: "file_ack", bytes: 0 }), 20);
    await expect(done).rejects.toThrow(error);
    clearInterval(reports);
  });

  test("notes no more blocks than a file may have", () => {
    const needs = new Needs();
    needs.add([[MAX_BLOCKS - 1, 1]], false);
    expect(() => needs.add([[MAX_BLOCKS, 1]], false)).toThrow("blocks that do not exist");
  });
});

/** A receiver that has {@link CONTENT} as `file`. */
function receiverWithFile(home: string, options: Parameters<typeof receiverIn>[1] = {}) {
  const peer = receiverIn(home, options);
  peer.begin("first", SIZE);
  peer.receiver.bytes(CONTENT);
  peer.end("first", { sha256: sha256(CONTENT) });
  peer.replies.length = 0;
  return peer;
}

const beginBlocks = ({ say }: ReturnType<typeof receiverIn>, id: string, name = "file") =>
  say({ type: "file_begin", name, size: SIZE, transfer_id: id, acks: true, blocks: AVERAGE });

describe("a receiver", () => {
  test("stops to look for blocks when the sender gives up, and takes the next file", async () => {
    using home = temporaryFolder();
    const peer = receiverWithFile(home.path);
    beginBlocks(peer, "x");
    peer.end("x", { sha256: null });
    peer.begin("next", 2, "next");
    peer.bytes("ok");
    peer.end("next");
    const results = () => peer.replies.filter(({ type }) => type === "file_result");
    await until("both results", () => results().length === 2);
    expect(results()).toMatchObject([
      { transfer_id: "x", ok: false, error: "the sender gave up" },
      { transfer_id: "next", ok: true },
    ]);
    expect(peer.left().sort()).toEqual(["file", "next"]);
  });

  test("keeps the partial file of a transfer that the sender gives up", async () => {
    using home = temporaryFolder();
    const cut = receiverIn(home.path);
    beginBlocks(cut, "1");
    cut.receiver.bytes(CONTENT.subarray(0, 100_000));
    cut.receiver.close();
    const [partial] = cut.underWay();
    const peer = receiverIn(home.path);
    beginBlocks(peer, "2");
    peer.end("2", { sha256: null });
    await until("the result", () => peer.replies.some(({ type }) => type === "file_result"));
    expect(peer.underWay()).toEqual([`${partial}`]);
  });

  test("puts few files of a session together at once; any other travels whole", async () => {
    using home = temporaryFolder();
    const assembling = new Set<object>();
    receiverWithFile(home.path);
    const peers = Array.from({ length: 5 }, () => receiverIn(home.path, { assembling }));
    for (const peer of peers) beginBlocks(peer, "x");
    expect(peers.map(({ replies }) => replies[0]?.bytes)).toEqual([SIZE, SIZE, SIZE, SIZE, 0]);
    const [first] = peers;
    if (!first) throw new Error("no receiver");
    first.end("x", { sha256: null });
    await until("its end", () => first.replies.some(({ type }) => type === "file_result"));
    beginBlocks(first, "y");
    await until("another basis", () => first.replies.at(-1)?.type === "file_basis");
    expect(first.replies.at(-1)).toMatchObject({ transfer_id: "y", bytes: SIZE });
    for (const { receiver } of peers) receiver.close();
    expect(assembling.size).toBe(0);
  });

  test("puts a file together without a former version that cannot be read", async () => {
    using home = temporaryFolder();
    const { inbox } = receiverWithFile(home.path);
    const file = openSync(join(home.path, "for-writing"), "w");
    const former = { file, size: SIZE };
    const peer = receiverIn(home.path, { begin: (...args) => ({ ...inbox.begin(...args), former }) });
    beginBlocks(peer, "x");
    const hash = "0123456789abcdef";
    const blocks = Array.from({ length: SIZE / 60_000 }, (_, n) => ({
      offset: n * 60_000,
      length: 60_000,
      hash,
    }));
    peer.say({ type: "file_list", transfer_id: "x", blocks: encodeBlocks(blocks), last: true });
    await until("what it needs", () => peer.replies.some(({ type }) => type === "file_need"));
    peer.receiver.bytes(CONTENT);
    peer.end("x", { sha256: sha256(CONTENT) });
    await until("the result", () => peer.replies.some(({ type }) => type === "file_result"));
    expect(peer.replies.at(-1)).toMatchObject({ ok: true });
    closeSync(file);
  });

  test.each([
    ["of another meaning", true, null],
    ["of another type", true, "12"],
    ["that nobody agreed on", false, 12],
  ])("takes a whole file with a field `blocks` %s", (_what, agreed, blocks) => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path, { blocks: agreed });
    peer.say({ type: "file_begin", name: "file", size: 2, transfer_id: "x", acks: true, blocks });
    peer.bytes("ok");
    peer.end("x");
    expect(peer.replies).toMatchObject([{ type: "file_result", ok: true }]);
    expect(peer.left()).toEqual(["file"]);
  });
});

import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { INCOMING } from "../../../src/host/peers/inbox";
import { FileReceiver } from "../../../src/host/peers/receive";
import { temporaryFolder, until } from "../../support";
import { joined, receiverIn } from "./transfer-ends";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("a receiver", () => {
  test("stores a complete file, with and without a digest", () => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path);
    peer.begin("1", 5, "with");
    peer.bytes("he");
    peer.bytes("llo");
    peer.end("1", { sha256: sha256("hello") });
    peer.begin("2", 0, "without");
    peer.end("2");
    peer.begin("3", 1, "capitals");
    peer.bytes("x");
    peer.end("3", { sha256: sha256("x").toUpperCase() });
    expect(peer.left().sort()).toEqual(["capitals", "with", "without"]);
    expect(readFileSync(join(peer.root, "with"), "utf8")).toBe("hello");
    expect(peer.replies.map(({ ok }) => ok)).toEqual([true, true, true]);
  });

  /** What is said: a beginning, bytes, an end, or the loss of the channel. */
  type Step =
    | { begin: string; size: number; name?: string }
    | { bytes: string }
    | { end: string; sha256?: string }
    | "cut";
  const play = (peer: ReturnType<typeof receiverIn>, steps: readonly Step[]) => {
    for (const step of steps) {
      if (step === "cut") peer.receiver.close();
      else if ("begin" in step) peer.begin(step.begin, step.size, step.name);
      else if ("bytes" in step) peer.bytes(step.bytes);
      else peer.end(step.end, { sha256: step.sha256 });
    }
  };
  test.each<[string, Step[]]>([
    ["short", [{ begin: "1", size: 5 }, { bytes: "hell" }, { end: "1" }]],
    ["long", [{ begin: "1", size: 5 }, { bytes: "hello!" }, { end: "1" }]],
    ["with an invalid digest", [{ begin: "1", size: 1 }, { bytes: "x" }, { end: "1", sha256: "" }]],
    ["with another digest", [{ begin: "1", size: 5 }, { bytes: "hello" }, { end: "1", sha256: sha256("x") }]],
    ["cut off", [{ begin: "1", size: 5 }, { bytes: "he" }, "cut"]],
    [
      "overlapping with another, nor of the other",
      [
        { begin: "1", size: 5, name: "one" },
        { bytes: "he" },
        { begin: "2", size: 2, name: "two" },
        { bytes: "ab" },
        { end: "2" },
        { end: "1" },
      ],
    ],
    ["named to lead out of the inbox", [{ begin: "1", size: 1, name: "../x" }, { bytes: "a" }, { end: "1" }]],
  ])("leaves nothing of a transfer that is %s", (_what, steps) => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path);
    play(peer, steps);
    expect(peer.left()).toEqual([]);
    expect(peer.replies.filter(({ ok }) => ok)).toEqual([]);
    play(peer, [{ begin: "next", size: 2, name: "next" }, { bytes: "ok" }, { end: "next" }]);
    expect(peer.left()).toEqual(["next"]);
  });

  test("reports its progress", () => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path);
    peer.begin("1", 400_000);
    for (let i = 0; i < 4; i++) peer.receiver.bytes(new Uint8Array(100_000));
    expect(peer.replies.filter(({ type }) => type === "file_ack").map(({ bytes }) => bytes)).toEqual([
      200_000, 400_000,
    ]);
  });

  test("reports a refusal once, before the rest has arrived", () => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path);
    peer.begin("1", 5, "../x");
    expect(peer.replies).toEqual([
      { type: "file_result", transfer_id: "1", ok: false, error: expect.stringContaining("folder") },
    ]);
    peer.bytes("hello");
    peer.end("1");
    expect(peer.replies).toHaveLength(1);
  });

  test("reports a full disk to the peer, without a path", () => {
    const replies: unknown[] = [];
    const failed: unknown[] = [];
    const full = Object.assign(new Error("ENOSPC: no space left on device, open '/home/x'"), {
      code: "ENOSPC",
    });
    for (const thrown of [full, new Error("a bug in /home/x")]) {
      const receiver = new FileReceiver({
        begin() {
          throw thrown;
        },
        reply: (message) => replies.push(message),
        failed: (error) => failed.push(error),
      });
      receiver.text(JSON.stringify({ type: "file_begin", name: "a", size: 1, transfer_id: 1, acks: true }));
    }
    expect(replies).toMatchObject([
      { ok: false, error: "the disk is full (ENOSPC)" },
      { ok: false, error: "it could not be written" },
    ]);
    expect(failed).toHaveLength(2);
  });

  test("survives any sequence of messages, and keeps only files that were announced and complete", () => {
    const id = fc.constantFrom("1", "2");
    const message = fc.oneof(
      fc.record({
        type: fc.constant("file_begin"),
        name: fc.constantFrom("a", "b", "../c", "/d"),
        size: fc.integer({ min: -1, max: 4 }),
        transfer_id: id,
        acks: fc.boolean(),
      }),
      fc.record({
        type: fc.constant("file_end"),
        transfer_id: id,
        sha256: fc.constantFrom(undefined, null, sha256("xx"), "zz"),
      }),
      fc.uint8Array({ maxLength: 3 }),
      fc.constant("x".repeat(2)),
      fc.json(),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (messages) => {
        using home = temporaryFolder();
        const { receiver, root } = receiverIn(home.path);
        for (const each of messages) {
          if (each instanceof Uint8Array) receiver.bytes(each);
          else receiver.text(typeof each === "string" ? each : JSON.stringify(each));
        }
        receiver.close();
        expect(readdirSync(home.path).sort()).toEqual(expect.arrayContaining(["inbox.db", "inbox"]));
        expect(readdirSync(join(home.path, "inbox", INCOMING))).toEqual([]);
        expect(readdirSync(root).every((name) => /^[ab]($|\.conflict-)/.test(name))).toBe(true);
      }),
      { numRuns: 100 },
    );
  }, 180_000);
});

describe("a sender", () => {
  test.each([true, false])(
    "delivers a file with at most a mebibyte under way (acknowledged: %p)",
    async (acks) => {
      using home = temporaryFolder();
      const path = join(home.path, "source");
      const content = Buffer.alloc(3_000_000, "0123456789abcdef");
      writeFileSync(path, content);
      const { sender, peer, most } = joined(home.path, { acks });
      const progress: number[] = [];
      await sender.send(path, "copy", (bytes) => progress.push(bytes));
      await until("the copy", () => peer.left().includes("copy"));
      expect(readFileSync(join(peer.root, "copy")).equals(content)).toBe(true);
      expect(most()).toBeLessThanOrEqual(1_048_576);
      expect(progress.at(-1)).toBe(content.length);
    },
  );

  test("reports why the peer refused", async () => {
    using home = temporaryFolder();
    const path = join(home.path, "source");
    writeFileSync(path, "x");
    const { sender } = joined(home.path);
    await expect(sender.send(path, "../x")).rejects.toThrow(/the peer refused it: .*stands for a folder/);
  });

  test("does not deliver a file that changes while it is read", async () => {
    using home = temporaryFolder();
    const path = join(home.path, "source");
    writeFileSync(path, Buffer.alloc(600_000));
    const { sender, peer } = joined(home.path);
    let appended = false;
    const sending = sender.send(path, "copy", () => {
      if (!appended) appendFileSync(path, "more");
      appended = true;
    });
    await expect(sending).rejects.toThrow("changed while it was read");
    await until("the peer to remove what it has got", () => peer.left().length === 0);
  });

  test("gives up when the peer stops answering or the channel closes", async () => {
    using home = temporaryFolder();
    const path = join(home.path, "source");
    writeFileSync(path, Buffer.alloc(2_000_000));
    const silent = joined(home.path, { deliver: false, stallMs: 50 });
    expect(silent.sender.send(path, "copy")).rejects.toThrow("no longer answers");
    const closing = joined(home.path, { deliver: false });
    const sending = closing.sender.send(path, "copy");
    closing.sender.close();
    expect(sending).rejects.toThrow("the channel closed");
  });
});

import { describe, expect, test } from "bun:test";
import { linkSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { clearIncoming, INCOMING } from "../../../src/host/peers/inbox";
import { openInboxIndex } from "../../../src/host/peers/inbox-index";
import { temporaryFolder } from "../../support";
import { receiverIn } from "./transfer-ends";

const SIZE = 1_500_000;

type Peer = ReturnType<typeof receiverIn>;

const beginBlocks = ({ say }: Peer, id: string, name = "file", size = SIZE) =>
  say({ type: "file_begin", name, size, transfer_id: id, acks: true, blocks: 16_384 });

/** Leaves a partial file of that length. */
function cut(home: string, length = 100_000, name = "file"): void {
  const peer = receiverIn(home);
  beginBlocks(peer, "1", name);
  peer.receiver.bytes(new Uint8Array(length));
  peer.receiver.close();
  peer.inbox[Symbol.dispose]();
}

const sizes = (home: string) => {
  const folder = join(home, "inbox", INCOMING);
  return readdirSync(folder).map((name) => statSync(join(folder, name)).size);
};

describe("a partial file", () => {
  test.each([
    ["the quota", 10_000_000, 20_000_000, "the inbox would hold more than"],
    ["the disk", 0, Number.MAX_SAFE_INTEGER, "the disk would have less than"],
  ])("stays when a file is too large for %s even without it", (_what, quota, size, error) => {
    using home = temporaryFolder();
    cut(home.path);
    const peer = receiverIn(home.path, { quota });
    peer.begin("2", size, "other");
    expect(peer.replies).toMatchObject([{ ok: false, error: expect.stringContaining(error) }]);
    expect(sizes(home.path)).toEqual([100_000]);
  });

  test.each(["ends", "is killed"])("stays when a session that has less of the file %s", (how) => {
    using home = temporaryFolder();
    const [more, less] = [receiverIn(home.path), receiverIn(home.path)];
    beginBlocks(more, "1");
    beginBlocks(less, "1");
    more.receiver.bytes(new Uint8Array(200_000));
    less.receiver.bytes(new Uint8Array(100_000));
    more.receiver.close();
    if (how === "ends") less.receiver.close();
    else clearIncoming(join(home.path, "inbox"), process.pid);
    expect(sizes(home.path)).toEqual([200_000]);
  });

  test("is no file that a crash left with its name in the inbox too", () => {
    using home = temporaryFolder();
    const peer = receiverIn(home.path);
    beginBlocks(peer, "1");
    peer.receiver.bytes(new Uint8Array(100_000));
    const [name = ""] = peer.underWay();
    linkSync(join(home.path, "inbox", INCOMING, name), join(peer.root, "file"));
    clearIncoming(join(home.path, "inbox"), process.pid);
    expect(peer.left()).toEqual(["file"]);
  });

  test("gives way to newer ones during a session, and then no longer counts", () => {
    using home = temporaryFolder();
    const { inbox } = receiverIn(home.path);
    for (let n = 0; n < 70; n++) {
      const file = inbox.begin(`file-${n}`, SIZE, true);
      file.write(new Uint8Array(10));
      file.keep();
    }
    using index = openInboxIndex(join(home.path, "inbox.db"), "peer-1");
    expect(sizes(home.path)).toHaveLength(64);
    expect(index.incoming()).toHaveLength(64);
  });
});

test("a full disk does not count files under way that are gone", () => {
  using home = temporaryFolder();
  const peer = receiverIn(home.path);
  using index = openInboxIndex(join(home.path, "inbox.db"), "peer-1");
  index.hold(join(home.path, "inbox", INCOMING, "gone"), 2 ** 52);
  peer.begin("1", 2);
  peer.bytes("ok");
  peer.end("1");
  expect(peer.replies).toMatchObject([{ ok: true }]);
});

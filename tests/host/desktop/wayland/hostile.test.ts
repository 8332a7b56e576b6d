/** What a compositor says that keeps to no protocol: it ends the connection, and nothing else. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { connectWayland } from "../../../../src/host/desktop/wayland/connection";
import { createObjects } from "../../../../src/host/desktop/wayland/objects";
import { openSway } from "../../../../src/host/desktop/wayland/sway-ipc";
import { decode } from "../../../../src/host/desktop/wayland/wire";
import { temporaryFolder } from "../../../support";

test.each([
  ["a text that is longer than its message", ["string"], [100, 0]],
  ["a number that is not there", ["uint", "uint"], [1]],
  ["an array of four gigabytes", ["array"], [0xffff_fffc]],
])("%s is no message", (_, types, words) => {
  const body = Buffer.alloc(4 * words.length);
  for (const [nth, word] of words.entries()) body.writeUInt32LE(word, 4 * nth);
  expect(() => decode(types, body, [])).toThrow(RangeError);
});

test("descriptors that no event takes do not pile up", () => {
  const objects = createObjects(() => {});
  // An event of an object that there is not: its head alone.
  const event = Buffer.alloc(8);
  event.writeUInt32LE(99, 0);
  event.writeUInt32LE(8 << 16, 4);
  const receive = () =>
    objects.received(
      event,
      Array.from({ length: 28 }, (_, nth) => 10_000 + nth),
    );
  for (let nth = 0; nth < 4; nth++) receive();
  expect(receive).toThrow("too many descriptors");
});

test("a compositor whose message is cut off is left, and that is said", async () => {
  using folder = temporaryFolder();
  // `wl_display.error`, whose text is said to have a hundred bytes.
  const message = Buffer.alloc(20);
  for (const [nth, word] of [1, 20 << 16, 1, 0, 100].entries()) message.writeUInt32LE(word, 4 * nth);
  const path = `${folder.path}/wayland-0`;
  const server = Bun.listen({ unix: path, socket: { data: (socket) => void socket.write(message) } });
  let lost = 0;
  const connecting = connectWayland({ WAYLAND_DISPLAY: path }, () => lost++);
  await expect(connecting).rejects.toThrow("sent what is no message");
  expect(lost).toBe(1);
  server.stop(true);
});

/** Sway's socket, which answers each question with these bytes. */
function falseSway(answer: Buffer) {
  const folder = temporaryFolder();
  const server = Bun.listen({
    unix: join(folder.path, "sway-ipc.1000.77.sock"),
    socket: { data: (socket) => void socket.write(answer) },
  });
  const sway = openSway(77, { XDG_RUNTIME_DIR: folder.path });
  if (!sway) throw new Error("no sway");
  return {
    sway,
    [Symbol.dispose]() {
      server.stop(true);
      folder[Symbol.dispose]();
    },
  };
}

/** The head of an answer of so many bytes. */
function headOf(bytes: number): Buffer {
  const head = Buffer.alloc(14);
  head.write("i3-ipc");
  head.writeUInt32LE(bytes, 6);
  return head;
}

test.each([
  ["with gigabytes", headOf(3_000_000_000), "answered with more than 16777216 bytes"],
  ["with what is no JSON", Buffer.concat([headOf(5), Buffer.from("hello")]), "answered with what is no JSON"],
])("sway that answers %s is refused", async (_, answer, why) => {
  using made = falseSway(answer);
  await expect(made.sway.windows()).rejects.toThrow(why);
});

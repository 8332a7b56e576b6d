/** What a viewer that misbehaves costs: its own session, and nothing of anybody else's. */
import { expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import type { Door } from "../../../../src/host/desktop/screen/calls";
import { testWith, until } from "../../../support";
import {
  childOf,
  desktopOn,
  forAllTests,
  forever,
  openTerminal,
  PROGRAMS,
  SIZE,
  type startDisplay,
} from "../support";
import { CONTINUOUS, EXTENDED_CLIPBOARD, FENCE, TIGHT, view } from "./viewer";

setDefaultTimeout(180_000);
const test = testWith(...PROGRAMS);

let display: Awaited<ReturnType<typeof startDisplay>>;
forAllTests(PROGRAMS, (started) => {
  ({ display } = started);
});

let viewers = 0;
const openViewer = (on: Desktop, control = false) => {
  viewers += 1;
  return on.openViewer({ id: `viewer ${viewers}`, control, name: "test" });
};

/** A connection that has shown its key and shaken hands, and never reads. */
async function deaf({ path, key }: Door): Promise<Socket> {
  const socket = connect(path);
  socket.on("error", () => {});
  socket.write(key);
  socket.write("RFB 003.008\n");
  socket.write(Buffer.of(1));
  socket.write(Buffer.of(1));
  socket.pause();
  return socket;
}

/** That another viewer sees the screen change, and that calls are answered. */
async function othersAreWell(on: Desktop): Promise<void> {
  using viewer = await view(await openViewer(on));
  viewer.encodings(TIGHT, FENCE, CONTINUOUS);
  viewer.start();
  await until("the other viewer to be sent the screen", () => viewer.updates > 0 || undefined);
  expect(await on.screenSize(forever)).toEqual(SIZE);
}

function memoryOf(pid: number): number {
  const [, kilobytes = ""] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1_024;
}

const message = {
  encodings: (...numbers: readonly number[]) => {
    const bytes = Buffer.alloc(4 + 4 * numbers.length);
    bytes.writeUInt8(2);
    bytes.writeUInt16BE(numbers.length, 2);
    numbers.forEach((number, nth) => {
      bytes.writeInt32BE(number, 4 + 4 * nth);
    });
    return bytes;
  },
  all: Buffer.of(3, 0, 0, 0, 0, 0, 255, 255, 255, 255),
  fence: Buffer.of(248, 0, 0, 0, 0x80, 0, 0, 0, 4, 1, 2, 3, 4),
  continuous: Buffer.of(150, 1, 0, 0, 0, 0, 255, 255, 255, 255),
};

const many = (bytes: Buffer, count: number) => Buffer.concat(Array.from({ length: count }, () => bytes));

test("viewers that never read are sent a bounded amount, whatever they ask for", async () => {
  await using made = desktopOn(display.env);
  await othersAreWell(made.desktop);
  const before = memoryOf(childOf(made.desktop));
  const sockets: Socket[] = [];
  for (let nth = 0; nth < 10; nth++) {
    const socket = await deaf(await openViewer(made.desktop));
    sockets.push(socket);
    socket.write(message.encodings(TIGHT, FENCE, CONTINUOUS, EXTENDED_CLIPBOARD));
    socket.write(message.continuous);
    // Answers to fences, capabilities of the clipboard, whole pictures.
    socket.write(
      many(Buffer.concat([message.fence, message.all, message.encodings(0, EXTENDED_CLIPBOARD)]), 50_000),
    );
  }
  await othersAreWell(made.desktop);
  await othersAreWell(made.desktop);
  expect(memoryOf(childOf(made.desktop)) - before).toBeLessThan(150);
  for (const socket of sockets) socket.destroy();
});

test("a viewer that answers no fence, or fences that were never sent, stalls by itself", async () => {
  await using made = desktopOn(display.env);
  using viewer = await view(await openViewer(made.desktop));
  viewer.keepFences();
  viewer.encodings(TIGHT, FENCE, CONTINUOUS);
  viewer.start();
  await until("some updates", () => viewer.fences.length > 0 || undefined);
  viewer.socket.write(many(Buffer.of(248, 0, 0, 0, 0, 0, 0, 1, 4, 255, 255, 255, 255), 100));
  viewer.socket.write(many(Buffer.of(248, 0, 0, 0, 0, 0, 0, 1, 0), 100));
  await othersAreWell(made.desktop);
  expect(viewer.failure).toBeUndefined();
});

test("a flood of keys costs a bounded amount, and neither other viewers nor calls their turn", async () => {
  await using made = desktopOn(display.env);
  await othersAreWell(made.desktop);
  const before = memoryOf(childOf(made.desktop));
  const socket = await deaf(await openViewer(made.desktop, true));
  const strokes = Buffer.alloc(16 * 2_000);
  for (let nth = 0; nth < 2_000; nth++) {
    strokes.set([4, 1, 0, 0], 16 * nth);
    strokes.writeUInt32BE(97 + (nth % 26), 16 * nth + 4);
    strokes.set([4, 0, 0, 0], 16 * nth + 8);
    strokes.writeUInt32BE(97 + (nth % 26), 16 * nth + 12);
  }
  const flood = () => {
    while (!socket.destroyed && socket.write(strokes)) {}
  };
  socket.on("drain", flood);
  flood();
  await othersAreWell(made.desktop);
  await othersAreWell(made.desktop);
  expect(memoryOf(childOf(made.desktop)) - before).toBeLessThan(100);
  socket.destroy();
});

test("a viewer that sends garbage is ended with the reason", async () => {
  await using made = desktopOn(display.env);
  const said: string[] = [];
  made.desktop.viewerListeners.add({
    viewer: (_id, state, reason) => void (state === "closed" && said.push(reason)),
    viewerStats() {},
  });
  const socket = await deaf(await openViewer(made.desktop));
  socket.write(Buffer.of(77, 1, 2, 3));
  await until("it to be ended", () => said.length > 0 || undefined);
  expect(said).toEqual(["it sent what it must not: a message of type 77, which this server did not offer"]);
  const wrong = connect((await openViewer(made.desktop)).path);
  wrong.write("GET / HTTP/1.1\r\nhost: example.com\r\nuser-agent: somebody who has no key at all\r\n\r\n");
  await until("the stranger to be sent away", () => wrong.closed || wrong.destroyed || undefined);
  await othersAreWell(made.desktop);
});

test("bytes at random after the handshake end at most the session that they came on", async () => {
  await using made = desktopOn(display.env);
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed & 0xff;
  };
  for (let nth = 0; nth < 30; nth++) {
    const socket = await deaf(await openViewer(made.desktop, true));
    const first = [0, 2, 3, 4, 5, 6, 150, 248, 251][nth % 9] ?? 0;
    // Keys and buttons at random would do something.
    const bytes = Uint8Array.from({ length: 5_000 }, random).map((byte) =>
      byte === 4 || byte === 5 ? 3 : byte,
    );
    socket.write(Buffer.of(first === 4 || first === 5 ? 3 : first));
    socket.end(bytes);
    socket.resume();
    await until("it to be over", () => socket.closed || socket.destroyed || undefined);
  }
  await othersAreWell(made.desktop);
});

test("a text for the clipboard that never ends, or is longer than it says, costs nothing", async () => {
  await using made = desktopOn(display.env);
  await using terminal = openTerminal(display.env, "terminal");
  void terminal;
  const socket = await deaf(await openViewer(made.desktop, true));
  socket.write(Buffer.of(6, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff));
  const piece = Buffer.alloc(1_000_000, "x");
  for (let nth = 0; nth < 50; nth++) {
    if (!socket.write(piece)) await new Promise<void>((resolve) => socket.once("drain", resolve));
  }
  await othersAreWell(made.desktop);
  expect(memoryOf(childOf(made.desktop))).toBeLessThan(400);
  socket.destroy();
});

/** One viewer: what it is sent when it changes its mind, and what it costs when it misbehaves. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import {
  createViewerClipboard,
  type ViewerClipboard,
} from "../../../../src/host/desktop/screen/child/clipboard";
import { createInput, type Input } from "../../../../src/host/desktop/screen/child/input";
import { openScreen } from "../../../../src/host/desktop/screen/child/screen";
import { Session } from "../../../../src/host/desktop/screen/child/session";
import { temporaryFolder, until } from "../../../support";
import { colours } from "./picture";
import { CONTINUOUS, FENCE, QUALITY_6, TIGHT, view, ZRLE } from "./viewer";

/** A session of its own for each connection to a screen that stays as it is. */
async function serveSessions(
  pixels: Int32Array,
  size: { width: number; height: number },
  {
    handshakeMs,
    input,
    clipboard,
  }: { readonly handshakeMs?: number; readonly input?: Input; readonly clipboard?: ViewerClipboard } = {},
) {
  const folder = temporaryFolder();
  const idle = {
    ...{ ...size, pixels, scale: 1, corner: { x: 0, y: 0 } },
    ...{ grab: async () => [], pointer: async () => ({ x: 0, y: 0 }), close() {} },
  };
  const screen = await openScreen(
    async () => idle,
    () => {},
  );
  const none = { clipboard: async () => "", setClipboard: async () => {} };
  const ended: string[] = [];
  const server = createServer(
    (socket) =>
      new Session({
        ...{ socket, screen, name: "test", ended: (reason) => void ended.push(reason) },
        ...(handshakeMs !== undefined && { handshakeMs }),
        control: input !== undefined,
        input: input ?? createInput({ keys: async () => {}, point: async () => {} }, false),
        clipboard: clipboard ?? createViewerClipboard(none, false),
      }),
  );
  const path = join(folder.path, "rfb");
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  return {
    path,
    ended,
    [Symbol.dispose]() {
      server.close();
      screen.close();
      folder[Symbol.dispose]();
    },
  };
}

test("a viewer that never finishes the handshake is ended, and one that has is not", async () => {
  const size = { width: 64, height: 64 };
  using made = await serveSessions(new Int32Array(size.width * size.height), size, { handshakeMs: 2_000 });
  using viewer = await view({ path: made.path, key: "" });
  viewer.encodings(TIGHT);
  viewer.start();
  const silent = connect(made.path).resume();
  await once(silent, "close");
  expect(made.ended).toEqual(["it did not shake hands within 2 s"]);
  viewer.encodings(ZRLE);
  await until("more", () => viewer.updates > 0 || undefined);
});

test("no more keys are read than may wait, and all of them are struck in the end", async () => {
  const free = Promise.withResolvers<void>();
  let [taken, struck] = [0, 0];
  const devices = {
    async keys(strokes: readonly unknown[]) {
      await free.promise;
      struck += strokes.length;
    },
    point: async () => {},
  };
  const made = createInput(devices, true);
  const input: Input = {
    ...made,
    take(...stroke) {
      taken += 1;
      made.take(...stroke);
    },
  };
  const size = { width: 64, height: 64 };
  using served = await serveSessions(new Int32Array(size.width * size.height), size, { input });
  using viewer = await view({ path: served.path, key: "" });
  const COUNT = 100_000;
  const strokes = Buffer.alloc(8 * COUNT);
  for (let nth = 0; nth < COUNT; nth++) strokes.set([4, 1 - (nth % 2), 0, 0, 0, 0, 0, 97], 8 * nth);
  viewer.socket.write(strokes);
  await until("the first keys", () => taken > 100 || undefined);
  for (let nth = 0; nth < 300; nth++) await new Promise(setImmediate);
  expect(taken).toBeLessThan(300);
  free.resolve();
  await until("all of them", () => struck === COUNT || undefined);
});

test("messages that take long have turns: others come between them, and none is lost", async () => {
  const COUNT = 200;
  let [taken, inTurn, most] = [0, 0, 0];
  const clipboard: ViewerClipboard = {
    ...{ onMessage() {}, changed() {}, offer() {}, given() {}, control() {}, end() {} },
    take() {
      taken += 1;
      inTurn += 1;
      most = Math.max(most, inTurn);
      setImmediate(() => {
        inTurn = 0;
      });
      for (const until = performance.now() + 1; performance.now() < until; );
    },
  };
  const size = { width: 64, height: 64 };
  using served = await serveSessions(new Int32Array(size.width * size.height), size, { clipboard });
  using viewer = await view({ path: served.path, key: "" });
  const message = Buffer.from([6, 0, 0, 0, 0xff, 0xff, 0xff, 0xfc, 2, 0, 0, 1]);
  viewer.socket.write(Buffer.concat(Array<Buffer>(COUNT).fill(message)));
  await until("all of them", () => taken === COUNT || undefined);
  expect(most).toBeLessThan(50);
});

test("a picture that has rested comes again in the encoding that the viewer takes then", async () => {
  const size = { width: 128, height: 64 };
  const pixels = colours(size.width * size.height);
  using made = await serveSessions(pixels, size);
  using viewer = await view({ path: made.path, key: "" });
  viewer.encodings(TIGHT, QUALITY_6);
  viewer.start();
  const rgb = Uint8Array.from([...pixels].flatMap((one) => [(one >> 16) & 255, (one >> 8) & 255, one & 255]));
  await until("the JPEG", () => viewer.updates > 0 || undefined);
  expect(Buffer.compare(viewer.pixels, rgb)).not.toBe(0);
  viewer.encodings(ZRLE);
  await viewer.shows(async () => rgb);
});

test("who controls is sent what was drawn before a film is ready, who only looks all of it at once", async () => {
  const size = { width: 256, height: 64 };
  const pixels = Int32Array.from({ length: size.width * size.height }, (_, at) =>
    at % size.width < 64 ? 0xff_ffff : Math.imul(at, 0x9e37_79b1) >>> 8,
  );
  const expected = Uint8Array.from(
    [...pixels].flatMap((pixel) => [pixel >> 16, (pixel >> 8) & 255, pixel & 255]),
  );
  const updatesOfPicture = async (input?: Input) => {
    using made = await serveSessions(pixels, size, input && { input });
    using viewer = await view({ path: made.path, key: "" });
    viewer.encodings(TIGHT, QUALITY_6, CONTINUOUS, FENCE);
    viewer.start();
    // Without loss: nothing is to come any more.
    await viewer.shows(async () => expected);
    const { updates, fences } = viewer;
    const before = fences.length;
    viewer.ask(false);
    await until("the picture again", () => viewer.updatesAtFences[before] !== undefined);
    return (viewer.updatesAtFences[before] ?? 0) - updates;
  };
  expect(await updatesOfPicture()).toBe(1);
  expect(await updatesOfPicture(createInput({ keys: async () => {}, point: async () => {} }, true))).toBe(2);
});

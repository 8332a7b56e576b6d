/** What a viewer is sent that changes its mind. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { createViewerClipboard } from "../../../src/desktop/screen/child/clipboard";
import { createInput } from "../../../src/desktop/screen/child/input";
import { openScreen } from "../../../src/desktop/screen/child/screen";
import { createSession } from "../../../src/desktop/screen/child/session";
import { temporaryFolder, until } from "../../support";
import { QUALITY_6, TIGHT, view, ZRLE } from "./viewer";

/** As many colours as a film has, the same each time. */
function film(count: number): Int32Array {
  let seed = 1;
  return Int32Array.from({ length: count }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (seed >> 4) & 0xff_ffff;
  });
}

/** A session of its own for each connection to a screen that stays as it is. */
async function serveSessions(
  pixels: Int32Array,
  size: { width: number; height: number },
  handshakeMs?: number,
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
  const server = createServer((socket) =>
    createSession({
      ...{ socket, screen, name: "test", control: false, ended: (reason) => void ended.push(reason) },
      ...(handshakeMs !== undefined && { handshakeMs }),
      input: createInput({ keys: async () => {}, point: async () => {} }, false),
      clipboard: createViewerClipboard(none, false),
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
  using made = await serveSessions(new Int32Array(size.width * size.height), size, 300);
  using viewer = await view({ path: made.path, key: "" });
  viewer.encodings(TIGHT);
  viewer.start();
  const silent = connect(made.path).resume();
  await once(silent, "close");
  expect(made.ended).toEqual(["it did not shake hands within 0.3 s"]);
  viewer.encodings(ZRLE);
  await until("more", () => viewer.updates > 0 || undefined);
});

test("a picture that has rested comes again in the encoding that the viewer takes then", async () => {
  const size = { width: 128, height: 64 };
  const pixels = film(size.width * size.height);
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

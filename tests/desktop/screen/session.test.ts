/** What a viewer is sent that changes its mind. */
import { expect, test } from "bun:test";
import { createServer } from "node:net";
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

test("a picture that has rested comes again in the encoding that the viewer takes then", async () => {
  using folder = temporaryFolder();
  const size = { width: 128, height: 64 };
  const pixels = film(size.width * size.height);
  const idle = {
    ...{ ...size, pixels, scale: 1, corner: { x: 0, y: 0 } },
    ...{ grab: async () => [], pointer: async () => ({ x: 0, y: 0 }), close() {} },
  };
  const screen = await openScreen(
    async () => idle,
    () => {},
  );
  const none = { clipboard: async () => "", setClipboard: async () => {} };
  const server = createServer((socket) =>
    createSession({
      ...{ socket, screen, name: "test", control: false, ended() {} },
      input: createInput({ keys: async () => {}, point: async () => {} }, false),
      clipboard: createViewerClipboard(none, false),
    }),
  );
  const path = join(folder.path, "rfb");
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  using viewer = await view({ path, key: "" });
  viewer.encodings(TIGHT, QUALITY_6);
  viewer.start();
  const rgb = Uint8Array.from([...pixels].flatMap((one) => [(one >> 16) & 255, (one >> 8) & 255, one & 255]));
  await until("the JPEG", () => viewer.updates > 0 || undefined);
  expect(Buffer.compare(viewer.pixels, rgb)).not.toBe(0);
  viewer.encodings(ZRLE);
  await viewer.shows(async () => rgb);
  server.close();
  screen.close();
});

/** A video as viewers get it: who is sent H.264, what it shows, and what comes after it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { createViewerClipboard } from "../../../../src/host/desktop/screen/child/clipboard";
import type { Cursor } from "../../../../src/host/desktop/screen/child/cursor";
import { isWithin } from "../../../../src/host/desktop/screen/child/frame";
import { createInput } from "../../../../src/host/desktop/screen/child/input";
import { openScreen } from "../../../../src/host/desktop/screen/child/screen";
import { Session } from "../../../../src/host/desktop/screen/child/session";
import type { VideoSource } from "../../../../src/host/desktop/screen/child/video";
import type { WatchEvents } from "../../../../src/host/desktop/screen/child/watch";
import { openVideoEncoder } from "../../../../src/host/desktop/screen/video/encoder";
import { temporaryFolder, testWith, until } from "../../../support";
import { cropped, decoded, picture, psnr, rgbOf } from "./moving";
import { CONTINUOUS, FENCE, H264, QUALITY_6, TIGHT, type Viewer, view } from "./viewer";

setDefaultTimeout(120_000);
const withDecoder = testWith("ffmpeg");

const SIZE = { width: 401, height: 301 };
/** As its decoder has it. */
const CODED = { width: 402, height: 302 };
/** A tile in the middle. */
const STILL = { x: 128, y: 128, width: 64, height: 64 };

/** A screen that shows what it is told, and a session for each that connects. */
async function serve(source: Partial<VideoSource> = {}) {
  const folder = temporaryFolder();
  const first = picture(SIZE, 0);
  const pixels = first.slice();
  const failures: string[] = [];
  let events: WatchEvents | undefined;
  let pointer = { x: -100, y: -100 };
  let areas = [{ x: 0, y: 0, ...SIZE }];
  const screen = await openScreen(
    async (given) => {
      events = given;
      return {
        ...{ ...SIZE, pixels, scale: 1, corner: { x: 0, y: 0 }, close() {} },
        grab: async () => areas,
        pointer: async () => pointer,
      };
    },
    () => {},
    {
      isReady: () => failures.length === 0,
      open: openVideoEncoder,
      failed: (reason) => void failures.push(reason),
      ...source,
    },
  );
  const none = { clipboard: async () => "", setClipboard: async () => {} };
  const server = createServer(
    (socket) =>
      new Session({
        ...{ socket, screen, name: "test", ended() {}, control: false },
        input: createInput({ keys: async () => {}, point: async () => {} }, false),
        clipboard: createViewerClipboard(none, false),
      }),
  );
  const path = join(folder.path, "rfb");
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  return {
    failures,
    now: () => rgbOf(pixels),
    /** Shows another picture on all of the screen, or above `bottom`, but for one tile, which stays as it was first. */
    draw(nth: number, bottom = SIZE.height) {
      pixels.set(picture(SIZE, nth).subarray(0, bottom * SIZE.width));
      for (let y = STILL.y; y < STILL.y + STILL.height; y++) {
        const [from, to] = [y * SIZE.width + STILL.x, y * SIZE.width + STILL.x + STILL.width];
        pixels.set(first.subarray(from, to), from);
      }
      areas = [{ x: 0, y: 0, width: SIZE.width, height: bottom }];
      events?.damaged();
    },
    point(shape: Cursor, x: number, y: number) {
      pointer = { x, y };
      events?.cursor(shape);
    },
    async connect(...encodings: readonly number[]) {
      const viewer = await view({ path, key: "" });
      viewer.encodings(...encodings);
      viewer.start();
      await until("the first picture", () => viewer.updates > 0 || undefined);
      return viewer;
    },
    [Symbol.dispose]() {
      server.close();
      screen.close();
      folder[Symbol.dispose]();
    },
  };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** Plays until `isOver`; each picture is drawn when all `viewers` have had the one before. @returns the next that was not drawn. */
async function play(
  served: Served,
  viewers: readonly Viewer[],
  isOver: () => boolean,
  from = 1,
): Promise<number> {
  for (let nth = from; nth < from + 400; nth++) {
    if (isOver()) return nth;
    const before = viewers.map(({ updates }) => updates);
    served.draw(nth);
    await until("each viewer to have it", () => {
      for (const { failure } of viewers) if (failure) throw failure;
      return viewers.every(({ updates }, at) => updates > (before[at] ?? 0)) || undefined;
    });
  }
  throw new Error("400 pictures were not enough");
}

const BROWSER = [TIGHT, QUALITY_6, CONTINUOUS, FENCE, H264];
const streamOf = (viewer: Viewer) => Buffer.concat(viewer.videos.map(({ data }) => data));

withDecoder(
  "a video comes in H.264, decodes to what the screen shows, and what rests comes without loss",
  async () => {
    using served = await serve();
    using viewer = await served.connect(...BROWSER);
    await play(served, [viewer], () => viewer.videos.length >= 10);
    const [first, ...others] = viewer.videos;
    expect(first).toMatchObject({ x: 0, y: 0, ...SIZE, flags: 2 });
    for (const { flags } of others) expect(flags).toBe(0);
    const pictures = await decoded(streamOf(viewer), CODED);
    expect(pictures).toHaveLength(viewer.videos.length);
    const last = cropped(pictures.at(-1) ?? new Uint8Array(), CODED, SIZE);
    expect(psnr(last, served.now())).toBeGreaterThan(30);
    await viewer.shows(async () => served.now());
  },
);

withDecoder("what stands still within a video comes again without loss after it, too", async () => {
  using served = await serve();
  using viewer = await served.connect(...BROWSER);
  // Without loss: nothing of it is to come any more.
  await viewer.shows(async () => served.now());
  await play(served, [viewer], () => viewer.videos.length >= 5);
  const { rects } = viewer;
  const last = rects.findLastIndex(({ encoding }) => encoding === H264);
  await until("the tile", () =>
    rects.slice(last + 1).some((rect) => rect.encoding === TIGHT && isWithin(STILL, rect)),
  );
});

withDecoder("who does not list it gets none, and sees the same", async () => {
  using served = await serve();
  using viewer = await served.connect(...BROWSER);
  using plain = await served.connect(TIGHT, QUALITY_6, CONTINUOUS, FENCE);
  using lossless = await served.connect(TIGHT, CONTINUOUS, FENCE, H264);
  await play(served, [viewer, plain, lossless], () => viewer.videos.length >= 5);
  expect([plain.videos, lossless.videos]).toEqual([[], []]);
  await plain.shows(async () => served.now());
  await lossless.shows(async () => served.now());
});

withDecoder(
  "one who comes in the middle begins with a picture that needs none before it, of the same stream",
  async () => {
    using served = await serve();
    using first = await served.connect(...BROWSER);
    const next = await play(served, [first], () => first.videos.length >= 5);
    using second = await served.connect(...BROWSER);
    await play(served, [first, second], () => second.videos.length >= 5, next);
    expect(second.videos[0]?.flags).toBe(2);
    expect(first.videos.filter(({ flags }) => flags !== 0)).toHaveLength(1);
    const datas = new Set(first.videos.map(({ data }) => data.toString("latin1")));
    for (const { data } of second.videos) expect(datas.has(data.toString("latin1"))).toBe(true);
    for (const viewer of [first, second]) {
      const pictures = await decoded(streamOf(viewer), CODED);
      expect(pictures).toHaveLength(viewer.videos.length);
      expect(psnr(cropped(pictures.at(-1) ?? new Uint8Array(), CODED, SIZE), served.now())).toBeGreaterThan(
        30,
      );
    }
  },
);

withDecoder("one who does not answer costs the other nothing, and begins anew when it does", async () => {
  using served = await serve();
  using quick = await served.connect(...BROWSER);
  using slow = await served.connect(...BROWSER);
  let next = await play(served, [quick, slow], () => Math.min(quick.videos.length, slow.videos.length) >= 3);
  slow.socket.pause();
  slow.keepFences();
  const before = slow.videos.length;
  next = await play(served, [quick], () => quick.videos.length >= 40, next);
  slow.socket.resume();
  for (const payload of slow.fences.splice(0)) slow.answer(payload);
  await play(served, [quick], () => slow.videos.length >= before + 12, next);
  for (const viewer of [quick, slow]) {
    expect(viewer.videos.filter(({ flags }) => flags !== 0)).toHaveLength(1);
    // A stream in which one is missing is none that decodes.
    await decoded(streamOf(viewer), CODED);
  }
});

withDecoder("the pointer is drawn over it for who has it in the picture", async () => {
  using served = await serve();
  const white = { width: 10, height: 10, hotX: 0, hotY: 0, pixels: new Uint32Array(100).fill(0xffff_ffff) };
  using viewer = await served.connect(...BROWSER);
  served.point(white, 70, 70);
  await play(served, [viewer], () => viewer.videos.length >= 5);
  const { rects } = viewer;
  const at = rects.findLastIndex(({ encoding }) => encoding === H264);
  const over = rects.slice(at + 1).filter(({ encoding, x, y }) => encoding === TIGHT && x <= 70 && y <= 70);
  expect(over.length).toBeGreaterThan(0);
});

withDecoder(
  "where the process that encodes is killed, single pictures come at once, and it is said how it ended",
  async () => {
    using served = await serve();
    using viewer = await served.connect(...BROWSER);
    let next = await play(served, [viewer], () => viewer.videos.length >= 5);
    const [pid = ""] = (await Bun.$`pgrep -P ${process.pid} -f video-child`.text()).trim().split("\n");
    process.kill(Number(pid), "SIGKILL");
    next = await play(served, [viewer], () => served.failures.length > 0, next);
    const before = viewer.jpegs;
    await play(served, [viewer], () => viewer.jpegs > before + 10, next);
    expect(served.failures).toEqual([
      expect.stringMatching(/^the video encoder (was killed by SIGKILL|has ended)/),
    ]);
    await viewer.shows(async () => served.now());
  },
);

test("who only looks does not wait for an encoder that hangs to see what lies beside the video", async () => {
  const hung = Promise.withResolvers<Buffer>();
  let hangs = false;
  const encode = async () => (hangs ? hung.promise : Buffer.from("a picture"));
  using served = await serve({ open: async () => ({ name: "a stand-in", encode, leave() {} }) });
  using viewer = await served.connect(...BROWSER);
  await viewer.shows(async () => served.now());
  // The last row of tiles is no part of the video.
  const above = { ...served, draw: (nth: number) => served.draw(nth, 256) };
  const next = await play(above, [viewer], () => viewer.videos.length >= 5);
  hangs = true;
  const before = viewer.rects.length;
  served.draw(next);
  await until("what lies below", () => viewer.rects.slice(before).some(({ y }) => y >= 256) || undefined);
  expect(viewer.rects.slice(before).filter(({ encoding }) => encoding === H264)).toEqual([]);
  hung.resolve(Buffer.from("a late picture"));
});

test("an encoder that fails is left for pictures one by one, at once", async () => {
  let opened = 0;
  using served = await serve({
    async open() {
      opened++;
      return { name: "broken", encode: () => Promise.reject(new Error("no more")), leave() {} };
    },
  });
  using viewer = await served.connect(...BROWSER);
  await play(served, [viewer], () => served.failures.length > 0);
  await play(served, [viewer], () => viewer.jpegs > 50, 50);
  expect([viewer.videos, served.failures, opened]).toEqual([[], ["no more"], 1]);
  await viewer.shows(async () => served.now());
});

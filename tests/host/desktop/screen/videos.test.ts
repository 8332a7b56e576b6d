/** When videos are encoded again after a failure. */
import { expect, test } from "bun:test";
import { createVideos } from "../../../../src/host/desktop/screen/child/videos";
import type { VideoEncoder } from "../../../../src/host/desktop/screen/video/encoder";
import { movableClock } from "../../../support";

const SIZE = { width: 64, height: 64 };
const SCREEN = { ...SIZE, pixels: new Int32Array(64 * 64) };
const MINUTE_MS = 60_000;

/** Videos whose encoder makes pictures of nothing, and what is reported of their failures: the pauses in minutes. */
function start() {
  const said: Array<readonly [string, number | null]> = [];
  const encoder: VideoEncoder = { name: "a stand-in", encode: async () => Buffer.alloc(1), leave() {} };
  const videoFailed = (reason: string, pauseMs: number | null) =>
    void said.push([reason, pauseMs && pauseMs / MINUTE_MS]);
  const videos = createVideos({ videoFailed }, async () => encoder);
  return {
    ...{ videos, said },
    async make(pictures: number) {
      const opened = await videos.open(SIZE);
      for (let nth = 0; nth < pictures; nth++)
        await opened?.encode(SCREEN, { x: 0, y: 0, ...SIZE }, nth === 0 ? "first" : "next");
    },
  };
}

test("after a failure nothing is encoded for a minute, then for four and for sixteen, and it is over after five in a row", async () => {
  using clock = movableClock();
  const { videos, said, make } = start();
  for (const minutes of [1, 4, 16, 16]) {
    expect(videos.isReady()).toBe(true);
    await make(99);
    videos.failed("no more");
    clock.advance(minutes * MINUTE_MS - 1_000);
    expect(videos.isReady()).toBe(false);
    clock.advance(1_000);
  }
  expect(videos.isReady()).toBe(true);
  videos.failed("it is broken");
  clock.advance(10_000 * MINUTE_MS);
  expect(videos.isReady()).toBe(false);
  expect(said).toEqual([
    ...[1, 4, 16, 16].map((minutes) => ["no more", minutes] as const),
    ["it is broken", null],
  ]);
});

test("a failure after a hundred pictures is the first one again", async () => {
  using clock = movableClock();
  const { videos, said, make } = start();
  videos.failed("one");
  videos.failed("two");
  clock.advance(4 * MINUTE_MS);
  await make(60);
  // The process ends between two videos.
  await make(40);
  videos.failed("three");
  expect(said.map(([, minutes]) => minutes)).toEqual([1, 4, 1]);
});

test("without a library nothing is encoded, and that is no failure", async () => {
  const said: string[] = [];
  const videos = createVideos({ videoFailed: (reason) => void said.push(reason) }, async () => null);
  expect(await videos.open(SIZE)).toBeNull();
  expect(videos.isReady()).toBe(false);
  expect(said).toEqual([]);
});

test("once it is forbidden nothing is encoded", () => {
  const { videos } = start();
  videos.forbid();
  expect(videos.isReady()).toBe(false);
});

/** The video that viewers share: who gets which picture, and what becomes of one who has missed some. */
import { expect, test } from "bun:test";
import { createFrame } from "../../../../src/host/desktop/screen/child/frame";
import {
  createVideo,
  type VideoSeat,
  type VideoSource,
  videoRect,
} from "../../../../src/host/desktop/screen/child/video";
import type { VideoEncoder } from "../../../../src/host/desktop/screen/video/encoder";
import { RefusedPicture } from "../../../../src/host/desktop/screen/video/refused";
import { movableClock, nextTurn } from "../../../support";
import { picture } from "./moving";

const SIZE = { width: 256, height: 192 };

/** A video that is under way, whose encoder makes pictures when it is told to. */
async function start(source: Partial<VideoSource> = {}) {
  const frame = createFrame(SIZE.width, SIZE.height);
  const made: { kind: string; done(): Promise<void>; fail(error: Error): Promise<void> }[] = [];
  const failures: string[] = [];
  let [opened, left] = [0, 0];
  const encoder: VideoEncoder = {
    name: "a stand-in",
    encode(_screen, _place, kind) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      made.push({
        kind,
        async done() {
          resolve(Buffer.from(`${made.length} ${kind}`));
          await nextTurn();
        },
        async fail(error) {
          reject(error);
          await nextTurn();
        },
      });
      return promise;
    },
    leave: () => void left++,
  };
  const video = createVideo(frame, {
    isReady: () => failures.length === 0,
    async open() {
      opened++;
      return encoder;
    },
    failed: (reason) => void failures.push(reason),
    ...source,
  });
  let nth = 0;
  /** Another picture on the screen. */
  const draw = () => video.observe(frame.update(picture(SIZE, nth++), [{ x: 0, y: 0, ...SIZE }]));
  for (let times = 0; times < 4; times++) draw();
  // It is opened for the first who asks.
  const first = seat();
  expect(video.take(first)).toBeUndefined();
  await nextTurn();
  return { video, draw, made, failures, first, count: () => ({ opened, left }) };
}

const seat = (): VideoSeat => ({ picture: undefined });
const firstOf = (video: Awaited<ReturnType<typeof start>>["video"], who: VideoSeat) => {
  const turn = video.take(who);
  return turn && turn !== "later" ? turn : undefined;
};

test("each picture is encoded once for all who take it, and opened where one begins", async () => {
  const { video, made, draw, first, count } = await start();
  const second = seat();
  const [one, other] = [firstOf(video, first), firstOf(video, second)];
  expect(made.map(({ kind }) => kind)).toEqual(["first"]);
  expect([one?.isFirst, other?.isFirst]).toEqual([true, true]);
  expect(other?.picture.bytes).toBe(one?.picture.bytes as Promise<Buffer>);
  await made[0]?.done();
  draw();
  const [next, same] = [firstOf(video, second), firstOf(video, first)];
  expect(made.map(({ kind }) => kind)).toEqual(["first", "next"]);
  expect(same?.picture).toBe(next?.picture as never);
  expect(next?.isFirst).toBe(false);
  expect(count()).toEqual({ opened: 1, left: 0 });
  video.close();
  expect(count().left).toBe(1);
});

test("its rectangle says where it is, how long it is, and whether it continues what the viewer has", async () => {
  const { video, made, first } = await start();
  const turn = firstOf(video, first);
  await made[0]?.done();
  if (!turn) throw new Error("no picture");
  const rect = await videoRect(turn.picture, true);
  // x, y, width, height, encoding 50; a length of 7, resetAllContexts.
  expect(rect.toString("hex", 0, 20)).toBe(`00000000010000c000000032${"00000007"}${"00000002"}`);
  expect(rect.toString("latin1", 20)).toBe("1 first");
  expect((await videoRect(turn.picture, false)).readUInt32BE(16)).toBe(0);
  video.close();
});

test("who is one picture behind gets the last; who is further behind waits for one that needs none before it", async () => {
  using clock = movableClock();
  const { video, made, draw, first } = await start();
  const slow = seat();
  firstOf(video, first);
  firstOf(video, slow);
  await made[0]?.done();
  for (let nth = 1; nth < 3; nth++) {
    draw();
    firstOf(video, first);
    await made[nth]?.done();
    if (nth === 1) expect(firstOf(video, slow)?.picture).toBe(first.picture as never);
  }
  draw();
  firstOf(video, first);
  await made[3]?.done();
  // Two were made meanwhile.
  expect(video.take(slow)).toBe("later");
  expect(made.map(({ kind }) => kind)).toEqual(["first", "next", "next", "next"]);
  clock.advance(1_050);
  // So long without a look, and it is no video any more.
  for (let times = 0; times < 4; times++) draw();
  const turn = firstOf(video, first);
  expect(made.at(-1)?.kind).toBe("key");
  expect(firstOf(video, slow)?.picture).toBe(turn?.picture as never);
  video.close();
});

test("nobody else waits for who does not come again", async () => {
  const { video, made, draw, first } = await start();
  const gone = seat();
  firstOf(video, first);
  firstOf(video, gone);
  await made[0]?.done();
  video.leave(gone);
  for (let nth = 1; nth < 4; nth++) {
    draw();
    expect(firstOf(video, first)).toBeDefined();
    await made[nth]?.done();
  }
  expect(made.map(({ kind }) => kind)).toEqual(["first", "next", "next", "next"]);
  video.close();
});

test("one picture is made at a time: who could begin with none of it waits", async () => {
  const { video, made, draw, first } = await start();
  firstOf(video, first);
  await made[0]?.done();
  draw();
  firstOf(video, first);
  const late = seat();
  video.take(late);
  expect(video.take(late)).toBe("later");
  expect(made).toHaveLength(2);
  video.close();
});

test("who comes while another has it gets its part of the screen in another way first, and waits then", async () => {
  using clock = movableClock();
  const { video, made, draw, first } = await start();
  firstOf(video, first);
  await made[0]?.done();
  draw();
  firstOf(video, first);
  await made[1]?.done();
  const late = seat();
  draw();
  expect(video.take(late)).toBeUndefined();
  expect(video.take(late)).toBe("later");
  // It waits for the next that needs none before it, which is made for it.
  clock.advance(1_050);
  for (let times = 0; times < 4; times++) draw();
  expect(firstOf(video, late)?.isFirst).toBe(true);
  expect(made.map(({ kind }) => kind)).toEqual(["first", "next", "key"]);
  video.close();
});

test("one that fails is reported once, and there is no video until it may be tried again", async () => {
  let isReady = true;
  const { video, made, draw, first, failures, count } = await start({ isReady: () => isReady });
  const turn = firstOf(video, first);
  isReady = false;
  await made[0]?.fail(new Error("out of order"));
  await turn?.picture.bytes.catch(() => {});
  draw();
  expect(video.take(first)).toBeUndefined();
  isReady = true;
  expect(video.take(first)).toBeUndefined();
  await nextTurn();
  expect(firstOf(video, first)?.isFirst).toBe(true);
  expect(made.map(({ kind }) => kind)).toEqual(["first", "first"]);
  expect([failures, count()]).toEqual([["out of order"], { opened: 2, left: 1 }]);
  video.close();
});

test("a part of the screen whose picture is refused is no video for a minute, and nothing has failed", async () => {
  using clock = movableClock();
  const { video, made, draw, first, failures, count } = await start();
  const play = () => {
    for (let times = 0; times < 4; times++) draw();
  };
  const turn = firstOf(video, first);
  turn?.picture.bytes.catch(() => {});
  await made[0]?.fail(new RefusedPicture("it is too large"));
  play();
  expect([video.area(), video.take(first)]).toEqual([undefined, undefined]);
  clock.advance(59_000);
  play();
  expect(video.area()).toBeUndefined();
  clock.advance(2_000);
  play();
  expect(video.area()?.rect).toEqual({ x: 0, y: 0, ...SIZE });
  expect(firstOf(video, first)?.isFirst).toBe(true);
  expect([failures, count()]).toEqual([[], { opened: 1, left: 0 }]);
  video.close();
});

test("while it may not be tried again, no viewer waits for it", async () => {
  const { video, made, draw, first, failures, count } = await start();
  const turn = firstOf(video, first);
  turn?.picture.bytes.catch(() => {});
  await made[0]?.fail(new Error("out of order"));
  await expect(turn?.picture.bytes ?? Promise.resolve()).rejects.toThrow("out of order");
  for (let nth = 0; nth < 4; nth++) {
    draw();
    expect(video.take(first)).toBeUndefined();
  }
  expect(failures).toEqual(["out of order"]);
  expect(count()).toEqual({ opened: 1, left: 1 });
});

test("without an encoder there is none, and it is asked for once", async () => {
  let asked = 0;
  const open = async () => {
    asked++;
    return null;
  };
  const { video, draw, first, failures } = await start({ open });
  draw();
  expect(video.take(first)).toBeUndefined();
  await nextTurn();
  expect([asked, failures]).toEqual([1, []]);
});

test("one that does not start is reported", async () => {
  const open = () => Promise.reject(new Error("it is broken"));
  const { video, first, failures } = await start({ open });
  expect(video.take(first)).toBeUndefined();
  expect(failures).toEqual(["it is broken"]);
});

/** Recordings of the screen: what a browser plays, and what bounds them. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { createViewers } from "../../../../src/host/desktop/screen/child/viewers";
import { createFilm } from "../../../../src/host/desktop/screen/record/film";
import { type FilmedScreen, recordFilm } from "../../../../src/host/desktop/screen/record/recorder";
import { keyFrameOf } from "../../../../src/host/desktop/screen/record/webm";
import { browserTest, useBrowser } from "../../../browser";
import { temporaryFolder, until } from "../../../support";

const SIZE = { width: 160, height: 90 };
const RED = 0xff_0000;
const GREEN = 0x00_ff00;
const BLUE = 0x00_00ff;
const MINUTE = { maxMs: 60_000, maxBytes: 1_000_000, fps: 50 };

/** A screen of one colour, which the test changes. */
function screenOf(colour: number, size = SIZE) {
  type Looker = Parameters<FilmedScreen["add"]>[0];
  const lookers = new Set<Looker>();
  const frameOf = ({ width, height }: typeof SIZE, colour: number) => {
    const pixels = new Int32Array(width * height).fill(colour);
    return { width, height, bytes: new Uint8Array(pixels.buffer) };
  };
  let frame = frameOf(size, colour);
  const screen: FilmedScreen = {
    get frame() {
      return frame;
    },
    add: (looker) => lookers.add(looker),
    remove: (looker) => lookers.delete(looker),
    look() {},
  };
  return {
    screen,
    lookers,
    paint(next: number) {
      frame = frameOf(frame, next);
      for (const looker of lookers) looker.changed([]);
    },
    resize(to: typeof SIZE, next: number) {
      frame = frameOf(to, next);
      for (const looker of lookers) looker.replaced();
    },
  };
}

/** What is in a picture besides its colour, so that it is large. */
const noise = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));

async function keyFrame(colour: number): Promise<Uint8Array> {
  const { screen } = screenOf(colour);
  const { width, height, bytes } = screen.frame;
  const bitmap = Buffer.alloc(54 + bytes.length);
  bitmap.write("BM");
  bitmap.writeUInt32LE(54, 10);
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeInt32LE(width, 18);
  bitmap.writeInt32LE(-height, 22);
  bitmap.writeUInt16LE(1, 26);
  bitmap.writeUInt16LE(32, 28);
  bitmap.set(bytes, 54);
  return keyFrameOf(await new Bun.Image(bitmap).webp({ quality: 60 }).bytes());
}

describe("a film", () => {
  const browser = useBrowser();

  /** A page that plays `file`: how long it is, and its colour at each of the times. */
  const played = async (file: string, times: readonly number[]) => {
    await using server = {
      ...serve(file),
      [Symbol.asyncDispose]: () => running.stop(true),
    };
    const running = server.running;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(running.url.href);
    try {
      return await look(page, times);
    } finally {
      await context.close();
    }
  };

  browserTest()("plays in a browser, which winds it", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "film.webm");
    const film = createFilm(file, SIZE, MINUTE);
    const colours = [RED, GREEN, BLUE];
    for (const [nth, colour] of colours.entries()) film.add(nth * 2_000, await keyFrame(colour));
    film.last(9_000);
    film.close();
    expect(film.bytes).toBe(statSync(file).size);
    expect(await played(file, [1, 3, 8, 1])).toEqual({
      ...SIZE,
      seconds: 9,
      colours: ["red", "green", "blue", "red"],
    });
  });

  browserTest()("plays also when its process ended in the middle of a picture", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "film.webm");
    const film = createFilm(file, SIZE, MINUTE);
    for (const [nth, colour] of [RED, GREEN, BLUE].entries()) film.add(nth * 2_000, await keyFrame(colour));
    truncateSync(file, film.bytes - 20);
    expect(await played(file, [1, 3])).toMatchObject({ seconds: 4, colours: ["red", "green"] });
    film.close();
  });
});

/** A server of one page with one film. */
function serve(file: string) {
  const page = '<!doctype html><link rel="icon" href="data:,"><video muted src="/film"></video>';
  return {
    running: Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      routes: {
        "/": () => new Response(page, { headers: { "content-type": "text/html" } }),
        "/film": () => new Response(Bun.file(file), { headers: { "content-type": "video/webm" } }),
      },
    }),
  };
}

/** As text: the page has a DOM, this module has not. */
const look = (page: Page, times: readonly number[]) =>
  page.evaluate(`(async () => {
    const video = document.querySelector("video");
    const event = (name) => new Promise((resolve) => { video["on" + name] = resolve; });
    if (video.readyState < 2) await event("loadeddata");
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    const colours = [];
    for (const time of ${JSON.stringify(times)}) {
      const seeked = event("seeked");
      video.currentTime = time;
      await seeked;
      context.drawImage(video, 0, 0);
      const [red, green, blue] = context.getImageData(50, 50, 1, 1).data;
      colours.push(red > 200 ? "red" : green > 200 ? "green" : blue > 200 ? "blue" : [red, green, blue].join());
    }
    return { width: video.videoWidth, height: video.videoHeight, seconds: video.duration, colours };
  })()`);

test("a recording of a display that hangs ends when it is asked to, and so does what records it", async () => {
  using folder = temporaryFolder();
  const never = () => new Promise<never>(() => {});
  const { calls, close } = createViewers(never, { viewer() {}, viewerStats() {}, videoFailed() {} });
  const recorded = calls.record({ file: join(folder.path, "film.webm"), ...MINUTE });
  recorded.catch(() => {});
  await calls.stopRecording();
  await expect(recorded).rejects.toThrow("the display does not answer: nothing was recorded");
  await close();
}, 10_000);

test("a film that cannot begin, as the disk is full, leaves no file open", () => {
  if (!existsSync("/dev/full")) return;
  const opened = () => readdirSync("/proc/self/fd").length;
  const before = opened();
  for (let nth = 0; nth < 20; nth++) expect(() => createFilm("/dev/full", SIZE, MINUTE)).toThrow("ENOSPC");
  expect(opened()).toBeLessThan(before + 10);
});

describe("a film's size", () => {
  test("is never above its limit", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "film.webm");
    const film = createFilm(file, SIZE, { maxMs: 10_000, maxBytes: 50_000 });
    let added = 0;
    while (film.add(added * 1_000, noise(1_000))) added++;
    film.close();
    expect(added).toBeGreaterThan(40);
    expect(statSync(file).size).toBeLessThanOrEqual(50_000);
  });

  test("lasts for its whole time: what comes too fast is left out", () => {
    using folder = temporaryFolder();
    const film = createFilm(join(folder.path, "film.webm"), SIZE, { maxMs: 100_000, maxBytes: 100_000 });
    let added = 0;
    for (let ms = 0; ms < 100_000; ms += 100) {
      if (!film.hasRoom(ms)) continue;
      if (film.add(ms, noise(1_000))) added++;
    }
    const late = film.ms;
    film.close();
    expect(added).toBeGreaterThan(70);
    expect(late).toBeGreaterThan(95_000);
  });
});

/** Each is in a cluster of its own. */
const picturesIn = (file: string) => readFileSync(file, "latin1").split("\x1f\x43\xb6\x75").length - 1;

describe("a recording", () => {
  test("has a picture of each change, and none without one", async () => {
    using folder = temporaryFolder();
    const stop = new AbortController();
    const { screen, paint, lookers } = screenOf(RED);
    const file = join(folder.path, "film.webm");
    const recording = recordFilm(screen, { file, ...MINUTE }, stop.signal);
    await until("a picture", () => picturesIn(file) === 1);
    paint(GREEN);
    await until("another picture", () => picturesIn(file) === 2);
    await Bun.sleep(200);
    stop.abort();
    expect(await recording).toMatchObject({ ...SIZE, ended: "stopped", error: null, pictures: 2 });
    expect([picturesIn(file), lookers.size]).toEqual([2, 0]);
  });

  test("ends at its time", async () => {
    using folder = temporaryFolder();
    const { screen } = screenOf(RED);
    const file = join(folder.path, "film.webm");
    const recording = recordFilm(screen, { file, ...MINUTE, maxMs: 200 }, new AbortController().signal);
    expect(await recording).toMatchObject({ ended: "time", seconds: 0.2, pictures: 1 });
  });

  test("keeps its size when that of the screen changes", async () => {
    using folder = temporaryFolder();
    const stop = new AbortController();
    const { screen, resize } = screenOf(RED);
    const file = join(folder.path, "film.webm");
    const recording = recordFilm(screen, { file, ...MINUTE }, stop.signal);
    await until("a picture", () => picturesIn(file) === 1);
    resize({ width: 300, height: 200 }, GREEN);
    await until("another picture", () => picturesIn(file) === 2);
    stop.abort();
    expect(await recording).toMatchObject({ ...SIZE, pictures: 2 });
  });

  test("says why it ended when its file cannot be written", async () => {
    const { screen } = screenOf(RED);
    const options = { file: "/dev/full", ...MINUTE };
    const recording = async () => recordFilm(screen, options, new AbortController().signal);
    expect(recording()).rejects.toThrow("ENOSPC");
  });
});

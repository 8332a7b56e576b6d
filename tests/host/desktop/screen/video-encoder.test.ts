/** What encodes videos: the libraries of the host, as another program decodes what they make, and the process around them. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MOST_BYTES, type PictureKind } from "../../../../src/host/desktop/screen/video/calls";
import {
  nameOfEncoder,
  openVideoEncoder,
  type VideoEncoder,
} from "../../../../src/host/desktop/screen/video/encoder";
import { createVideoCalls } from "../../../../src/host/desktop/screen/video/encoder-child";
import { convert, createPlanes, findConverter } from "../../../../src/host/desktop/screen/video/i420";
import type { VideoLibrary } from "../../../../src/host/desktop/screen/video/library";
import { openOpenH264 } from "../../../../src/host/desktop/screen/video/openh264";
import { RefusedPicture } from "../../../../src/host/desktop/screen/video/refused";
import { openX264 } from "../../../../src/host/desktop/screen/video/x264";
import { temporaryFolder, testWith } from "../../../support";
import { cropped, decoded, picture, psnr, rgbOf } from "./moving";

setDefaultTimeout(60_000);
const withDecoder = testWith("ffmpeg");

/** The kinds of the units in a stream (ITU-T H.264, table 7-1), each from its start code. */
function unitsIn(stream: Uint8Array): number[] {
  const kinds: number[] = [];
  for (let at = 0; at + 3 < stream.length; at++) {
    if (stream[at] === 0 && stream[at + 1] === 0 && stream[at + 2] === 1)
      kinds.push((stream[at + 3] ?? 0) & 31);
  }
  return kinds;
}
const [SLICE, IDR_SLICE, PARAMETERS] = [1, 5, 7];

for (const [name, open] of [
  ["x264", openX264],
  ["OpenH264", openOpenH264],
] as const) {
  withDecoder(
    `${name}: pictures come at once, one slice each, and are nearly those that went in`,
    async () => {
      const size = { width: 640, height: 354 };
      const stream = open()?.open(size);
      if (!stream) throw new Error(`the host has no ${name} of a known build`);
      const planes = createPlanes(size);
      const encoded: Uint8Array[] = [];
      for (let nth = 0; nth < 12; nth++) {
        findConverter()(picture(size, nth), planes);
        encoded.push(stream.encode(planes, nth === 7).slice());
      }
      stream.close();
      for (const [nth, one] of encoded.entries()) {
        const units = unitsIn(one);
        const isKey = nth === 0 || nth === 7;
        expect(units.filter((unit) => unit === SLICE || unit === IDR_SLICE)).toEqual([
          isKey ? IDR_SLICE : SLICE,
        ]);
        expect(units.includes(PARAMETERS)).toBe(isKey);
      }
      const pictures = await decoded(Buffer.concat(encoded), size);
      expect(pictures).toHaveLength(12);
      for (const [nth, one] of pictures.entries())
        expect(psnr(one, rgbOf(picture(size, nth)))).toBeGreaterThan(30);
      // One that needs none before it.
      const [alone] = await decoded(encoded[7] ?? new Uint8Array(), size);
      expect(psnr(alone ?? new Uint8Array(), rgbOf(picture(size, 7)))).toBeGreaterThan(30);
    },
  );
}

test("pixels are converted alike with the host's library and without", () => {
  const size = { width: 66, height: 34 };
  const [one, other] = [createPlanes(size), createPlanes(size)];
  const pixels = picture(size, 3);
  pixels.set([0, 0xff_ffff, 0xff_0000, 0x00_ff00, 0x00_00ff], 5);
  findConverter()(pixels, one);
  convert(pixels, other);
  const most = one.bytes.reduce(
    (max, value, at) => Math.max(max, Math.abs(value - (other.bytes[at] ?? 0))),
    0,
  );
  expect(most).toBeLessThanOrEqual(2);
});

test("white is 235, black is 16, and grey has no colour", () => {
  const size = { width: 2, height: 2 };
  const planesOf = (pixel: number) => {
    const planes = createPlanes(size);
    convert(new Int32Array(4).fill(pixel), planes);
    return [...planes.bytes];
  };
  expect(planesOf(0xff_ffff)).toEqual([235, 235, 235, 235, 128, 128]);
  expect(planesOf(0)).toEqual([16, 16, 16, 16, 128, 128]);
  expect(planesOf(0x80_8080)).toEqual([126, 126, 126, 126, 128, 128]);
});

/** Pictures of a part of a screen, encoded one after the other. */
async function video(encoder: VideoEncoder, screen: { width: number; height: number }, place: object) {
  const rect = { x: 0, y: 0, ...screen, ...place };
  const pictures: Buffer[] = [];
  for (const [nth, kind] of (["first", "next", "key", "next"] as const satisfies PictureKind[]).entries())
    pictures.push(await encoder.encode({ ...screen, pixels: picture(screen, nth) }, rect, kind));
  return Buffer.concat(pictures);
}

withDecoder(
  "the process encodes any part of a screen, of an odd size too, one stream after the other",
  async () => {
    const screen = { width: 401, height: 303 };
    const encoder = await openVideoEncoder(screen);
    if (!encoder) throw new Error("the host has no library that is known");
    expect(encoder.name).toBe((await nameOfEncoder()) ?? "");
    const whole = await decoded(await video(encoder, screen, {}), { width: 402, height: 304 });
    expect(whole).toHaveLength(4);
    for (const [nth, one] of whole.entries()) {
      const shown = cropped(one, { width: 402, height: 304 }, screen);
      expect(psnr(shown, rgbOf(picture(screen, nth)))).toBeGreaterThan(30);
    }
    const place = { x: 64, y: 128, width: 128, height: 64 };
    const part = await decoded(await video(encoder, screen, place), place);
    const wanted = new Int32Array(128 * 64);
    const pixels = picture(screen, 3);
    for (let row = 0; row < 64; row++) {
      const from = (128 + row) * screen.width + 64;
      wanted.set(pixels.subarray(from, from + 128), row * 128);
    }
    expect(psnr(part[3] ?? new Uint8Array(), rgbOf(wanted))).toBeGreaterThan(30);
    encoder.leave();
  },
);

withDecoder("a size that the library refuses is no failure: a smaller part is encoded after it", async () => {
  // Wider than x264 takes.
  const screen = { width: 16_400, height: 64 };
  const encoder = await openVideoEncoder(screen);
  if (!encoder) throw new Error("the host has no library that is known");
  const pixels = new Int32Array(screen.width * screen.height);
  const all = encoder.encode({ ...screen, pixels }, { x: 0, y: 0, ...screen }, "first");
  await expect(all).rejects.toBeInstanceOf(RefusedPicture);
  const place = { x: 64, y: 0, width: 128, height: 64 };
  expect(await decoded(await video(encoder, screen, place), place)).toHaveLength(4);
  encoder.leave();
});

testWith("ffmpeg").each([
  ["x264", openX264, { width: 16_400, height: 64 }],
  ["OpenH264", openOpenH264, { width: 7_680, height: 2_160 }],
] as const)("%s says of a size that it refuses it", (_name, open, size) => {
  const library = open();
  expect(library).not.toBeNull();
  expect(library?.open(size)).toBeNull();
});

/** The path of a file as large as the memory for pictures of 64x64 pixels; it is gone when the scope ends. */
async function memoryFile(): Promise<Disposable & { readonly path: string }> {
  const folder = temporaryFolder();
  const path = join(folder.path, "memory");
  await Bun.write(path, new Uint8Array(64 * 64 * 4 + MOST_BYTES));
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("a picture that is too large is refused, and the next stream begins", async () => {
  let length = MOST_BYTES + 1;
  const library: VideoLibrary = {
    name: "a stand-in",
    open: () => ({ encode: () => new Uint8Array(length), close() {} }),
  };
  using memory = await memoryFile();
  const calls = createVideoCalls(async () => library);
  await calls.share(memory.path);
  const wanted = { width: 64, height: 64, kind: "first" } as const;
  expect(await calls.encode(wanted)).toBe("its bytes");
  length = MOST_BYTES;
  expect(await calls.encode(wanted)).toBe(MOST_BYTES);
});

test("the process gives up what it needs no longer once its library and its memory are there", async () => {
  const done: string[] = [];
  const library: VideoLibrary = { name: "a stand-in", open: () => null };
  using memory = await memoryFile();
  const find = async () => {
    done.push("found");
    return library;
  };
  const calls = createVideoCalls(find, async () => void done.push("given up"));
  await calls.share(memory.path);
  expect(done).toEqual(["found", "given up"]);
});

withDecoder("the process has nothing of the environment, and two filters of system calls", async () => {
  process.env.SVC_TEST_OF_VIDEOS = "a secret";
  try {
    const encoder = await openVideoEncoder({ width: 64, height: 64 });
    const [pid = ""] = (await Bun.$`pgrep -P ${process.pid} -f video-child`.text()).trim().split("\n");
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("SVC_TEST_OF_VIDEOS");
    const filtersOf = (process: string) =>
      Number(/^Seccomp_filters:\s+(\d+)$/m.exec(readFileSync(`/proc/${process}/status`, "utf8"))?.[1]);
    // A container has one for all.
    expect(filtersOf(pid) - filtersOf("self")).toBe(2);
    encoder?.leave();
  } finally {
    delete process.env.SVC_TEST_OF_VIDEOS;
  }
});

withDecoder("where there is no memory to share, it does not start, and says so", async () => {
  // As large as the room for a picture, less than nothing: none is left.
  const none = openVideoEncoder({ width: -1_024, height: MOST_BYTES / 4_096 });
  await expect(none).rejects.toThrow("there is no memory to share with the video encoder");
});

test("whoever asks for the name of the library waits three seconds at most", async () => {
  const command = [process.execPath, "-e", "process.on('message', () => {}); setInterval(() => {}, 1e6)"];
  await expect(nameOfEncoder(command)).rejects.toThrow(
    "the video encoder did not answer within 3 s, and was killed",
  );
});

test("a process that ends in the middle fails the picture, and says how it ended", async () => {
  const command = [
    process.execPath,
    "-e",
    "process.on('message', () => process.kill(process.pid, 'SIGSEGV'))",
  ];
  await expect(openVideoEncoder({ width: 64, height: 64 }, command)).rejects.toThrow(
    /^the video encoder was killed by SIGSEGV during the call$/,
  );
});

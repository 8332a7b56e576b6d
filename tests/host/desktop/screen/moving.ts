/** A video, what shows and decodes one, and how close two pictures are. */
import { createClient } from "x11";
import type { Size } from "../../../../src/host/desktop/geometry";

/** What is used of `x11` here, beyond what svc uses of it. */
interface Client {
  AllocID(): number;
  CreateWindow(...args: unknown[]): void;
  MapWindow(id: number): void;
  CreatePixmap(id: number, drawable: number, depth: number, width: number, height: number): void;
  CopyArea(...args: readonly number[]): void;
  CreateGC(id: number, window: number, values: object): void;
  PutImage(format: number, window: number, gc: number, ...args: unknown[]): void;
  GetInputFocus(done: () => void): void;
  close(done?: () => void): void;
}
interface Display {
  readonly client: Client;
  readonly screen: ReadonlyArray<{ readonly root: number }>;
}
type Open = (options: object, done: (error: Error | null, display: Display) => void) => void;

const Z_PIXMAP = 2;
/** How many rows of a picture go in one request, which has a largest size. */
const ROWS = 32;

/** A window over all of the display of `env`, of `size`, which shows one of the `pictures` after the other; it closes with the scope. */
export async function openCinema(
  env: NodeJS.ProcessEnv,
  { width, height }: Size,
  pictures: readonly Int32Array[],
): Promise<Disposable & { draw(nth: number): Promise<void> }> {
  const { client, screen } = await new Promise<Display>((resolve, reject) =>
    (createClient as unknown as Open)({ display: env.DISPLAY }, (error, display) =>
      error ? reject(error) : resolve(display),
    ),
  );
  const [window, gc] = [client.AllocID(), client.AllocID()];
  const values = { overrideRedirect: true };
  client.CreateWindow(window, screen[0]?.root, 0, 0, width, height, 0, 0, 0, 0, values);
  client.CreateGC(gc, window, {});
  // A video is drawn picture by picture, not row by row.
  const kept = pictures.map((pixels) => {
    const pixmap = client.AllocID();
    client.CreatePixmap(pixmap, window, 24, width, height);
    const bytes = Buffer.from(pixels.buffer, pixels.byteOffset, pixels.byteLength);
    for (let y = 0; y < height; y += ROWS) {
      const rows = Math.min(ROWS, height - y);
      const part = bytes.subarray(y * width * 4, (y + rows) * width * 4);
      client.PutImage(Z_PIXMAP, pixmap, gc, width, rows, 0, y, 0, 24, part);
    }
    return pixmap;
  });
  client.MapWindow(window);
  return {
    /** Resolves when the display has drawn it. */
    draw(nth) {
      client.CopyArea(kept[nth % kept.length] ?? 0, window, gc, 0, 0, 0, 0, width, height);
      return new Promise((resolve) => client.GetInputFocus(() => resolve()));
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** A picture of a video: its pixels are blue, green, red and an unused byte, from the lowest. */
export function picture({ width, height }: Size, nth: number): Int32Array {
  const pixels = new Int32Array(width * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      const moved = x + nth * 6;
      const blue = 128 + 100 * Math.sin(moved / 37) + ((moved * 7 + y * 13) % 13);
      const green = 128 + 90 * Math.sin(y / 29 + moved / 50) + ((moved ^ y) % 7);
      const red = 128 + 80 * Math.cos((moved + y) / 61);
      pixels[at] = (Math.round(red) << 16) | (Math.round(green) << 8) | Math.round(blue);
    }
  }
  return pixels;
}

/** Red, green and blue of each pixel. */
export const rgbOf = (pixels: Int32Array) => {
  const rgb = new Uint8Array(pixels.length * 3);
  for (const [at, pixel] of pixels.entries())
    rgb.set([(pixel >> 16) & 255, (pixel >> 8) & 255, pixel & 255], at * 3);
  return rgb;
};

/** All pictures of a stream of H.264 as ffmpeg decodes them: red, green and blue. @param size of one, both even. */
export async function decoded(stream: Uint8Array, { width, height }: Size): Promise<Uint8Array[]> {
  const flags = [
    "-v",
    "error",
    "-f",
    "h264",
    "-i",
    "pipe:0",
    "-f",
    "rawvideo",
    "-pix_fmt",
    "rgb24",
    "pipe:1",
  ];
  const child = Bun.spawn(["ffmpeg", ...flags], { stdin: stream, stdout: "pipe", stderr: "pipe" });
  const [bytes, said] = await Promise.all([child.stdout.bytes(), child.stderr.text()]);
  if (said !== "") throw new Error(`ffmpeg: ${said}`);
  const size = width * height * 3;
  if (bytes.length % size !== 0) throw new Error(`ffmpeg gave ${bytes.length} bytes; a picture has ${size}`);
  return Array.from({ length: bytes.length / size }, (_, nth) =>
    bytes.subarray(nth * size, (nth + 1) * size),
  );
}

/** The left upper part of a picture. */
export function cropped(rgb: Uint8Array, { width }: Size, to: Size): Uint8Array {
  const part = new Uint8Array(to.width * to.height * 3);
  for (let y = 0; y < to.height; y++)
    part.set(rgb.subarray(y * width * 3, y * width * 3 + to.width * 3), y * to.width * 3);
  return part;
}

/** The peak signal-to-noise ratio of two pictures, in decibels. */
export function psnr(one: Uint8Array, other: Uint8Array): number {
  if (one.length !== other.length) throw new Error(`${one.length} and ${other.length} bytes`);
  let squares = 0;
  for (let at = 0; at < one.length; at++) squares += ((one[at] ?? 0) - (other[at] ?? 0)) ** 2;
  return 10 * Math.log10((255 * 255 * one.length) / squares);
}

/**
 * A small picture of the screen, for thumbnails.
 */
import { createFrame, type Frame } from "./frame";
import { jpegOf } from "./jpeg";

const QUALITY = 70;
const [MIN_WIDTH, MAX_WIDTH] = [16, 1_920];

/** The last pictures of frames, by their width: a screen at rest is asked for again and again. */
const taken = new WeakMap<Frame, Map<number, { readonly generation: number; readonly picture: string }>>();
const MAX_TAKEN = 4;

/** The frame, at most `width` wide, as a JPEG in base64. */
export async function takeSnapshot(frame: Frame, width: number): Promise<string> {
  const before = taken.get(frame) ?? new Map();
  taken.set(frame, before);
  const generation = frame.lastChange();
  const found = before.get(width);
  if (found?.generation === generation) return found.picture;
  const picture = await encode(frame, width);
  if (before.size >= MAX_TAKEN) before.clear();
  before.set(width, { generation, picture });
  return picture;
}

async function encode(frame: Frame, width: number): Promise<string> {
  const small = shrink(frame, Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, Math.round(width))));
  const { width: across, height } = small;
  return Buffer.from(await jpegOf(small, { x: 0, y: 0, width: across, height }, QUALITY)).toString("base64");
}

/** How many pixels of the frame, along each side, one of the small picture is the mean of, at most. */
const SAMPLES = 4;

function shrink(frame: Frame, wanted: number): Frame {
  if (wanted >= frame.width) return frame;
  const height = Math.max(1, Math.round((frame.height * wanted) / frame.width));
  const small = createFrame(wanted, height);
  const [stepX, stepY] = [frame.width / wanted, frame.height / height];
  const [acrossX, acrossY] = [Math.min(SAMPLES, Math.ceil(stepX)), Math.min(SAMPLES, Math.ceil(stepY))];
  const count = acrossX * acrossY;
  for (let y = 0, out = 0; y < height; y++) {
    for (let x = 0; x < wanted; x++, out++) {
      let [red, green, blue] = [0, 0, 0];
      for (let row = 0; row < acrossY; row++) {
        const from = Math.floor((y + row / acrossY) * stepY) * frame.width;
        for (let column = 0; column < acrossX; column++) {
          const pixel = frame.pixels[from + Math.floor((x + column / acrossX) * stepX)] ?? 0;
          red += (pixel >> 16) & 0xff;
          green += (pixel >> 8) & 0xff;
          blue += pixel & 0xff;
        }
      }
      const mean = (sum: number) => Math.round(sum / count);
      small.pixels[out] = (mean(red) << 16) | (mean(green) << 8) | mean(blue);
    }
  }
  return small;
}

/**
 * Pictures of the screen in Robot's log: a line of HTML with the picture in it.
 */
import * as v from "valibot";
import { unavailable } from "../../lib/errors";

/** The largest picture, in bytes, and its longest side, in pixels: Robot's log has all of a suite. */
const MAX_BYTES = 150_000;
const MAX_SIDE = 1_280;

/** The largest screen that is looked at, in pixels: four screens of 8K. */
const MAX_PIXELS = 4 * 7_680 * 4_320;

/** What is tried, one after the other, until it is small enough. */
const TRIES = [
  { quality: 75, scale: 1 },
  { quality: 50, scale: 1 },
  { quality: 50, scale: 0.5 },
  { quality: 30, scale: 0.25 },
] as const;

const SHOT = v.object({ data: v.pipe(v.string(), v.nonEmpty()) });

/** The line that shows `shot`, the answer of `desktop.screenshot`. @throws `unavailable` for a picture that is too large. */
export async function pictureLine(shot: unknown): Promise<string> {
  const png = Buffer.from(v.parse(SHOT, shot).data, "base64");
  const { width, height } = await new Bun.Image(png).metadata();
  if (width * height > MAX_PIXELS) throw unavailable("the picture has too many pixels");
  const fit = Math.min(1, MAX_SIDE / Math.max(width, height));
  for (const { quality, scale } of TRIES) {
    const [w, h] = [width, height].map((side) => Math.max(1, Math.round(side * fit * scale)));
    const jpeg = await new Bun.Image(png)
      .resize(w ?? 1, h ?? 1)
      .jpeg({ quality })
      .bytes();
    if (jpeg.length > MAX_BYTES) continue;
    const data = Buffer.from(jpeg).toString("base64");
    return `*HTML* <img src="data:image/jpeg;base64,${data}" alt="The screen" style="max-width:100%">`;
  }
  throw unavailable(`the picture is larger than ${MAX_BYTES} bytes`);
}

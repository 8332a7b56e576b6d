/**
 * Taking a picture of the desktop or a part of it, as a PNG.
 */
import { badInput } from "../lib/errors";
import { writeNamedFile } from "../lib/files";
import type { Backend } from "./backend";
import type { Frame, Shot } from "./calls";
import { assertInside, type Region, shifted } from "./geometry";
import { encodePng } from "./png";

/** What of a backend it takes. */
type Eye = Pick<Backend, "desktop" | "monitors" | "capture">;

/**
 * @param options.file where to write it (private to its owner); null to have it in the answer.
 * @throws a `bad_input` failure for a monitor that is not there, a region that is not on the screen, or a file that
 *   cannot be written; whatever the backend throws.
 */
export async function takeScreenshot(
  backend: Eye,
  { file, ...frame }: Frame & { readonly file: string | null },
): Promise<Shot> {
  const region = await regionOf(backend, frame);
  const picture = await backend.capture(region);
  const png = encodePng(picture);
  if (file !== null) writeNamedFile(file, png, "file_path");
  const { width, height } = picture;
  return { width, height, base64: file === null ? Buffer.from(png).toString("base64") : null };
}

async function regionOf(backend: Eye, { monitor, region }: Frame): Promise<Region> {
  if (monitor === undefined) return partOf(await backend.desktop(), region);
  const monitors = await backend.monitors();
  const place = monitors[monitor];
  if (!place) throw badInput(`monitor: expected 0 to ${monitors.length - 1} but found ${monitor}`);
  const corner = { x: place.x1, y: place.y1 };
  return shifted(partOf(shifted(place, { x: -corner.x, y: -corner.y }), region), corner);
}

function partOf(whole: Region, region: Region | undefined): Region {
  if (!region) return whole;
  assertInside(whole, region);
  return region;
}

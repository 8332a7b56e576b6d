/**
 * Taking a picture of the desktop or a part of it, as a PNG.
 */
import { badInput } from "../../lib/errors";
import { writeNamedFile } from "../../lib/files";
import type { Backend, Frame, Screenshot } from "./backend";
import type { Region } from "./geometry";
import { encodePng } from "./png";

type Screen = Pick<Backend, "desktop" | "monitors" | "capture">;

/**
 * @param file where to write it (private to its owner); null to have it in the answer.
 * @throws a `bad_input` failure for a monitor that does not exist, a region that is not on the screen, or a file that
 *   cannot be written; what the backend throws.
 */
export async function takeScreenshot(screen: Screen, frame: Frame, file: string | null): Promise<Screenshot> {
  const region = await regionOf(screen, frame);
  const picture = await screen.capture(region);
  const png = encodePng(picture);
  if (file !== null) writeNamedFile(file, png, "file_path");
  const { width, height } = picture;
  return { width, height, shown: region, base64: file === null ? Buffer.from(png).toString("base64") : null };
}

async function regionOf(screen: Screen, { monitor, region }: Frame): Promise<Region> {
  if (monitor === undefined) return partOf(await screen.desktop(), region, "screen_region");
  const monitors = await screen.monitors();
  const place = monitors[monitor];
  if (!place) throw badInput(`monitor: expected 0 to ${monitors.length - 1} but found ${monitor}`);
  const { x1, y1 } = place;
  return shifted(partOf(shifted(place, -x1, -y1), region, "screen_region"), x1, y1);
}

/**
 * `region` itself, or all of `whole` without one.
 *
 * @param field names it in messages. @throws a `bad_input` failure when it is not in `whole`.
 */
export function partOf(whole: Region, region: Region | undefined, field: string): Region {
  if (!region) return whole;
  const { x1, y1, x2, y2 } = region;
  if (x1 >= whole.x1 && y1 >= whole.y1 && x2 <= whole.x2 && y2 <= whole.y2) return region;
  throw badInput(`${field}: expected a part of [${corners(whole)}] but found [${corners(region)}]`);
}

function shifted({ x1, y1, x2, y2 }: Region, x: number, y: number): Region {
  return { x1: x1 + x, y1: y1 + y, x2: x2 + x, y2: y2 + y };
}

const corners = ({ x1, y1, x2, y2 }: Region) => [x1, y1, x2, y2].join(", ");

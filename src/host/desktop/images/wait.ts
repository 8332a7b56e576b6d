/**
 * Looking at the screen once, or again until it is as it should be.
 */
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { type Caller, isRemote, requesterOf } from "../../../core/caller";
import { allows } from "../../../core/rights";
import { sleep } from "../../../lib/deadline";
import { badInput, cancelled, notFound, timedOut } from "../../../lib/errors";
import { ensurePrivateFolder } from "../../../lib/files";
import { namesInside } from "../../../lib/inside";
import { orElse } from "../../../lib/or-else";
import { jsonLine } from "../../../lib/sanitize";
import type { Desktop } from "../desktop";
import { cornersOn, type RelativeTo } from "../relative";
import type { Hit, ImageMatches } from "./answers";
import type { ImageQuery, ImageSource } from "./look";

/** How a picture is named, and what counts as it. */
interface WantedImage {
  /** A path, or the PNG in base64. */
  readonly image: string;
  readonly detect_threshold: number;
  readonly region?: readonly [number, number, number, number] | undefined;
  readonly scales: readonly number[];
}

/** How long to look, and how often, in seconds. */
export interface Patience {
  readonly timeout: number;
  readonly poll: number;
}

/** How every PNG begins, in base64; and how browsers name one. */
const BASE64 = /^(?:data:image\/png;base64,)?(?=iVBORw0KGgo)/;

/**
 * Where the picture `image` is: beside the script of the caller or in its working folder, else in the folder of pictures. For
 * {@link isConfined} callers, in that folder alone, also behind links.
 *
 * That folder is made (0700), so that there is a place for what is missing.
 *
 * @throws a `bad_input` failure when such a caller names another place, whether there is a file or not.
 */
export function sourceOf(image: string, { imagesFolder }: Desktop, caller: Caller): ImageSource {
  if (BASE64.test(image)) return { base64: image.replace(BASE64, "") };
  const { kind, run } = caller;
  const here = resolve(image);
  const kept = resolve(imagesFolder, image);
  const isKept = kept.startsWith(join(imagesFolder, sep));
  const confined = isConfined(image, caller);
  if (confined && (isAbsolute(image) || !isKept)) throw elsewhere();
  if (here === image) return { asked: image, paths: [image] };
  ensurePrivateFolder(imagesFolder);
  if (confined) {
    if (leadsOut(kept, imagesFolder)) throw elsewhere();
    return { asked: image, paths: [kept] };
  }
  // A stored script has no folder.
  if (run && isAbsolute(run.script)) return { asked: image, paths: [join(dirname(run.script), image), kept] };
  // A server has the working folder that somebody happened to start it in.
  return { asked: image, paths: isRemote(caller) || kind === "scheduler" ? [kept] : [here, kept] };
}

/**
 * Whether the caller may not name any file of this host: one that only looks, which would learn which files there are. What a
 * script says itself, its author says, who may.
 */
function isConfined(image: string, { kind, grant, run }: Caller): boolean {
  if (!run) return isRemote({ kind }) || !allows(grant, "operate");
  const isOfScript = run.script !== "" && run.written("image") === image;
  return !allows(grant, "operate") && !isOfScript;
}

const elsewhere = () =>
  badInput("image: expected the name of a file in {config_dir}/images, or the PNG in base64");

const leadsOut = (path: string, folder: string): boolean =>
  orElse(() => namesInside(path, folder) === null, true);

/** The query of one look. */
export function queryOf(wanted: WantedImage, desktop: Desktop, caller: Caller): ImageQuery {
  const { detect_threshold: threshold, scales } = wanted;
  return {
    image: sourceOf(wanted.image, desktop, caller),
    region: regionOf(wanted.region),
    threshold,
    scales,
    all: false,
    near: false,
    marked: false,
  };
}

/** The corners as a region. */
export function regionOf(corners: WantedImage["region"]) {
  if (!corners) return undefined;
  const [x1, y1, x2, y2] = corners;
  return { x1, y1, x2, y2 };
}

/** What messages call the picture. */
export const nameOf = ({ image }: WantedImage) =>
  BASE64.test(image) ? "the image" : `the image ${jsonLine(image)}`;

/** What a failure says of the best place: what it lacks, or that there is none. */
export function nearestOf({ nearest }: ImageMatches, { detect_threshold }: WantedImage) {
  if (!nearest) return { words: "", more: { nearest } };
  const expected = nearest.score > 0 ? `, expected ${detect_threshold}` : "";
  return { words: `: ${bestOf(nearest)}${expected}`, more: { nearest } };
}

/** What is said of the best place of an image that is not there. A score of 0 is the end of the scale, and belongs to no place. */
export const bestOf = ({ score, x, y }: Hit) =>
  score > 0 ? `the best score is ${score} at ${x}, ${y}` : "nothing comes near it";

/**
 * The best match, once there is one.
 *
 * @throws a failure with the best score, and where that is: `not_found` when there is no time to wait, else `timeout`.
 */
export async function waitForImage(
  desktop: Desktop,
  given: WantedImage & { readonly relative_to?: RelativeTo },
  patience: Patience,
  caller: Caller,
): Promise<Hit> {
  const wanted = await cornersOn(desktop, given, requesterOf(caller));
  const query = queryOf(wanted, desktop, caller);
  return until(patience, caller.signal, async (isLast) => {
    const located = await desktop.locate({ ...query, near: isLast }, requesterOf(caller));
    const [match] = located.matches;
    if (match || !isLast) return match;
    const { words, more } = nearestOf(located, wanted);
    const { timeout } = patience;
    if (timeout === 0) throw notFound(`${nameOf(wanted)} is not on the screen${words}`, more);
    throw timedOut(`${nameOf(wanted)} did not appear within ${timeout} s${words}`, more);
  });
}

/**
 * What `look` finds, which is asked again until it finds something.
 *
 * @param look gets whether this is its last call; then it throws if it finds nothing.
 * @throws what `look` throws; `cancelled`.
 */
export async function until<T>(
  { timeout, poll }: Patience,
  signal: AbortSignal | undefined,
  look: (isLast: boolean) => Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + timeout * 1_000;
  for (;;) {
    const left = end - performance.now();
    const found = await look(left <= 0);
    if (found !== undefined) return found;
    await sleep(Math.max(0, Math.min(poll * 1_000, end - performance.now())), signal, () =>
      cancelled("cancelled while looking at the screen"),
    );
  }
}

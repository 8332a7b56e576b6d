/**
 * The operations that read text on the screen.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { between, field, flag, seconds, secret, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { notFound, timedOut } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Desktop } from "../desktop";
import { type Patience, regionOf, until } from "../images/wait";
import { cornersOn, RELATIVE_TO, type RelativeTo } from "../relative";
import type { Word } from "../text/engine";
import { around, findPattern, findText, nearestText, TEXT_MATCHES, type TextPlace } from "../text/find";
import { LANGUAGE } from "../text/language";
import { NO_ROUTE, REGION, type Uses } from "./input-operation";

const SEES = { scope: "screen", reveals: true, answeredBy: "display", leftOut: NO_ROUTE } as const;

const WHERE = {
  region: field(v.optional(REGION), "Where to look: x1, y1, x2, y2 of the screen; x2, y2 are outside"),
  language: field(v.optional(LANGUAGE, "eng"), "Its language, as tesseract names it"),
};
const WANTED = {
  text: field(
    v.pipe(v.string(), v.regex(/\S/, "a text to look for"), v.maxLength(1_000)),
    "The text, in one line; white space is one blank. With match regex, a pattern of RE2",
  ),
  ...WHERE,
  min_confidence: field(
    v.optional(between(0, 100), 80),
    "The lowest confidence that counts, 0 to 100, of the least certain word",
  ),
  case_sensitive: flag("Match upper and lower case exactly"),
  match: field(
    v.optional(v.picklist(TEXT_MATCHES), "word"),
    "What the text has to be: whole words, a whole line, any part of a line (OK is a part of Booking), or a pattern that a part of a line fits (regex)",
  ),
  nth: field(v.optional(whole(1, 1_000), 1), "Which of the places, from top to bottom"),
};
const PLACE = {
  x: v.number(),
  y: v.number(),
  width: v.number(),
  height: v.number(),
  /** From 0 to 100. */
  confidence: v.number(),
};
const FOUND = v.object({ text: v.string(), ...PLACE, center_x: v.number(), center_y: v.number() });

type TextQuery = v.InferOutput<v.StrictObjectSchema<typeof WANTED, undefined>>;
type RelativeQuery = TextQuery & { readonly relative_to?: RelativeTo };

/**
 * The place of a text that is read with the confidence that is wanted, once there are so many.
 *
 * @throws a failure with the most certain of the others: `not_found` when there is no time to wait, else `timeout`.
 */
export async function waitForText(
  desktop: Desktop,
  given: RelativeQuery,
  patience: Patience,
  caller: Caller,
) {
  const { signal } = caller;
  const wanted = await cornersOn(desktop, given, requesterOf(caller));
  const { text, language, min_confidence, match, nth } = wanted;
  const find = await finder(wanted);
  const region = regionOf(wanted.region);
  const { timeout } = patience;
  // A page may take longer to read than there is time.
  const late = timeout === 0 ? undefined : AbortSignal.timeout(timeout * 1_000);
  const inTime = late ? AbortSignal.any([signal, late]) : signal;
  let lines: Word[][] | undefined;
  return until(patience, signal, async (isLast): Promise<TextPlace | undefined> => {
    try {
      lines = await desktop.readLines(region, language, requesterOf(caller, inTime));
    } catch (error) {
      if (signal.aborted || !late?.aborted) throw error;
    }
    const places = find(lines ?? []);
    const sure = places.filter(({ confidence }) => confidence >= min_confidence);
    const found = sure[nth - 1];
    if (found || !(isLast || late?.aborted)) return found;
    const what = `${match === "regex" ? "a text that fits" : "the text"} ${jsonLine(text)}`;
    const words = missing(lines, places, wanted);
    if (timeout === 0) throw notFound(`${what} was not read on the screen${words}`);
    throw timedOut(`${what} was not read within ${timeout} s${words}`);
  });
}

/** @returns what finds the text in the lines of a page. @throws a `bad_input` failure where its pattern is none. */
async function finder({ text, case_sensitive, match }: TextQuery) {
  if (match !== "regex") {
    return (lines: ReadonlyArray<readonly Word[]>) => findText(lines, text, case_sensitive, match);
  }
  const rangesIn = (await import("../text/pattern")).createPattern(text, case_sensitive);
  return (lines: ReadonlyArray<readonly Word[]>) => findPattern(lines, rangesIn);
}

/**
 * What a failure says of the last page: where the text may be, what was read in its place, or what may help. What else was read is
 * nobody's business: histories keep the failure.
 *
 * @param lines undefined where no page was read.
 */
function missing(
  lines: ReadonlyArray<readonly Word[]> | undefined,
  places: readonly TextPlace[],
  { text, match, min_confidence, region, nth }: TextQuery,
): string {
  const help = region ? "" : "; name a region, which is read better and faster";
  if (!lines) return `: reading the screen takes longer${help}`;
  const unsure = places.filter(({ confidence }) => confidence < min_confidence);
  const sure = places.length - unsure.length;
  if (sure > 0) return `, number ${nth} of it: it is there ${sure === 1 ? "once" : `${sure} times`}${help}`;
  const [best] = unsure.toSorted((a, b) => b.confidence - a.confidence);
  if (!best) {
    const near = match === "regex" ? undefined : nearestText(lines, text);
    if (near !== undefined) return `: ${jsonLine(near)} was${help}`;
    const count = lines.flat().length;
    const read = count === 0 ? "no word was" : `${count} other ${count === 1 ? "word was" : "words were"}`;
    return `: ${read}${help}`;
  }
  const { x, y, confidence } = best;
  return `: it may be at ${x}, ${y}, with a confidence of ${confidence}, expected ${min_confidence}`;
}

export const locateText = operation({
  ...SEES,
  name: "desktop.locate_text",
  summary: "Find a text on the screen, by default as whole words; returns where it is",
  command: "AC_locate_text",
  example: { text: "Save changes" },
  input: v.strictObject({ ...WANTED, ...RELATIVE_TO }),
  output: FOUND,
  run: async (service: Uses, wanted, caller) =>
    waitForText(await service.desktop(), wanted, { timeout: 0, poll: 0 }, caller),
});

export const waitText = operation({
  ...SEES,
  name: "desktop.wait_text",
  summary: "Wait for a text on the screen; returns where it is",
  command: "AC_wait_text",
  example: { text: "Saved", timeout: 30 },
  input: v.strictObject({
    ...WANTED,
    timeout: field(v.optional(seconds(between(0, 3_600)), 10), "Seconds to wait"),
    poll: field(v.optional(seconds(between(0.1, 60)), 1), "Seconds between two looks"),
    ...RELATIVE_TO,
  }),
  output: FOUND,
  run: async (service: Uses, { timeout, poll, ...wanted }, caller) =>
    waitForText(await service.desktop(), wanted, { timeout, poll }, caller),
});

const readText = operation({
  ...SEES,
  name: "desktop.read_text",
  summary: "Read the text on the screen; returns it, and its lines from top to bottom",
  command: "AC_read_text",
  example: { region: [0, 0, 640, 200] },
  input: v.strictObject({
    ...WHERE,
    min_confidence: field(
      v.optional(between(0, 100), 50),
      "Words of a lower confidence, 0 to 100, are left out",
    ),
    ...RELATIVE_TO,
  }),
  output: v.object({
    text: secret(v.string()),
    lines: v.array(v.object({ text: secret(v.string()), ...PLACE })),
  }),
  async run(service: Uses, { language, min_confidence, ...where }, caller) {
    const desktop = await service.desktop();
    const { region } = await cornersOn(desktop, where, requesterOf(caller));
    const read = await desktop.readLines(regionOf(region), language, requesterOf(caller));
    const lines = read.flatMap((words) => {
      const sure = words.filter(({ confidence }) => confidence >= min_confidence);
      if (sure.length === 0) return [];
      const { center_x: _x, center_y: _y, ...line } = around(sure);
      return [line];
    });
    return { text: lines.map(({ text }) => text).join("\n"), lines };
  },
});

export const operations = [locateText, waitText, readText];

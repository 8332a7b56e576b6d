/**
 * The operations of the black box: its state, the picture of a moment, texts, the film of a span.
 *
 * Promise: who may not see the screen sees nothing of what it showed, and each look leaves a row of its own.
 */
import { renameSync, rmSync } from "node:fs";
import * as v from "valibot";
import { requesterOf } from "../../../../core/caller";
import { between, bytes, field, flag, NO_INPUT, path, whole } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { allows, beyond } from "../../../../core/rights";
import { badInput, conflict, forbidden } from "../../../../lib/errors";
import { isMissing, writeNamedFile } from "../../../../lib/files";
import { look } from "../../../../lib/look";
import { printable } from "../../../../lib/sanitize";
import { keptEndpoint, msOf, screenAtEndpoint, spansEndpoint, TIME } from "../../../../wire/screen/black-box";
import type { BlackBox } from "./black-box";

interface Uses {
  blackBox(): Promise<BlackBox>;
}

const STATUS = v.object({
  /** `waiting`: it does not record yet, or cannot, as `problem` says. */
  state: v.picklist(["off", "on", "paused", "waiting"]),
  problem: v.nullable(v.string()),
  /** Why no texts of programs are kept; null where they are. */
  no_texts: v.nullable(v.string()),
  span_s: v.nullable(v.number()),
  max_bytes: v.nullable(v.number()),
  /** How many patterns of windows that are left out there are. */
  excluded: v.number(),
  bytes: v.number(),
  segments: v.number(),
  /** How many of them are kept for failures. */
  kept: v.number(),
  /** When the oldest began, and the newest was written, ISO 8601; null where there is none. */
  oldest: v.nullable(v.string()),
  newest: v.nullable(v.string()),
  /** Where it is off: when the last of what was kept before will have gone, ISO 8601; null where nothing is left, or it is on. */
  until: v.nullable(v.string()),
  /** Why whoever sits at the screen was told nothing; null where they were, or nothing is kept. */
  not_told: v.nullable(v.string()),
});

/** The black box, as it is shown. */
export type BoxStatus = Readonly<v.InferOutput<typeof STATUS>>;

const FOR_PEOPLE = "a person looks at what was; a script sees the screen of now";
const BY_A_PERSON = "a person decides about it";

export const boxStatus = operation({
  name: "black_box.status",
  summary: "Show whether the black box keeps what the screen shows, and how much it has",
  scope: "read",
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/black-box" },
  input: NO_INPUT,
  output: STATUS,
  run: async (service: Uses) => (await service.blackBox()).status(),
});

export const pauseBox = operation({
  name: "black_box.pause",
  summary: "Pause the black box, until it is resumed",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  leftOut: { script: BY_A_PERSON },
  http: { method: "POST", path: "/black-box/pause", repeatable: true },
  input: NO_INPUT,
  output: STATUS,
  async run(service: Uses, _input, { grant }) {
    const box = await service.blackBox();
    await box.pause(grant.name);
    return box.status();
  },
});

export const resumeBox = operation({
  name: "black_box.resume",
  summary: "Let the black box go on after it was paused",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  leftOut: { script: BY_A_PERSON },
  http: { method: "POST", path: "/black-box/resume", repeatable: true },
  input: NO_INPUT,
  output: STATUS,
  async run(service: Uses) {
    const box = await service.blackBox();
    box.resume();
    return box.status();
  },
});

export const screenAt = operation({
  ...screenAtEndpoint,
  summary: "Return the picture that the screen showed at a time, from the black box, as a PNG in base64",
  scope: "screen",
  reveals: true,
  answeredBy: "server or here",
  leftOut: { script: FOR_PEOPLE },
  async run(service: Uses, { time }, caller) {
    const box = await service.blackBox();
    const { width, height, since, base64 } = await box.picture(msOf(time), requesterOf(caller));
    const shown = new Date(since).toISOString();
    return { format: "png" as const, width, height, since: shown, encoding: "base64" as const, data: base64 };
  },
});

export const boxSpans = operation({
  ...spansEndpoint,
  summary: "List the spans of time that the black box has, the oldest first",
  scope: "screen",
  answeredBy: "server or here",
  leftOut: { script: FOR_PEOPLE },
  async run(service: Uses, _input, caller) {
    const spans = await (await service.blackBox()).spans(requesterOf(caller));
    const iso = (ms: number) => new Date(ms).toISOString();
    return { spans: spans.map(({ from, to }) => ({ from: iso(from), to: iso(to) })) };
  },
});

export const keptOfBox = operation({
  ...keptEndpoint,
  summary:
    "List the failed runs of jobs and plans for which the black box keeps the minutes before, newest first",
  scope: "read",
  answeredBy: "server or here",
  leftOut: { script: FOR_PEOPLE },
  async run(service: Uses) {
    const runs = (await service.blackBox()).kept();
    return { runs, count: runs.length };
  },
});

const SPAN = {
  since: field(v.optional(TIME), "Only what was there from this time on (default: all that is kept)"),
  until: field(v.optional(TIME), "Only what was there before this time"),
};

/** @throws `bad_input` for a span that ends before it begins. */
function spanOf(since: string | undefined, until: string | undefined) {
  const from = since === undefined ? 0 : msOf(since);
  const to = until === undefined ? Number.MAX_SAFE_INTEGER : msOf(until);
  if (to < from) throw badInput("until: expected a time after since");
  return { from, to };
}

export const findOnScreen = operation({
  name: "black_box.find",
  summary:
    "Look for a text in what the screen has shown: titles of windows and texts in them, with their times",
  scope: "screen",
  reveals: true,
  answeredBy: "server or here",
  subcommand: "find",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "POST", path: "/black-box/find", repeatable: true },
  input: v.strictObject({
    text: field(
      v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200)),
      "What to look for: a part of a title or a text, in any case",
    ),
    ...SPAN,
    most: field(v.optional(whole(1, 1_000), 100), "The maximum number of finds, the newest first"),
  }),
  output: v.object({
    found: v.array(
      v.object({
        kind: v.picklist(["title", "text"]),
        /** From when it was first seen until it had gone, or until it was last known to be there; ISO 8601. */
        from: v.string(),
        to: v.string(),
        window: v.string(),
        program: v.nullable(v.string()),
        /** The title, or the line of the text. */
        text: v.string(),
      }),
    ),
    count: v.number(),
    /** How many parts of the black box could not be read. */
    unread: v.number(),
    /** How many older finds there are besides: more than `most`, or than an answer has room for. Hosts of before do not send it. */
    left_off: v.optional(v.number(), 0),
  }),
  async run(service: Uses, { text, since, until, most }, caller) {
    const query = { text, most, ...spanOf(since, until) };
    const { found, ...counts } = await (await service.blackBox()).find(query, requesterOf(caller));
    const shown = found.map((one) => ({
      ...one,
      from: new Date(one.from).toISOString(),
      to: new Date(one.to).toISOString(),
    }));
    return { found: shown, count: shown.length, ...counts };
  },
});

const MIB = 1_024 * 1_024;
const FILE = v.pipe(v.string(), v.maxLength(4_096), v.regex(/^[^\0]*\.webm$/i, "a path that ends in .webm"));

export const exportFilm = operation({
  name: "recording.export",
  summary:
    "Write what the screen has shown in a span of time, from the black box, to a file that browsers play",
  scope: "screen",
  changes: true,
  answeredBy: "server or here",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "POST", path: "/black-box/film" },
  input: v.strictObject({
    since: field(TIME, "When it begins (ISO 8601; UTC unless it names a zone)"),
    until: field(TIME, "When it ends"),
    file_path: field(path(FILE), "File to write on the host, `.webm`"),
    max_bytes: field(
      v.optional(bytes(whole(MIB, 4_096 * MIB)), 100 * MIB),
      "How large the file may be, bytes; what does not fit is left out",
    ),
    fps: field(v.optional(between(0.1, 10), 2), "Pictures a second, at most; there is none without a change"),
    force: flag("Replace the file where it is there"),
  }),
  output: v.object({
    file_path: v.string(),
    seconds: v.number(),
    pictures: v.number(),
    bytes: v.number(),
    width: v.number(),
    height: v.number(),
  }),
  async run(service: Uses, { since, until, file_path, max_bytes, fps, force }, caller) {
    const { grant } = caller;
    if (!allows(grant, "operate"))
      throw forbidden(beyond(grant, "file_path, a file anywhere on the host, needs operate"));
    const span = spanOf(since, until);
    const box = await service.blackBox();
    if (!force && !isMissing(file_path))
      throw conflict(`file_path: ${printable(file_path, 300)} is there already: force replaces it (--force)`);
    // One that is there stays until the film is whole: there may be nothing of that span.
    const isThere = look(file_path)?.isFile() === true;
    const file = isThere ? `${file_path}.${crypto.randomUUID().slice(0, 8)}.webm` : file_path;
    writeNamedFile(file, "", "file_path");
    try {
      const request = { ...span, file, fps, maxBytes: max_bytes };
      const made = await box.film(request, requesterOf(caller));
      if (isThere) renameSync(file, file_path);
      return { file_path, ...made };
    } catch (error) {
      rmSync(file, { force: true });
      throw error;
    }
  },
});

export const operations = [
  ...[boxStatus, pauseBox, resumeBox, screenAt],
  ...[boxSpans, keptOfBox, findOnScreen, exportFilm],
];

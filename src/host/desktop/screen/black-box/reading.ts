/**
 * Reading the black box: the picture of a moment, texts, the film of a span. In a child process: pixels take a processor for a while.
 */
import { notFound } from "../../../../lib/errors";
import type { Size } from "../../geometry";
import { createFilm, type Film } from "../record/film";
import { createFilmEncoder, type FilmEncoder } from "../record/recorder";
import { Canvas, KIND, type TextEntry, textEntriesIn, tileEntriesIn } from "./entries";
import type { BoxPlace, FilmRequest, FilmResult, FoundText, FoundTexts, TextQuery } from "./reading-calls";
import { readSealedFile } from "./sealed-file";
import { filesOf, type Segment, segmentsIn } from "./segments";

/** How long after a sign of life the screen is taken to be as it was, in milliseconds: three are missing then. */
const SILENCE_MS = 60_000;
/** The longest part of a text that is shown, in characters. */
const MOST_SHOWN = 200;
/** How many texts are followed at once. */
const MOST_FOLLOWED = 10_000;
/** The largest answer, in characters of JSON: a desk holds those of a thousand hosts. */
const MOST_BYTES = 131_072;

/** A picture, and since when the screen showed it. */
interface Moment extends Size {
  /** Blue, green, red and an unused byte for each pixel. */
  readonly pixels: Uint8Array<ArrayBuffer>;
  readonly since: number;
}

const isoOf = (ms: number) => new Date(ms).toISOString();

/** The entries with texts of a segment. @throws where it cannot be read, or was written with another key. */
function* textsOf({ path }: Segment, key: string): Generator<TextEntry> {
  for (const record of readSealedFile(filesOf(path).texts, key, "texts")) yield* textEntriesIn(record);
}

function* tilesOf({ path }: Segment, key: string) {
  for (const record of readSealedFile(filesOf(path).tiles, key, "tiles")) yield* tileEntriesIn(record);
}

/** What nothing was recorded of. */
const nothingAt = (at: number, why: string) => notFound(`the black box has nothing of ${isoOf(at)}: ${why}`);

/**
 * What the screen showed.
 *
 * @throws `not_found` where nothing was recorded then; `unavailable` where it was written with another key.
 */
export function momentAt({ folder, key }: BoxPlace, at: number): Moment {
  const all = segmentsIn(folder);
  const segment = all.findLast(({ start }) => start <= at);
  if (!segment) throw nothingAt(at, all[0] ? `it begins at ${isoOf(all[0].start)}` : "it is empty");
  const alive = lastSign(segment, key, at);
  if (alive === undefined) throw nothingAt(at, "it had been paused, or svc did not run");
  const canvas = new Canvas();
  let since = segment.start;
  // A segment begins with a size, and its first pixels a little later.
  let isDrawn = false;
  for (const entry of tilesOf(segment, key)) {
    if (entry.at > at) break;
    canvas.draw(entry);
    since = entry.at;
    isDrawn ||= entry.kind === KIND.areas;
  }
  if (!isDrawn) throw nothingAt(at, "no picture of then is whole");
  if (at - Math.max(alive, since) > SILENCE_MS) throw nothingAt(at, `it ended at ${isoOf(alive)}`);
  return { width: canvas.width, height: canvas.height, pixels: canvas.bytes, since };
}

/** When the recorder gave its last sign of life by then; undefined where it had ended. */
function lastSign(segment: Segment, key: string, at: number): number | undefined {
  let last: number | undefined = segment.start;
  for (const entry of textsOf(segment, key)) {
    if (entry.at > at) break;
    last = "gap" in entry && entry.gap ? undefined : entry.at;
  }
  return last;
}

/** Whether the screen still showed at `at` what it had shown at `since`, as far as is known. */
function isStill(segment: Segment, key: string, since: number, at: number): boolean {
  const alive = since >= at ? since : lastSign(segment, key, at);
  return alive !== undefined && at - Math.max(alive, since) <= SILENCE_MS;
}

/** The spans that were recorded, the oldest first; nothing of segments that cannot be read. @throws why, where that is all of them. */
export function spansIn({ folder, key }: BoxPlace): Array<{ from: number; to: number }> {
  const spans: Array<{ from: number; to: number }> = [];
  const seen = (at: number) => {
    const last = spans.at(-1);
    if (last && at - last.to <= SILENCE_MS) last.to = Math.max(last.to, at);
    else spans.push({ from: at, to: at });
  };
  let fault: unknown;
  for (const segment of segmentsIn(folder)) {
    const times = [segment.start];
    try {
      for (const { at } of textsOf(segment, key)) times.push(at);
    } catch (error) {
      fault ??= error;
      continue;
    }
    for (const at of times) seen(at);
  }
  if (spans.length === 0 && fault !== undefined) throw fault;
  return spans;
}

/** Texts that match, the newest first; how many segments could not be read, and how many finds have no room in the answer. */
export function findTexts(place: BoxPlace, query: TextQuery): FoundTexts {
  const search = new TextSearch(query);
  let unread = 0;
  for (const segment of segmentsIn(place.folder)) {
    if (segment.end < query.from || segment.start > query.to) continue;
    try {
      for (const entry of textsOf(segment, place.key)) search.take(entry);
    } catch {
      unread++;
    }
  }
  return { ...search.results(), unread };
}

/** One that is followed through the entries. Its `to` is known once it has gone. */
type FollowedText = { -readonly [N in keyof FoundText]: FoundText[N] };

/** The lines of a window that match, by what they say. */
interface FollowedWindow {
  readonly lines: ReadonlyMap<string, FollowedText>;
  /** Whether its title was in the list of windows. */
  isListed: boolean;
}

/**
 * Follows titles and texts from when they are first seen until they go: with their window, at the next reading of it that has them not, or with
 * the recording. A text is written once while it stands.
 */
class TextSearch {
  readonly #words: string;
  readonly #all: FollowedText[] = [];
  #leftOff = 0;
  /** Those that are there now, by what they are. */
  #titles: ReadonlyMap<string, FollowedText> = new Map();
  #listed: ReadonlySet<string> = new Set();
  /** By window. */
  readonly #texts = new Map<string, FollowedWindow>();
  #last = Number.NEGATIVE_INFINITY;

  constructor(private readonly query: TextQuery) {
    this.#words = folded(query.text);
  }

  take(entry: TextEntry): void {
    // What was there before `from` may be there still.
    if (entry.at > this.query.to) return;
    if (entry.at - this.#last > SILENCE_MS) this.#end(this.#last);
    this.#last = entry.at;
    if ("windows" in entry) this.#takeWindows(entry.at, entry.windows);
    else if ("texts" in entry) this.#takeTexts(entry);
    else if (entry.gap) this.#end(entry.at);
  }

  results(): Pick<FoundTexts, "found" | "left_off"> {
    this.#end(this.#last);
    const all = this.#all
      .filter(({ from, to }) => to > this.query.from || from >= this.query.from)
      .toSorted((a, b) => b.to - a.to || b.from - a.from);
    let room = MOST_BYTES;
    const found = all.slice(0, this.query.most);
    const full = found.findIndex((one) => {
      room -= JSON.stringify(one).length;
      return room < 0;
    });
    if (full >= 0) found.length = full;
    return { found, left_off: this.#leftOff + all.length - found.length };
  }

  /** All that is followed has gone. */
  #end(at: number): void {
    gone(this.#titles.values(), at);
    for (const { lines } of this.#texts.values()) gone(lines.values(), at);
    this.#titles = new Map();
    this.#listed = new Set();
    this.#texts.clear();
  }

  #follow(one: FoundText): FollowedText {
    const followed = { ...one };
    // The newest are answered first.
    if (this.#all.length >= MOST_FOLLOWED) {
      this.#all.shift();
      this.#leftOff++;
    }
    this.#all.push(followed);
    return followed;
  }

  #takeWindows(at: number, windows: Extract<TextEntry, { windows: unknown }>["windows"]): void {
    const now = new Map<string, FollowedText>();
    for (const { title, program } of windows) {
      const text = partAround(title, this.#words);
      if (text === undefined) continue;
      const key = JSON.stringify([title, program]);
      const about = { kind: "title", from: at, to: at, window: cut(title), program, text } as const;
      now.set(key, this.#titles.get(key) ?? this.#follow(about));
    }
    gone(without(this.#titles, now), at);
    this.#titles = now;
    this.#listed = new Set(windows.map(({ title }) => title));
    for (const [window, known] of this.#texts) {
      const isListed = this.#listed.has(window);
      if (known.isListed && !isListed) {
        gone(known.lines.values(), at);
        this.#texts.delete(window);
      }
      known.isListed ||= isListed;
    }
  }

  #takeTexts({ at, window, program, texts }: Extract<TextEntry, { texts: unknown }>): void {
    const before = this.#texts.get(window)?.lines ?? new Map<string, FollowedText>();
    const now = new Map<string, FollowedText>();
    for (const whole of texts) {
      const text = partAround(whole, this.#words);
      if (text === undefined || now.has(text)) continue;
      const about = { kind: "text", from: at, to: at, window: cut(window), program, text } as const;
      now.set(text, before.get(text) ?? this.#follow(about));
    }
    gone(without(before, now), at);
    this.#texts.set(window, { lines: now, isListed: this.#listed.has(window) });
  }
}

/** Those of `before` that are not in `now`. */
function* without(
  before: ReadonlyMap<string, FollowedText>,
  now: ReadonlyMap<string, FollowedText>,
): Generator<FollowedText> {
  for (const [key, one] of before) if (!now.has(key)) yield one;
}

function gone(all: Iterable<FollowedText>, at: number): void {
  for (const one of all) one.to = Math.max(one.from, at);
}

const cut = (text: string) => text.slice(0, MOST_SHOWN).toWellFormed();

const folded = (text: string) => text.normalize("NFKC").toLowerCase();

/** The line of `text` with the words, cut around them; undefined where none has them. */
function partAround(text: string, words: string): string | undefined {
  for (const line of text.split("\n")) {
    const at = folded(line).indexOf(words);
    if (at < 0) continue;
    const from = Math.max(0, Math.min(at - MOST_SHOWN / 2, line.length - MOST_SHOWN));
    return line
      .slice(from, from + MOST_SHOWN)
      .toWellFormed()
      .trim();
  }
  return undefined;
}

/** The entries until one cannot be read: then it calls `failed` and ends. It does not catch what its consumer throws. */
function* untilFault<T>(entries: Iterable<T>, failed: (error: unknown) => void): Generator<T> {
  try {
    yield* entries;
  } catch (error) {
    failed(error);
  }
}

/**
 * Writes the film of a span; what was not recorded, or cannot be read, is not in it, and takes no time.
 *
 * @throws `not_found` where nothing of it was recorded, or why none of it can be read; what the system says of the file.
 */
export async function writeFilm({ folder, key }: BoxPlace, request: FilmRequest): Promise<FilmResult> {
  const { from, to, file, fps, maxBytes } = request;
  const segments = segmentsIn(folder).filter(({ start, end }) => start <= to && end >= from);
  let film: Film | undefined;
  let size: Size = { width: 0, height: 0 };
  let encode: FilmEncoder | undefined;
  let isFull = false;
  let fault: unknown;
  const failed = (error: unknown) => {
    fault ??= error;
  };
  /** When the last picture was taken, and the time of the film then. */
  let [lastAt, ms] = [Number.NaN, 0];
  const add = async (canvas: Canvas, at: number) => {
    if (canvas.width === 0 || isFull) return;
    if (!film || !encode) {
      size = { width: canvas.width, height: canvas.height };
      film = createFilm(file, size, { maxMs: to - from, maxBytes });
      encode = createFilmEncoder(size);
    } else ms += Math.min(Math.max(1, at - lastAt), SILENCE_MS);
    lastAt = at;
    isFull = !film.add(Math.round(ms), await encode(canvas));
  };
  for (const segment of segments) {
    const canvas = new Canvas();
    /** The time of the entries that have been drawn and are in no picture yet. */
    let due: number | undefined;
    for (const entry of untilFault(tilesOf(segment, key), failed)) {
      if (entry.at > to) break;
      const isDue = due !== undefined && entry.at > due && entry.at >= from;
      // No sooner after the last one than the film shows it; the first has none before.
      const soonest = Number.isNaN(lastAt) ? from : lastAt + 1_000 / fps;
      const shown = Math.max(from, due ?? from, soonest);
      if (isDue && entry.at > shown && isStill(segment, key, due ?? from, from)) await add(canvas, shown);
      canvas.draw(entry);
      if (entry.kind === KIND.areas) due = entry.at;
    }
    if (due !== undefined && isStill(segment, key, due, from)) await add(canvas, Math.max(from, due));
  }
  if (!film) throw fault ?? nothingAt(from, `nothing was recorded until ${isoOf(to)}`);
  film.last(Math.round(ms) + 1_000);
  film.close();
  return { seconds: film.ms / 1_000, pictures: film.pictures, bytes: film.bytes, ...size };
}

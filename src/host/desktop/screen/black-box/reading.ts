/**
 * Reading the black box: the picture of a moment, texts, the film of a span. In a child process: pixels take a processor for a while.
 */
import { notFound } from "../../../../lib/errors";
import type { Size } from "../../geometry";
import { createFilm, type Film } from "../record/film";
import { createFilmEncoder, type FilmEncoder } from "../record/recorder";
import { Canvas, KIND, type TextEntry, textEntriesIn, tileEntriesIn } from "./entries";
import type { BoxPlace, FilmRequest, FilmResult, FoundText, TextQuery } from "./reading-calls";
import { readSealedFile } from "./sealed-file";
import { filesOf, type Segment, segmentsIn } from "./segments";

/** How long after a sign of life the screen is taken to be as it was, in milliseconds: three are missing then. */
const SILENCE_MS = 60_000;
/** The longest part of a text that is shown, in characters. */
const MOST_SHOWN = 200;
/** How many texts are followed at once. */
const MOST_FOLLOWED = 10_000;

/** A picture, and since when the screen showed it. */
interface Moment extends Size {
  /** Blue, green, red and an unused byte for each pixel. */
  readonly pixels: Uint8Array<ArrayBuffer>;
  readonly since: number;
}

const isoOf = (ms: number) => new Date(ms).toISOString();

/** The entries with texts of a segment; of one that cannot be read, none. */
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

/** The spans that were recorded, the oldest first. */
export function spansIn({ folder, key }: BoxPlace): Array<{ from: number; to: number }> {
  const spans: Array<{ from: number; to: number }> = [];
  const seen = (at: number) => {
    const last = spans.at(-1);
    if (last && at - last.to <= SILENCE_MS) last.to = Math.max(last.to, at);
    else spans.push({ from: at, to: at });
  };
  for (const segment of segmentsIn(folder)) {
    seen(segment.start);
    for (const { at } of textsOf(segment, key)) seen(at);
  }
  return spans;
}

/** Texts that match, the newest first, and how many segments could not be read. */
export function findTexts(place: BoxPlace, query: TextQuery): { found: FoundText[]; unread: number } {
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
  return { found: search.results(), unread };
}

/** One that is followed through the entries. */
type Followed = { -readonly [N in keyof FoundText]: FoundText[N] };

class TextSearch {
  readonly #words: string;
  readonly #all: Followed[] = [];
  /** Those that are there now, by what they are. */
  #titles = new Map<string, Followed>();
  /** By window. */
  readonly #texts = new Map<string, Map<string, Followed>>();
  #last = Number.NEGATIVE_INFINITY;

  constructor(private readonly query: TextQuery) {
    this.#words = folded(query.text);
  }

  take(entry: TextEntry): void {
    if (entry.at - this.#last > SILENCE_MS) this.#end();
    this.#last = entry.at;
    // What was there before `from` may be there still.
    if (entry.at > this.query.to) return;
    for (const one of this.#titles.values()) one.to = entry.at;
    if ("windows" in entry) this.#takeWindows(entry.at, entry.windows);
    else if ("texts" in entry) this.#takeTexts(entry);
    else if (entry.gap) this.#end();
  }

  results(): FoundText[] {
    return this.#all
      .filter(({ from, to }) => to > this.query.from || from >= this.query.from)
      .toSorted((a, b) => b.to - a.to || b.from - a.from)
      .slice(0, this.query.most);
  }

  #end(): void {
    this.#titles.clear();
    this.#texts.clear();
  }

  #follow(one: FoundText): Followed {
    const followed = { ...one };
    // The newest are answered first.
    if (this.#all.length >= MOST_FOLLOWED) this.#all.shift();
    this.#all.push(followed);
    return followed;
  }

  #takeWindows(at: number, windows: Extract<TextEntry, { windows: unknown }>["windows"]): void {
    const now = new Map<string, Followed>();
    for (const { title, program } of windows) {
      if (!folded(title).includes(this.#words)) continue;
      const key = JSON.stringify([title, program]);
      const about = { kind: "title", from: at, to: at, window: title, program, text: title } as const;
      now.set(key, this.#titles.get(key) ?? this.#follow(about));
    }
    this.#titles = now;
  }

  #takeTexts({ at, window, program, texts }: Extract<TextEntry, { texts: unknown }>): void {
    const before = this.#texts.get(window) ?? new Map<string, Followed>();
    for (const one of before.values()) one.to = at;
    const now = new Map<string, Followed>();
    for (const whole of texts) {
      const text = partAround(whole, this.#words);
      if (text === undefined) continue;
      const about = { kind: "text", from: at, to: at, window, program, text } as const;
      now.set(text, before.get(text) ?? this.#follow(about));
    }
    this.#texts.set(window, now);
  }
}

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

/**
 * Writes the film of a span; what was not recorded is not in it, and takes no time.
 *
 * @throws `not_found` where nothing of it was recorded; what the system says of the file.
 */
export async function writeFilm({ folder, key }: BoxPlace, request: FilmRequest): Promise<FilmResult> {
  const { from, to, file, fps, maxBytes } = request;
  const segments = segmentsIn(folder).filter(({ start, end }) => start <= to && end >= from);
  let film: Film | undefined;
  let size: Size = { width: 0, height: 0 };
  let encode: FilmEncoder | undefined;
  let isFull = false;
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
    for (const entry of tilesOf(segment, key)) {
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
  if (!film) throw nothingAt(from, `nothing was recorded until ${isoOf(to)}`);
  film.last(Math.round(ms) + 1_000);
  film.close();
  return { seconds: film.ms / 1_000, pictures: film.pictures, bytes: film.bytes, ...size };
}

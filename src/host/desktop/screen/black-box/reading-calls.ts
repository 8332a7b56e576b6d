/** What the process that reads the black box is asked for. */
import * as v from "valibot";
import type { Protocol } from "../../../../lib/child";

/** Where a black box is, and the key to it. */
export interface BoxPlace {
  readonly folder: string;
  /** 64 hexadecimal digits. */
  readonly key: string;
}

/** What is looked for, in times of milliseconds since 1970. */
export interface TextQuery {
  /** Any case; a part is enough. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** How many are returned. */
  readonly most: number;
}

/** A film of a span, in times of milliseconds since 1970. */
export interface FilmRequest {
  readonly from: number;
  readonly to: number;
  /** One that is there is replaced. */
  readonly file: string;
  /** Pictures a second, at most. */
  readonly fps: number;
  readonly maxBytes: number;
}

const COUNT = v.pipe(v.number(), v.minValue(0));

const MOMENT = v.object({ width: COUNT, height: COUNT, since: v.number(), base64: v.string() });

const FOUND_TEXT = v.object({
  /** A title of a window, or what was in it. */
  kind: v.picklist(["title", "text"]),
  from: v.number(),
  to: v.number(),
  window: v.string(),
  program: v.nullable(v.string()),
  text: v.string(),
});
export type FoundText = Readonly<v.InferOutput<typeof FOUND_TEXT>>;

const FOUND_TEXTS = v.object({
  found: v.array(FOUND_TEXT),
  /** How many segments could not be read. */
  unread: COUNT,
  /** How many older finds had no room in the answer. */
  left_off: COUNT,
});
export type FoundTexts = v.InferOutput<typeof FOUND_TEXTS>;

const FILM = v.object({ seconds: COUNT, pictures: COUNT, bytes: COUNT, width: COUNT, height: COUNT });
export type FilmResult = Readonly<v.InferOutput<typeof FILM>>;

const SPAN = v.object({ from: v.number(), to: v.number() });

export interface ReadingCalls {
  /** A PNG. @throws `not_found` where nothing was recorded then. */
  picture(place: BoxPlace, at: number): Promise<v.InferOutput<typeof MOMENT>>;
  spans(place: BoxPlace): Promise<Array<v.InferOutput<typeof SPAN>>>;
  /** The newest first. */
  find(place: BoxPlace, query: TextQuery): Promise<FoundTexts>;
  /** @throws `not_found` where nothing was recorded then. */
  film(place: BoxPlace, request: FilmRequest): Promise<FilmResult>;
}

export const READING: Protocol<ReadingCalls> = {
  answers: {
    picture: MOMENT,
    spans: v.array(SPAN),
    find: FOUND_TEXTS,
    film: FILM,
  },
  events: {},
};

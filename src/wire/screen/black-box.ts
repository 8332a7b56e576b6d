/**
 * What a desk asks a host of its black box: the spans it has, the picture of a moment, and the runs for which something is kept.
 */
import * as v from "valibot";
import { field, timestamp } from "../../core/fields";
import { endpoint } from "../../core/operation";

/** A date and a time, with or without a zone. A query string turns the `+` of a zone into a space. */
const TEXT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[ +-]\d\d:\d\d)?)?$/;
const ZONED = /(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970; not a number where it is no time. In UTC unless it names a zone. */
export function msOf(text: string): number {
  if (!TEXT.test(text)) return Number.NaN;
  const whole = text.replace(/ (\d\d:\d\d)$/, "+$1");
  const full = whole.includes("T") ? whole : `${whole}T00:00`;
  return Date.parse(ZONED.test(full) ? full : `${full}Z`);
}

/** A point in time, in UTC unless it names a zone. */
export const TIME = timestamp(
  v.pipe(
    v.string(),
    v.maxLength(40),
    v.check((text) => !Number.isNaN(msOf(text)), "a time in ISO 8601 (2026-04-27T10:30:00Z)"),
  ),
);

/** The field of the time whose picture is asked for. */
export const AT_TIME = field(TIME, "When (ISO 8601; UTC unless it names a zone)");

/** The picture that a screen showed. */
export const MOMENT = v.object({
  format: v.literal("png"),
  width: v.number(),
  height: v.number(),
  /** Since when the screen showed it, ISO 8601. */
  since: v.string(),
  encoding: v.literal("base64"),
  data: v.string(),
});

/** Returns what the screen showed at a time. */
export const screenAtEndpoint = endpoint({
  name: "screen.at",
  http: { method: "GET", path: "/screen/at" },
  input: v.strictObject({ time: AT_TIME }),
  output: MOMENT,
});

/** From when to when, ISO 8601. */
const SPAN = v.object({ from: v.string(), to: v.string() });

/** Lists the spans of time that were recorded. */
export const spansEndpoint = endpoint({
  name: "black_box.spans",
  http: { method: "GET", path: "/black-box/spans" },
  input: v.strictObject({}),
  output: v.object({ spans: v.array(SPAN) }),
});

/** A run that has failed, and what of the black box is kept for it. */
export const KEPT_RUN = v.object({
  run_id: v.string(),
  /** Where it came from, and which job, or plan and job, it was. */
  source_type: v.string(),
  source_id: v.string(),
  /** The span before its end, ISO 8601. */
  from: v.string(),
  to: v.string(),
});

export type KeptRun = Readonly<v.InferOutput<typeof KEPT_RUN>>;

/** Lists the runs for which something is kept, newest first. */
export const keptEndpoint = endpoint({
  name: "black_box.kept",
  http: { method: "GET", path: "/black-box/kept" },
  input: v.strictObject({}),
  output: v.object({ runs: v.array(KEPT_RUN), count: v.number() }),
});

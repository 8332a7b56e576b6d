/** Times as the operations of the black box take them. */
import * as v from "valibot";
import { timestamp } from "../../../../core/fields";

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

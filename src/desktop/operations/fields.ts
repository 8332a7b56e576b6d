/**
 * What the desktop's operations have in common.
 */
import * as v from "valibot";

/** A column or row: far beyond any desktop (X11 has 16 bits for one). */
export const COORDINATE = v.pipe(v.number(), v.integer(), v.minValue(-32_768), v.maxValue(32_767));

/** Two numbers, as scripts get them. */
export const PAIR = v.strictTuple([v.number(), v.number()]);

/** What an operation answers that has nothing to tell. */
export const DONE = v.null();

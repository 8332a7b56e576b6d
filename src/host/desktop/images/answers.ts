/**
 * The form of what the child process saw ({@link SeeingCalls}), as the server takes it from there and hands it on.
 */

import * as v from "valibot";
import { NOTHING } from "../../../lib/child";

/** A place on the screen, in the pointer's units; x and y are the upper left corner. */
export const HIT = v.object({
  x: v.number(),
  y: v.number(),
  width: v.number(),
  height: v.number(),
  /** From 0 to 1. */
  score: v.number(),
  center_x: v.number(),
  center_y: v.number(),
});

/** How the screen differs from a picture of it. */
export const DIFFERENCE = v.object({
  changed_pixels: v.number(),
  /** Of all pixels, from 0 to 1. */
  changed_share: v.number(),
  /** x1, y1, x2, y2 around all that changed. */
  changed_region: v.nullable(v.strictTuple([v.number(), v.number(), v.number(), v.number()])),
});

/** What a search found. */
export const LOCATED = v.object({
  /** The best first. */
  matches: v.array(HIT),
  /** Where there is none and it was asked for, the best of the others. */
  nearest: v.nullable(HIT),
  /** The region with a line around each, a PNG in base64; null unless it was asked for. */
  marked: v.nullable(v.string()),
});

export type Hit = v.InferOutput<typeof HIT>;
export type ImageMatches = v.InferOutput<typeof LOCATED>;
export type Difference = v.InferOutput<typeof DIFFERENCE>;

/** The answers of the calls that see. */
export const SEEING_ANSWERS = {
  locate: LOCATED,
  pixel: v.strictTuple([v.number(), v.number(), v.number()]),
  changedPixels: v.nullable(v.number()),
  endWait: NOTHING,
  difference: DIFFERENCE,
};

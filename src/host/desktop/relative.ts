/**
 * Places that are named from the corner of a window, or of something that was found: they stay right when it is elsewhere.
 */
import * as v from "valibot";
import { field } from "../../core/fields";
import type { RunContext } from "../../core/run";
import { badInput, unavailable } from "../../lib/errors";
import type { Requester } from "../../lib/slots";
import type { Place, Target } from "./backend";
import type { Desktop } from "./desktop";
import { pointAt } from "./elements/cover";
import { COORDINATE } from "./operations/input-operation";
import { findWindow } from "./windows";

type Calls = Pick<Desktop, "windows" | "monitors">;

const PLACE = v.looseObject({ x: COORDINATE, y: COORDINATE });
/** An element that was found by name: its window has to be in front where the pointer acts on it. */
const ELEMENT = v.looseObject({
  bounds: v.tuple([COORDINATE, COORDINATE, v.number(), v.number()]),
  process_id: v.nullable(v.number()),
  window_title: v.string(),
});

/**
 * What places are relative to. It is the last field of each command: scripts give the others by position. The schema is as short as it can
 * be, as the list of tools for agents has it often.
 */
export const RELATIVE_TO = {
  relative_to: field(
    v.optional(
      v.pipe(
        v.union([v.string(), v.number(), v.record(v.string(), v.unknown())]),
        v.check(
          (given) =>
            typeof given === "string"
              ? given !== ""
              : typeof given === "number" || v.is(PLACE, given) || v.is(ELEMENT, given),
          "part of the title of a window, its hwnd, an object with x and y, or an element with its bounds",
        ),
      ),
    ),
    "What coordinates count from: a window (title or hwnd), or what was found",
  ),
} as const;

export type RelativeTo = v.InferOutput<typeof RELATIVE_TO.relative_to>;

/** Where it is; a width of 0 is not known. @throws `not_found` for a window that is not there; `unavailable` where the platform does not say where it is. */
async function boxOf(
  desktop: Calls,
  relative: NonNullable<RelativeTo>,
  requester: Requester,
): Promise<Place> {
  if (typeof relative === "object") {
    if (!v.is(PLACE, relative)) {
      const [x, y, width, height] = v.parse(ELEMENT, relative).bounds;
      return { x, y, width, height };
    }
    const side = (value: unknown) => (typeof value === "number" && value > 0 ? value : 0);
    const { x, y, width, height } = v.parse(PLACE, relative);
    return { x, y, width: side(width), height: side(height) };
  }
  const query = typeof relative === "string" ? { title_substring: relative } : { hwnd: relative };
  const { x, y, width, height } = await findWindow(desktop, { ...query, case_sensitive: false }, requester);
  if (x === null || y === null)
    throw unavailable("relative_to: the platform does not say where the window is");
  return { x, y, width: width ?? 0, height: height ?? 0 };
}

/**
 * A place on the screen.
 *
 * @param place as it was given; without a column and a row, the middle of what it is relative to.
 */
export async function placeOn<P extends { readonly x?: number | undefined; readonly y?: number | undefined }>(
  desktop: Calls,
  { relative_to, ...place }: P & { readonly relative_to?: RelativeTo },
  requester: Requester,
): Promise<Omit<P, "relative_to">> {
  if (relative_to === undefined) return place;
  const { x, y, width, height } = await boxOf(desktop, relative_to, requester);
  const isMiddle = place.x === undefined && place.y === undefined;
  if (!isMiddle && (place.x === undefined || place.y === undefined))
    throw badInput("relative_to: expected both x and y with it, or neither");
  const from = { x: place.x ?? Math.floor(width / 2), y: place.y ?? Math.floor(height / 2) };
  return { ...place, x: x + from.x, y: y + from.y };
}

/**
 * Before the pointer acts at `place`: where that counts from an element, the pointer is there then, and no window of another program covers
 * it. Nothing else is moved or raised.
 *
 * @throws as {@link pointAt}.
 */
export async function reach(
  desktop: Parameters<typeof pointAt>[0],
  { x, y }: Target,
  relative: RelativeTo,
  requester: Requester,
  run: RunContext | undefined,
): Promise<void> {
  if (x === undefined || y === undefined || v.is(PLACE, relative) || !v.is(ELEMENT, relative)) return;
  await pointAt(desktop, relative, { x, y }, requester, run);
}

/** The corners of a region of the screen; without one, all of what it is relative to that is on the screen. */
export async function cornersOn<W extends { readonly region?: Corners | undefined }>(
  desktop: Calls,
  { relative_to, ...where }: W & { readonly relative_to?: RelativeTo },
  requester: Requester,
): Promise<Omit<W, "relative_to">> {
  if (relative_to === undefined) return where;
  const { x, y, width, height } = await boxOf(desktop, relative_to, requester);
  if (where.region) {
    const [x1, y1, x2, y2] = where.region;
    return { ...where, region: [x + x1, y + y1, x + x2, y + y2] };
  }
  if (width === 0 || height === 0) throw badInput("relative_to: expected a region with it: it has no size");
  const all = await desktop.monitors(requester);
  const region: Corners = [
    Math.max(x, Math.min(...all.map(({ x1 }) => x1))),
    Math.max(y, Math.min(...all.map(({ y1 }) => y1))),
    Math.min(x + width, Math.max(...all.map(({ x2 }) => x2))),
    Math.min(y + height, Math.max(...all.map(({ y2 }) => y2))),
  ];
  if (region[0] >= region[2] || region[1] >= region[3])
    throw badInput("relative_to: it is not on the screen");
  return { ...where, region };
}

type Corners = readonly [x1: number, y1: number, x2: number, y2: number];

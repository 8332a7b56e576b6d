/**
 * What of the screen the black box leaves black, and which windows it may name.
 *
 * Promise: a window that is left out is in no picture and no text, nor are its menus, tips and dialogs. Where windows cannot be listed, or
 * one that is left out has no known place, or its menus and dialogs are not known, all of the screen is black.
 */
import { messageOf } from "../../../../lib/errors";
import type { Place } from "../../backend";
import type { Rect } from "../../geometry";
import type { ShownWindow, WindowWatch } from "../../shown-windows";
import type { BoxedWindow } from "./entries";
import type { IsExcluded } from "./exclusion";

/** How long a place stays black after its window has left it, in milliseconds: what is below may be drawn anew a little later. */
const LINGER_MS = 2_000;
/** How often titles are asked for where no window is left out, in milliseconds. */
const TITLES_MS = 2_000;

const NO_PLACE = "the place of a window that is left out is not known";
const NO_MENUS = "this display does not tell the menus and dialogs of a window that is left out";

/** What holds for pictures that were taken before it was asked for. */
export interface Veil {
  /** What is black. */
  readonly areas: readonly Rect[] | "all";
  /** Why all of it is; null where it is not. */
  readonly dark: string | null;
  /** The windows that may be named. */
  readonly windows: readonly BoxedWindow[];
  /** Whether a window is left out that was not until now: it may be in the pictures of just before. */
  readonly isNew: boolean;
  /** Whether a window that is left out is elsewhere than before: what was taken meanwhile may show it at a place of between. */
  readonly hasMoved: boolean;
  /** Whether some of it is black only for a while. */
  readonly isLingering: boolean;
}

/** Asks for the veil of now. */
export interface Veils {
  look(): Promise<Veil>;
  close(): void;
}

interface VeilParts {
  readonly watch: WindowWatch;
  readonly isExcluded: IsExcluded;
  /** Whether any window may be left out. */
  readonly hasPatterns: boolean;
  /** The pixels of a place. */
  areaOf(place: Place): Rect;
}

export function createVeils({ watch, isExcluded, hasPatterns, areaOf }: VeilParts): Veils {
  const titles = hasPatterns ? undefined : createTitles(watch);
  let isListed = false;
  let left: ReadonlySet<number> = new Set();
  let areas: readonly Rect[] | "all" = [];
  let windows: readonly BoxedWindow[] = [];
  let before: Array<{ readonly area: Rect; readonly until: number }> = [];

  let dark = "";
  let shownAt = "";

  const list = async (): Promise<Pick<Veil, "isNew" | "hasMoved">> => {
    const all = await watch.list();
    const out = leftOut(all, isExcluded, watch.knowsMenus);
    const places = [...out].flatMap(({ place }) => (place === undefined ? [] : [place]));
    const isNew = [...out].some((one) => isNamed(one) && !left.has(one.id));
    linger();
    const isKnown = places.length === 0 || watch.knowsMenus;
    areas = isKnown && places.every((place) => place !== null) ? places.map(areaOf) : "all";
    dark = isKnown ? NO_PLACE : NO_MENUS;
    const at = JSON.stringify([...out].map(({ id, place }) => [id, place]));
    const hasMoved = shownAt !== "" && at !== shownAt;
    shownAt = at;
    left = new Set([...out].map(({ id }) => id));
    windows = all.flatMap((one) => (out.has(one) || one.title === "" ? [] : [boxed(one)]));
    isListed = true;
    return { isNew, hasMoved };
  };
  const linger = () => {
    if (areas === "all") return;
    const until = performance.now() + LINGER_MS;
    before.push(...areas.map((area) => ({ area, until })));
  };
  return {
    async look() {
      const same = { isNew: false, hasMoved: false };
      const none = { ...same, isLingering: false };
      if (titles) return { areas: [], dark: null, windows: await titles(), ...none };
      try {
        const what = !isListed || (await watch.changed()) ? await list() : same;
        const now = performance.now();
        before = before.filter(({ until }) => until > now);
        const black = areas === "all" ? areas : [...areas, ...before.map(({ area }) => area)];
        return {
          areas: black,
          dark: areas === "all" ? dark : null,
          windows,
          ...what,
          isLingering: before.length > 0,
        };
      } catch (error) {
        isListed = false;
        const why = `the windows cannot be listed: ${messageOf(error)}`;
        return { areas: "all", dark: why, windows: [], ...none };
      }
    },
    close: () => watch.close(),
  };
}

/** The titles of the windows, no older than {@link TITLES_MS} where they change. */
function createTitles(watch: WindowWatch): () => Promise<readonly BoxedWindow[]> {
  let at = Number.NEGATIVE_INFINITY;
  let windows: readonly BoxedWindow[] = [];
  return async () => {
    const now = performance.now();
    if (now - at < TITLES_MS) return windows;
    try {
      const isFirst = at === Number.NEGATIVE_INFINITY;
      at = now;
      if (isFirst || (await watch.changed()))
        windows = (await watch.list()).filter(({ title }) => title !== "").map(boxed);
    } catch {
      // Without a list there are pictures and no titles.
      windows = [];
    }
    return windows;
  };
}

const boxed = ({ title, program, focused }: ShownWindow): BoxedWindow => ({ title, program, focused });

const isNamed = ({ title, program }: ShownWindow) => title !== "" || program !== null;

/**
 * The windows that are left out: with their dialogs, and the menus and tips of the same program; where these are not known, with all windows
 * of it.
 */
function leftOut(
  all: readonly ShownWindow[],
  isExcluded: IsExcluded,
  knowsMenus: boolean,
): ReadonlySet<ShownWindow> {
  const out = new Set(all.filter((one) => isNamed(one) && isExcluded(one)));
  const owners = new Set([...out].flatMap((one) => one.owners));
  const ids = new Set([...out].map(({ id }) => id));
  for (let size = -1; size !== out.size; ) {
    size = out.size;
    for (const one of all) {
      const isDialog = one.dialogOf !== null && ids.has(one.dialogOf);
      const isMenu = (!knowsMenus || !isNamed(one)) && one.owners.some((owner) => owners.has(owner));
      if (!isDialog && !isMenu) continue;
      out.add(one);
      ids.add(one.id);
    }
  }
  return out;
}

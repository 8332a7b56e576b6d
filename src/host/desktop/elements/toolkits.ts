/**
 * What some toolkits say otherwise than the rest, mended: {@link gtk4}, and places in larger units of a program that is drawn at twice
 * its size (GTK 3, Qt, windows of Chromium).
 */
import type { Rect } from "../geometry";
import { type Accessibles, pidOf } from "./accessible";
import { APPLICATION, type Bus, rootOf } from "./bus";
import { gtk4 } from "./gtk4";
import { NoSuchThing, type Ref } from "./ref";
import type { XWindow, XWindows } from "./x-windows";

/** Questions to elements as `ask` has them, with what their toolkits say otherwise mended. */
export function mended(bus: Bus, ask: Accessibles, windows: XWindows): Accessibles {
  const pids = remembered((name: string) => pidOf(bus, name));
  const ownWindows = async (name: string): Promise<readonly XWindow[]> => {
    const [all, pid] = await Promise.all([windows.list(), pids(name)]);
    return pid === null ? [] : all.filter((one) => one.pid === pid);
  };
  const kits = remembered((name: string) => toolkitOf(bus, name));
  const usual = scaled(ask, ownWindows, async (name) => (await kits(name)) === "Chromium");
  const special = gtk4(ask, windows, ownWindows);
  const of = async ({ bus: name }: Ref) => ((await kits(name)) === "GTK 4" ? special : usual);
  return {
    ...ask,
    role: async (ref) => (await of(ref)).role(ref),
    name: async (ref) => (await of(ref)).name(ref),
    children: async (ref) => (await of(ref)).children(ref),
    states: async (ref) => (await of(ref)).states(ref),
    bounds: async (ref) => (await of(ref)).bounds(ref),
    atPoint: async (ref, x, y) => (await of(ref)).atPoint(ref, x, y),
  };
}

/** The most answers that are remembered: of names that come and go. */
const MAX_REMEMBERED = 500;

/** Asks once for each name; what failed is asked again. */
function remembered<T>(ask: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (name) => {
    const before = known.get(name);
    if (before) return before;
    if (known.size >= MAX_REMEMBERED) known.clear();
    const asked = ask(name);
    known.set(name, asked);
    asked.catch(() => known.delete(name));
    return asked;
  };
}

/** The toolkits that say something otherwise. */
type Toolkit = "GTK 4" | "Chromium" | "another";

async function toolkitOf(bus: Bus, name: string): Promise<Toolkit> {
  try {
    const [kit, version] = await Promise.all(
      ["ToolkitName", "Version"].map((one) => bus.get(rootOf(name), APPLICATION, one)),
    );
    if (kit === "GTK" && String(version).startsWith("4.")) return "GTK 4";
    return kit === "Chromium" ? "Chromium" : "another";
  } catch (error) {
    if (error instanceof NoSuchThing) return "another";
    throw error;
  }
}

/** How long a scale counts, in milliseconds, where no window has shown it, and where one has. */
const UNSURE_MS = 1_000;
const SURE_MS = 30_000;

/** AT-SPI's role of a page in a browser (atspi-constants.h, ATSPI_ROLE_DOCUMENT_WEB), and how far above an element it is looked for. */
const DOCUMENT_WEB = 95;
const MAX_DEPTH = 100;

/**
 * Places in pixels, of programs that say them in units of their own.
 *
 * @param hasPages whether a program says places within pages in pixels, whatever it does with its windows (seen in Chromium 156).
 */
function scaled(
  ask: Accessibles,
  ownWindows: (name: string) => Promise<readonly XWindow[]>,
  hasPages: (name: string) => Promise<boolean>,
): Accessibles {
  const known = new Map<string, { readonly until: number; readonly scale: Promise<number | undefined> }>();
  /** A window of Java does not say where it is; the pane that fills it does. */
  const placeOfTop = async (top: Ref): Promise<Rect | undefined> => {
    const own = await ask.bounds(top);
    const [pane] = own ? [] : await ask.children(top);
    return own ?? (pane && ask.bounds(pane));
  };
  const measure = async (name: string): Promise<number | undefined> => {
    const drawn = await ownWindows(name);
    if (drawn.length === 0) return undefined;
    const tops = await ask.children(rootOf(name));
    const places = await Promise.all(tops.slice(0, 20).map(placeOfTop));
    const scales = places.flatMap((place) => (place ? drawn.map((one) => scaleBetween(place, one)) : []));
    // A window that is as large as it says settles it.
    return scales.includes(1) ? 1 : scales.find((scale) => scale !== undefined);
  };
  const scaleOf = async (name: string): Promise<number> => {
    const before = known.get(name);
    if (before && before.until > performance.now()) return (await before.scale) ?? 1;
    if (known.size >= MAX_REMEMBERED) known.clear();
    const scale = measure(name).catch(() => undefined);
    known.set(name, { until: performance.now() + UNSURE_MS, scale });
    const found = await scale;
    if (found !== undefined) known.set(name, { until: performance.now() + SURE_MS, scale });
    return found ?? 1;
  };
  const isInPage = async (ref: Ref): Promise<boolean> => {
    let at: Ref | undefined = ref;
    for (let depth = 0; at && depth < MAX_DEPTH; depth++) {
      if ((await ask.role(at)) === DOCUMENT_WEB) return true;
      at = await ask.parent(at);
    }
    return false;
  };
  const scaleAt = async (ref: Ref): Promise<number> => {
    const scale = await scaleOf(ref.bus);
    return scale === 1 || !(await hasPages(ref.bus)) || !(await isInPage(ref)) ? scale : 1;
  };
  return {
    ...ask,
    async bounds(ref) {
      const [place, scale] = await Promise.all([ask.bounds(ref), scaleAt(ref)]);
      return place && times(place, scale);
    },
    async atPoint(ref, x, y) {
      const scale = await scaleAt(ref);
      return ask.atPoint(ref, Math.floor(x / scale), Math.floor(y / scale));
    },
  };
}

const times = ({ x, y, width, height }: Rect, scale: number): Rect =>
  scale === 1
    ? { x, y, width, height }
    : {
        x: Math.round(x * scale),
        y: Math.round(y * scale),
        width: Math.round(width * scale),
        height: Math.round(height * scale),
      };

/** How many pixels the frame of a window manager, which some count in, may make a window wider and higher. */
const MAX_BORDER = 24;
const MAX_TITLE = 80;
const MAX_SCALE = 4;

/** By how much a window is larger than its element says, in quarters; undefined where it is another window. */
export function scaleBetween(place: Rect, drawn: Rect): number | undefined {
  const scale = Math.round((4 * drawn.width) / place.width) / 4;
  if (scale < 1 || scale > MAX_SCALE) return undefined;
  const apart = (side: "x" | "y" | "width" | "height") => Math.abs(place[side] * scale - drawn[side]);
  const fits =
    apart("width") <= MAX_BORDER * scale &&
    apart("x") <= MAX_BORDER * scale &&
    apart("height") <= MAX_TITLE * scale &&
    apart("y") <= MAX_TITLE * scale;
  return fits ? scale : undefined;
}

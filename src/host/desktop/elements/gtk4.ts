/**
 * What GTK 4 says otherwise than the rest (seen in 4.8): places are relative to the window, only windows are "showing", what has no name
 * is named by its class (`GtkMenuButton`), names are doubled (`4 4`, `_Retry Retry`), and a menu button has the button that is pressed in it.
 */
import type { Rect } from "../geometry";
import type { Accessibles } from "./accessible";
import type { Ref } from "./ref";
import { STATE } from "./said";
import type { XWindow, XWindows } from "./x-windows";

const PANEL = 39;
const TEXTS: ReadonlySet<number> = new Set([29, 116]);
const BUTTONS: ReadonlySet<number> = new Set([43, 62]);
const WINDOWS: ReadonlySet<number> = new Set([2, 16, 23, 69, 75]);
/** What the label in it names: boxes, buttons, items, tabs. */
const NAMED_BY_LABEL: ReadonlySet<number> = new Set([7, 8, 35, 37, 43, 44, 45, 62, 129, 130]);
/** How many elements are looked through for a label. */
const MAX_PARTS = 20;
/** How long the place of a window counts, in milliseconds: a search asks for hundreds of places. */
const FRESH_MS = 100;
const MAX_FRAMES = 200;
/** How many parents are remembered. */
const MAX_REMEMBERED = 20_000;
/** How far an element may be below its window. */
const MAX_DEEP = 80;

interface Frame {
  readonly place?: Rect | undefined;
  /** Undefined where no window on the screen fits. */
  readonly drawn?: XWindow | undefined;
}

/** The name of a class, as GTK has it for what has no name. */
const isClass = (name: string) => /^[A-Z]\w*[a-z\d][A-Z]\w*$/.test(name);

/** A name once where it is there twice, the first time with the mark of its key. */
export function single(name: string): string {
  for (let at = name.indexOf(" "); at >= 0; at = name.indexOf(" ", at + 1)) {
    const half = name.slice(at + 1);
    if (name.slice(0, at).replace("_", "") === half) return half;
  }
  return name;
}

/** @param windowsOf the windows of a program, by its name on the bus. */
export function gtk4(
  ask: Accessibles,
  windows: XWindows,
  windowsOf: (name: string) => Promise<readonly XWindow[]>,
): Accessibles {
  const family = familyOf(ask);
  const words = wordsOf(ask, family);
  return { ...ask, ...words, ...places(ask, family, windows, windowsOf) };
}

/** What is in an element, and what it is in. */
interface Family {
  children(ref: Ref): Promise<Ref[]>;
  /** The elements around one, the nearest first: its window is the last. */
  around(ref: Ref): Promise<Ref[]>;
}

const keyOf = ({ bus, path }: Ref) => `${bus}${path}`;

function familyOf(ask: Accessibles): Family {
  const parents = new Map<string, Ref>();
  return {
    async children(ref) {
      const children = await ask.children(ref);
      if (parents.size > MAX_REMEMBERED) parents.clear();
      for (const child of children) parents.set(keyOf(child), ref);
      return children;
    },
    async around(ref) {
      const found: Ref[] = [];
      for (let at: Ref | undefined = ref; at && found.length < MAX_DEEP; ) {
        const parent: Ref | undefined = parents.get(keyOf(at)) ?? (await ask.parent(at));
        if (!parent || parent.path.endsWith("/root")) break;
        found.push(parent);
        at = parent;
      }
      return found;
    },
  };
}

/** Roles and names, and the children that say something of their own. */
function wordsOf(ask: Accessibles, family: Family): Pick<Accessibles, "role" | "name" | "children"> {
  /** The text of the first label in an element. */
  const labelIn = async (ref: Ref): Promise<string> => {
    let level = await family.children(ref);
    for (let seen = level.length; level.length > 0 && seen <= MAX_PARTS; seen += level.length) {
      const roles = await Promise.all(level.map((one) => ask.role(one)));
      const label = level.find((_, nth) => TEXTS.has(roles[nth] ?? 0));
      if (label) return ask.name(label);
      level = (await Promise.all(level.map((one) => family.children(one)))).flat();
    }
    return "";
  };
  /** A menu button, which cannot have the focus itself: the button in it is what is pressed. */
  const isWrapper = async (ref: Ref, role: number): Promise<boolean> => {
    if (!BUTTONS.has(role) || (await ask.states(ref))(STATE.focusable)) return false;
    const inside = await Promise.all((await family.children(ref)).map((one) => ask.role(one)));
    return inside.some((one) => BUTTONS.has(one));
  };
  const nameAs = async (ref: Ref, role: number): Promise<string> => {
    const [name, isOuter] = await Promise.all([ask.name(ref), isWrapper(ref, role)]);
    if (isOuter) return "";
    if (TEXTS.has(role)) return name;
    if (WINDOWS.has(role)) return /^(?:Gtk|Adw)[A-Z]/.test(name) && isClass(name) ? "" : name;
    if (!isClass(name)) return single(name);
    return NAMED_BY_LABEL.has(role) ? labelIn(ref) : "";
  };
  return {
    async role(ref) {
      const role = await ask.role(ref);
      return (await isWrapper(ref, role)) ? PANEL : role;
    },
    name: async (ref) => nameAs(ref, await ask.role(ref)),
    async children(ref) {
      const children = await family.children(ref);
      const role = children.length === 0 ? 0 : await ask.role(ref);
      if (!NAMED_BY_LABEL.has(role) || (await isWrapper(ref, role))) return children;
      // A label that says what its button is called is no other element.
      const [name, label] = await Promise.all([nameAs(ref, role), labelIn(ref)]);
      return label === "" || label === name ? [] : children;
    },
  };
}

/** Places on the screen, and what shows. */
function places(
  ask: Accessibles,
  family: Family,
  windows: XWindows,
  windowsOf: (name: string) => Promise<readonly XWindow[]>,
): Pick<Accessibles, "states" | "bounds" | "atPoint"> {
  const frameOf = frames(ask, windowsOf);
  const popups = async () => (await windows.list()).filter(({ isPopup }) => isPopup);
  /** Whether something is in what is a window of its own on the screen. */
  const isInPopup = async (outer: readonly Ref[]) => {
    const all = await popups();
    const around = all.length > 0 ? await Promise.all(outer.map((one) => ask.bounds(one))) : [];
    return around.some(
      (place) => place && all.some((one) => isAsLarge(one, place, Math.round(one.width / place.width))),
    );
  };
  return {
    async bounds(ref) {
      const [own, outer] = await Promise.all([ask.bounds(ref), family.around(ref)]);
      const { place: frame, drawn } = await frameOf(outer.at(-1) ?? ref);
      if (!own || !frame || !drawn) return undefined;
      const scale = scaleOf(drawn, frame);
      const menus = (await popups()).filter(({ client }) => client === drawn.client);
      for (const one of menus.length > 0 ? [ref, ...outer.slice(0, -1)] : []) {
        const part = await ask.bounds(one);
        const menu = part && menus.find((window) => isAsLarge(window, part, scale));
        if (menu) return moved(own, part, menu, scale);
      }
      const { left, top } = drawn.shadow ?? {
        left: (drawn.width - frame.width * scale) / 2,
        top: (drawn.height - frame.height * scale) / 2,
      };
      return moved(own, frame, { x: drawn.x + left, y: drawn.y + top }, scale);
    },
    /** What is drawn shows, though GTK says so of windows alone. */
    async states(ref) {
      const has = await ask.states(ref);
      if (!has(STATE.visible) || has(STATE.showing)) return has;
      const [own, outer] = await Promise.all([ask.bounds(ref), family.around(ref)]);
      const top = outer.at(-1);
      const { place: frame } = top ? await frameOf(top) : {};
      const isDrawn = own && (frame === undefined || overlap(own, frame) || (await isInPopup(outer)));
      return (state) => {
        if (state === STATE.showing) return isDrawn === true;
        return state === STATE.visible ? own !== undefined : has(state);
      };
    },
    // It takes the place for one in the window.
    atPoint: async () => undefined,
  };
}

/** Windows as GTK says they are, and as they are on the screen; each counts for a moment. */
function frames(ask: Accessibles, windowsOf: (name: string) => Promise<readonly XWindow[]>) {
  const measure = async (top: Ref): Promise<Frame> => {
    const [title, place, own] = await Promise.all([ask.name(top), ask.bounds(top), windowsOf(top.bus)]);
    const isIt = (one: XWindow) => place && !one.isPopup && one.title === title && scaleOf(one, place) > 0;
    return { place, drawn: own.find(isIt) };
  };
  const known = new Map<string, { readonly at: number; readonly frame: Promise<Frame> }>();
  return async (top: Ref): Promise<Frame> => {
    const before = known.get(keyOf(top));
    if (before && performance.now() - before.at < FRESH_MS) return before.frame;
    if (known.size > MAX_FRAMES) known.clear();
    const frame = measure(top);
    known.set(keyOf(top), { at: performance.now(), frame });
    return frame;
  };
}

/** How wide a shadow may be, in the units of the program. */
const MAX_SHADOW = 100;

/** How many pixels a unit of the program is: GTK 4 knows whole numbers; 0 where it is another window. */
function scaleOf(drawn: XWindow, frame: Rect): number {
  const scale = Math.max(1, Math.floor(drawn.width / frame.width));
  const [wide, high] = [drawn.width / scale - frame.width, drawn.height / scale - frame.height];
  return wide >= -1 && high >= -1 && wide <= 2 * MAX_SHADOW && high <= 2 * MAX_SHADOW ? scale : 0;
}

const isAsLarge = (window: XWindow, { width, height }: Rect, scale: number) =>
  Math.abs(window.width - width * scale) <= scale && Math.abs(window.height - height * scale) <= scale;

/** A place that is relative to `from`, which is drawn at `to`. */
const moved = (
  own: Rect,
  from: Rect,
  to: { readonly x: number; readonly y: number },
  scale: number,
): Rect => ({
  x: Math.round(to.x + (own.x - from.x) * scale),
  y: Math.round(to.y + (own.y - from.y) * scale),
  width: own.width * scale,
  height: own.height * scale,
});

const overlap = (one: Rect, other: Rect) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

/**
 * What the windows of an X server say of themselves, and its window manager of them: Extended Window Manager Hints 1.5 and
 * ICCCM 2.0. Without a window manager, the window tree says which windows there are.
 */
import type { XProperty } from "x11";
import type { Rect } from "../geometry";
import type { XConnection } from "./connection";

const ANY_TYPE = 0;
/** Properties are read up to this many 4-byte units: 64 KiB. */
const PROPERTY_UNITS = 16_384;
/** Map state of a window that is shown (X11/X.h). */
export const IS_VIEWABLE = 2;
/** `_NET_WM_DESKTOP` of a window that is on every desktop (EWMH). */
const ALL_DESKTOPS = 0xffff_ffff;

/** What can be asked of the windows of a server; `id` is that of a window. */
export interface WindowProperties {
  atom(name: string): Promise<number>;
  /** Undefined when it is not set. */
  propertyOf(id: number, name: string): Promise<XProperty | undefined>;
  /** The numbers (or ids, or atoms) in a property of a window; undefined when it is not set. */
  numbersOf(id: number, name: string): Promise<number[] | undefined>;
  /** Those of a property of the root. */
  rootIds(name: string): Promise<number[] | undefined>;
  /** Whether a window manager runs: the properties of one that has ended stay on the root (EWMH, _NET_SUPPORTING_WM_CHECK). */
  isManaged(): Promise<boolean>;
  /** The windows of programs: as the window manager lists them, else as they are on the root. */
  listed(): Promise<readonly number[]>;
  /**
   * `_NET_WM_NAME`, else the window manager's version of the name, else `WM_NAME`, which may be compound text (ICCCM
   * 4.1.2.1).
   */
  titleOf(id: number): Promise<string>;
  /** The number of the desktop that a window is on, from 0; undefined for all of them, and without a window manager. */
  desktopOf(id: number): Promise<number | undefined>;
  /** The program of a window: the second part of `WM_CLASS`, an instance and a class (ICCCM 4.1.2.5). */
  classOf(id: number): Promise<string | undefined>;
  /** The windows that have the focus: the one to which keys go, and those around it. */
  focused(): Promise<ReadonlySet<number>>;
}

/** Where a window is on the screen, without its border; undefined for one that has gone. */
export async function rectOf({ ask, screen }: XConnection, id: number): Promise<Rect | undefined> {
  const [size, corner] = await Promise.all([
    ask.GetGeometry(id),
    ask.TranslateCoordinates(id, screen.root, 0, 0),
  ]);
  return size && corner && { x: corner.destX, y: corner.destY, width: size.width, height: size.height };
}

export function windowProperties({ screen, ask, need }: XConnection): WindowProperties {
  const atom = (name: string) => need.InternAtom(false, name);

  const propertyOf = async (id: number, name: string): Promise<XProperty | undefined> => {
    const found = await ask.GetProperty(0, id, await atom(name), ANY_TYPE, 0, PROPERTY_UNITS);
    return found?.type ? found : undefined;
  };

  const numbersOf = async (id: number, name: string) => {
    const property = await propertyOf(id, name);
    if (property?.format !== 32) return undefined;
    const { data } = property;
    return Array.from({ length: data.length / 4 }, (_, n) => data.readUInt32LE(n * 4));
  };
  const rootIds = (name: string) => numbersOf(screen.root, name);

  const isManaged = async () => {
    const [proof] = (await rootIds("_NET_SUPPORTING_WM_CHECK")) ?? [];
    if (proof === undefined) return false;
    return (await numbersOf(proof, "_NET_SUPPORTING_WM_CHECK"))?.[0] === proof;
  };

  const listed = async () =>
    ((await isManaged()) ? await rootIds("_NET_CLIENT_LIST") : undefined) ?? unmanaged();

  /** Windows on the root that are shown, without menus and the like. */
  const unmanaged = async () => {
    const tree = await ask.QueryTree(screen.root);
    const shown = await Promise.all(
      (tree?.children ?? []).map(async (id) => {
        const found = await ask.GetWindowAttributes(id);
        return found?.mapState === IS_VIEWABLE && found.overrideRedirect === 0 ? [id] : [];
      }),
    );
    return shown.flat();
  };

  const titleOf = async (id: number) => {
    for (const name of ["_NET_WM_NAME", "_NET_WM_VISIBLE_NAME"]) {
      const modern = await propertyOf(id, name);
      if (modern) return modern.data.toString("utf8");
    }
    const classic = await propertyOf(id, "WM_NAME");
    if (!classic) return "";
    if (classic.type === (await atom("UTF8_STRING"))) return classic.data.toString("utf8");
    return fromCompoundText(classic.data.toString("latin1"));
  };

  const desktopOf = async (id: number) => {
    const [own] = (await numbersOf(id, "_NET_WM_DESKTOP")) ?? [];
    return own === ALL_DESKTOPS ? undefined : own;
  };

  const classOf = async (id: number) => {
    const [, program] = (await propertyOf(id, "WM_CLASS"))?.data.toString("latin1").split("\0") ?? [];
    return program || undefined;
  };

  const focused = async () => {
    const ids = new Set<number>();
    const focus = await ask.GetInputFocus();
    // 0 and 1 are no window and the pointer's root (X11/X.h: None, PointerRoot).
    for (let id = focus?.focus ?? 0; id > 1 && id !== screen.root; ) {
      ids.add(id);
      id = (await ask.QueryTree(id))?.parent ?? 0;
    }
    return ids;
  };

  return { atom, propertyOf, numbersOf, rootIds, isManaged, listed, titleOf, desktopOf, classOf, focused };
}

/**
 * Compound text (X Consortium standard, version 1.1.xf86.1): Latin-1 in which `ESC % G` begins and `ESC % @` ends a
 * stretch of UTF-8. The older encodings that it can switch to are not decoded.
 */
function fromCompoundText(text: string): string {
  return text.replaceAll(/\u001b%G([\s\S]*?)(?:\u001b%@|$)/g, (_, utf8: string) =>
    Buffer.from(utf8, "latin1").toString("utf8"),
  );
}

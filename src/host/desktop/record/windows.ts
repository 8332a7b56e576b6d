/**
 * The windows in which a person does something: which has the focus, and which is under the pointer.
 */
import type { Point, Region } from "../geometry";
import type { XConnection } from "../x11/connection";
import { rectOf, type WindowProperties } from "../x11/properties";
import { rootPlace } from "../x11/screen";
import type { SeenWindow } from "./script";

/** PropertyChangeMask (X11/X.h). */
const PROPERTY_CHANGE = 1 << 22;

/**
 * Follows which window has the focus: by the time that a click is read, the window manager may have given it to the window
 * that was clicked.
 *
 * @returns gives that window, as the window manager says; undefined without one, or when none has the focus.
 */
export async function followFocus({ client, need, screen }: XConnection, { rootIds }: WindowProperties) {
  const property = "_NET_ACTIVE_WINDOW";
  const wanted = await need.InternAtom(false, property);
  let focused: number | undefined;
  const ask = async () => {
    focused = (await rootIds(property))?.[0] || undefined;
  };
  client.on("event", ({ name, atom }) => {
    if (name === "PropertyNotify" && atom === wanted) ask().catch(() => {});
  });
  client.ChangeWindowAttributes(screen.root, { eventMask: PROPERTY_CHANGE });
  await ask();
  return () => focused;
}

/** A window, with its title as it is now. */
export const seenWindow = async ({ titleOf }: WindowProperties, hwnd: number): Promise<SeenWindow> => ({
  hwnd,
  title: await titleOf(hwnd),
});

/**
 * The window of a program that is under the pointer, undefined over a menu or the desktop, and what the picture of a place
 * must not go beyond: the window without its frame, which looks different when another window has the focus.
 */
export async function underPointer(
  connection: XConnection,
  windows: WindowProperties,
  { x, y }: Point,
): Promise<{ readonly window: SeenWindow | undefined; readonly around: Region }> {
  const { need, screen } = connection;
  const { child } = await need.QueryPointer(screen.root);
  const frame = child === 0 ? undefined : await placeOnRoot(connection, child);
  if (!frame) return { window: undefined, around: await rootPlace(connection) };
  const hwnd = await programIn(connection, windows, child);
  const inner = hwnd === undefined ? undefined : await placeOnRoot(connection, hwnd);
  const window = hwnd === undefined ? undefined : await seenWindow(windows, hwnd);
  const isInside = inner && x >= inner.x1 && x < inner.x2 && y >= inner.y1 && y < inner.y2;
  return { window, around: isInside ? inner : frame };
}

/** The window of a program that is `top`, which is on the root, or in it. */
async function programIn({ ask, screen }: XConnection, { listed }: WindowProperties, top: number) {
  for (const hwnd of await listed()) {
    for (let id = hwnd; id !== 0 && id !== screen.root; id = (await ask.QueryTree(id))?.parent ?? 0) {
      if (id === top) return hwnd;
    }
  }
  return undefined;
}

/** Where a window is, without its frame; undefined for one that has gone. */
export async function placeOnRoot(connection: XConnection, id: number): Promise<Region | undefined> {
  const at = await rectOf(connection, id);
  return at && { x1: at.x, y1: at.y, x2: at.x + at.width, y2: at.y + at.height };
}

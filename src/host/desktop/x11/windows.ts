/**
 * The windows of an X server: what each is, where it is and in which state.
 */
import { hostname } from "node:os";
import type { Backend, DesktopWindow, Place } from "../backend";
import { programOf } from "../program-name";
import { createArrange } from "./arrange";
import type { XConnection } from "./connection";
import { createFocus } from "./focus";
import { IS_VIEWABLE, type WindowProperties, windowProperties } from "./properties";

/** `WM_STATE` of a window that is minimised (ICCCM 4.1.3.1). */
const ICONIC = 3;

export function createWindows(
  connection: XConnection,
): Pick<Backend, "windows" | "focus" | "place" | "request"> {
  const properties = windowProperties(connection);
  const look = createLook(connection, properties);
  return {
    ...createFocus(connection, properties),
    ...createArrange(connection, properties, look),
    async windows() {
      const [ids, focused] = [await properties.listed(), await properties.focused()];
      const rows = await Promise.all(ids.map((hwnd) => rowOf(hwnd, focused)));
      return rows.filter((row) => row !== undefined);
    },
  };

  /** Undefined when it has been closed. */
  async function rowOf(hwnd: number, focused: ReadonlySet<number>): Promise<DesktopWindow | undefined> {
    const place = await look.placeOf(hwnd);
    if (!place) return undefined;
    const [title, desktop, pid, state] = await Promise.all([
      properties.titleOf(hwnd),
      properties.desktopOf(hwnd),
      pidOf(hwnd),
      look.stateOf(hwnd),
    ]);
    const process = (pid === null ? undefined : programOf(pid)) ?? (await properties.classOf(hwnd)) ?? null;
    return {
      hwnd,
      title,
      ...place,
      desktop: desktop ?? null,
      pid,
      process,
      state,
      focused: focused.has(hwnd),
    };
  }

  /** Null for a window of another machine: its process ids mean nothing here. */
  async function pidOf(hwnd: number) {
    const [pid] = (await properties.numbersOf(hwnd, "_NET_WM_PID")) ?? [];
    const machine = (await properties.propertyOf(hwnd, "WM_CLIENT_MACHINE"))?.data.toString("latin1");
    const isHere = machine === undefined || machine.replace(/\0+$/, "") === hostname();
    return pid && isHere ? pid : null;
  }
}

/** Where a window is, and in which state. */
export interface WindowLook {
  /**
   * How far its outline reaches beyond its own rectangle: its border and the frame around it, less the shadow that it draws
   * inside (`_GTK_FRAME_EXTENTS`).
   */
  marginOf(hwnd: number): Promise<Record<"left" | "right" | "top" | "bottom", number>>;
  /** Undefined when it has been closed. */
  placeOf(hwnd: number): Promise<Place | undefined>;
  stateOf(hwnd: number): Promise<DesktopWindow["state"]>;
}

function createLook({ screen, ask }: XConnection, { atom, numbersOf }: WindowProperties): WindowLook {
  const marginOf = async (hwnd: number) => {
    const [geometry, frame = [], shadow = []] = await Promise.all([
      ask.GetGeometry(hwnd),
      numbersOf(hwnd, "_NET_FRAME_EXTENTS"),
      numbersOf(hwnd, "_GTK_FRAME_EXTENTS"),
    ]);
    const side = (nth: number) => (geometry?.borderWidth ?? 0) + (frame[nth] ?? 0) - (shadow[nth] ?? 0);
    return { left: side(0), right: side(1), top: side(2), bottom: side(3) };
  };
  return {
    marginOf,
    async placeOf(hwnd) {
      const [size, corner, { left, right, top, bottom }] = await Promise.all([
        ask.GetGeometry(hwnd),
        ask.TranslateCoordinates(hwnd, screen.root, 0, 0),
        marginOf(hwnd),
      ]);
      if (!size || !corner) return undefined;
      return {
        x: corner.destX - left,
        y: corner.destY - top,
        width: size.width + left + right,
        height: size.height + top + bottom,
      };
    },
    async stateOf(hwnd) {
      const states = new Set((await numbersOf(hwnd, "_NET_WM_STATE")) ?? []);
      const has = async (name: string) => states.has(await atom(`_NET_WM_STATE_${name}`));
      if (await has("HIDDEN")) return "minimized";
      const [iconic] = (await numbersOf(hwnd, "WM_STATE")) ?? [];
      if (iconic === ICONIC && (await ask.GetWindowAttributes(hwnd))?.mapState !== IS_VIEWABLE)
        return "minimized";
      if (await has("FULLSCREEN")) return "fullscreen";
      return (await has("MAXIMIZED_VERT")) && (await has("MAXIMIZED_HORZ")) ? "maximized" : "normal";
    },
  };
}

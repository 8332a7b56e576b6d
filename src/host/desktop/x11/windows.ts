/**
 * The windows of an X server: what each is, where it is and in which state.
 */
import { hostname } from "node:os";
import type { Backend, DesktopWindow, Place, PointedWindow } from "../backend";
import { programOf } from "../program-name";
import { createArrange } from "./arrange";
import { clientProcesses } from "./clients";
import type { XConnection } from "./connection";
import { createFocus } from "./focus";
import { IS_VIEWABLE, rectOf, type WindowProperties, windowProperties } from "./properties";

/** `WM_STATE` of a window that is minimised (ICCCM 4.1.3.1). */
const ICONIC = 3;

export function createWindows(
  connection: XConnection,
): Pick<Backend, "windows" | "pointed" | "focus" | "place" | "request"> {
  const properties = windowProperties(connection);
  const look = createLook(connection, properties);
  const processOf = clientProcesses(connection);
  return {
    ...createFocus(connection, properties),
    ...createArrange(connection, properties, look),
    pointed: createPointed(connection, properties, pidOf),
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
    const machine = (await properties.propertyOf(hwnd, "WM_CLIENT_MACHINE"))?.data.toString("latin1");
    if (machine !== undefined && machine.replace(/\0+$/, "") !== hostname()) return null;
    const [claimed] = (await properties.numbersOf(hwnd, "_NET_WM_PID")) ?? [];
    return (await processOf(hwnd)) ?? (claimed || null);
  }
}

/** How deep the window of a program is in those of a window manager, and how many windows of a frame are looked at. */
const MAX_DEEP = 8;
const MAX_INSIDE = 100;

/** Says which window is under the pointer. The server knows it by the shape that takes clicks: what lets them through is not meant. */
function createPointed(
  { screen, ask }: XConnection,
  { listed, titleOf }: WindowProperties,
  pidOf: (hwnd: number) => Promise<number | null>,
): () => Promise<PointedWindow | undefined> {
  /** The windows of programs in a frame, where the pointer is on its border. */
  const inside = async (frame: number, known: ReadonlySet<number>, deep = 0): Promise<number | undefined> => {
    const children = ((await ask.QueryTree(frame))?.children ?? []).slice(-MAX_INSIDE);
    const found = children.find((id) => known.has(id));
    if (found !== undefined || deep === 1) return found;
    for (const child of children) {
      const deeper = await inside(child, known, deep + 1);
      if (deeper !== undefined) return deeper;
    }
    return undefined;
  };
  return async () => {
    const known = new Set(await listed());
    const chain: number[] = [];
    for (let at = screen.root; chain.length < MAX_DEEP; ) {
      at = (await ask.QueryPointer(at))?.child ?? 0;
      if (at === 0) break;
      chain.push(at);
      if (known.has(at)) break;
    }
    const [outermost, last] = [chain.at(0), chain.at(-1)];
    if (outermost === undefined || last === undefined) return undefined;
    const hwnd = known.has(last) ? last : ((await inside(outermost, known)) ?? outermost);
    return { hwnd, title: await titleOf(hwnd), pid: await pidOf(hwnd) };
  };
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

function createLook(connection: XConnection, { atom, numbersOf }: WindowProperties): WindowLook {
  const { ask } = connection;
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
      const [at, margin] = await Promise.all([rectOf(connection, hwnd), marginOf(hwnd)]);
      if (!at) return undefined;
      return {
        x: at.x - margin.left,
        y: at.y - margin.top,
        width: at.width + margin.left + margin.right,
        height: at.height + margin.top + margin.bottom,
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

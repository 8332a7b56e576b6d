/**
 * The windows of an X server as they are shown, menus and the like included, and when they change: on a connection of its own, which is
 * told by events, so that a screen on which only pixels change costs one round trip a look.
 */
import type { DesktopWindow, Place } from "../backend";
import type { ShownWindow, WindowWatch } from "../shown-windows";
import { connect, type XConnection } from "./connection";
import { IS_VIEWABLE, type WindowProperties, windowProperties } from "./properties";
import { createWindows } from "./windows";

/** StructureNotifyMask, SubstructureNotifyMask, PropertyChangeMask (X11/X.h). */
const [STRUCTURE, SUBSTRUCTURE, PROPERTIES] = [1 << 17, 1 << 19, 1 << 22];
/** The bits of an id that are the client's own: the others are the same for all of its windows. */
const OWN_BITS = 0x1f_ffff;
/** How deep the window of a program is in those of a window manager. */
const MAX_DEEP = 8;
/** How many menus and tips are looked at. */
const MAX_POPUPS = 500;
/** How often the list is made again, as windows that are new in it are watched from then on only. */
const MAX_LOOKS = 3;

/** The properties that say something else about the windows when they change. A key that is pressed changes others. */
const TELLING = [
  ...["_NET_CLIENT_LIST", "_NET_ACTIVE_WINDOW", "_NET_SUPPORTING_WM_CHECK"],
  ...["_NET_WM_NAME", "_NET_WM_VISIBLE_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_PID", "WM_TRANSIENT_FOR"],
  ...["_NET_WM_STATE", "WM_STATE", "_NET_FRAME_EXTENTS", "_GTK_FRAME_EXTENTS"],
];

/** @throws an `unavailable` failure where there is no X server. */
export async function watchX11Windows(env: NodeJS.ProcessEnv): Promise<WindowWatch> {
  const connection = await connect(env, () => {});
  const { client, screen, need } = connection;
  const properties = windowProperties(connection);
  const telling = new Set(await Promise.all(TELLING.map((name) => properties.atom(name))));
  const { windows } = createWindows(connection);
  const lookAt = createLook(connection, properties);
  let watched = new Set<number>();
  let isStale = true;

  client.on("event", (event) => {
    if (event.name !== "PropertyNotify" || telling.has(event.atom)) isStale = true;
  });
  client.ChangeWindowAttributes(screen.root, { eventMask: SUBSTRUCTURE | PROPERTIES });

  /** @returns whether some are new. */
  const watch = (ids: readonly number[]): boolean => {
    const added = ids.filter((id) => !watched.has(id));
    for (const id of added) client.ChangeWindowAttributes(id, { eventMask: STRUCTURE | PROPERTIES });
    watched = new Set(ids);
    return added.length > 0;
  };
  return {
    knowsMenus: true,
    async changed() {
      // The events of all that happened before come before this answer.
      await need.GetInputFocus();
      return isStale;
    },
    async list() {
      for (let nth = 1; ; nth++) {
        isStale = false;
        const listed = await windows();
        if (watch(listed.map(({ hwnd }) => hwnd)) && nth < MAX_LOOKS) continue;
        return [...(await Promise.all(listed.map(lookAt.window))), ...(await lookAt.popups(listed))];
      }
    },
    close: connection.close,
  };
}

const clientOf = (id: number) => `client ${id & ~OWN_BITS}`;

function createLook({ screen, ask }: XConnection, { numbersOf }: WindowProperties) {
  /** The window on the root that it is in: itself, or its frame. */
  const outermost = async (id: number): Promise<number> => {
    let inner = id;
    for (let deep = 0; deep < MAX_DEEP; deep++) {
      const parent = (await ask.QueryTree(inner))?.parent;
      if (parent === undefined || parent === 0 || parent === screen.root) break;
      inner = parent;
    }
    return inner;
  };
  const placeOf = async (id: number): Promise<Place | undefined> => {
    const [size, corner] = await Promise.all([
      ask.GetGeometry(id),
      ask.TranslateCoordinates(id, screen.root, 0, 0),
    ]);
    if (!size || !corner) return undefined;
    const border = size.borderWidth;
    return {
      x: corner.destX - border,
      y: corner.destY - border,
      width: size.width + 2 * border,
      height: size.height + 2 * border,
    };
  };
  return {
    async window({ hwnd, title, process, pid, focused, ...at }: DesktopWindow): Promise<ShownWindow> {
      const [looks, frame, dialogOf] = await Promise.all([
        ask.GetWindowAttributes(hwnd),
        outermost(hwnd).then(placeOf),
        numbersOf(hwnd, "WM_TRANSIENT_FOR"),
      ]);
      const { x, y, width, height } = at;
      const isPlaced = x !== null && y !== null && width !== null && height !== null;
      const own = isPlaced ? { x, y, width, height } : null;
      return {
        id: hwnd,
        title,
        program: process,
        focused,
        place: looks?.mapState === IS_VIEWABLE ? around(own, frame) : undefined,
        owners: [clientOf(hwnd), ...(pid === null ? [] : [`process ${pid}`])],
        dialogOf: dialogOf?.[0] ?? null,
      };
    },
    /** What no window manager cares for: menus, lists, tips. */
    async popups(listed: readonly DesktopWindow[]): Promise<ShownWindow[]> {
      const known = new Set(listed.map(({ hwnd }) => hwnd));
      const children = (await ask.QueryTree(screen.root))?.children ?? [];
      const others = children.filter((id) => !known.has(id)).slice(-MAX_POPUPS);
      const seen = await Promise.all(
        others.map(async (id): Promise<ShownWindow[]> => {
          const looks = await ask.GetWindowAttributes(id);
          if (looks?.mapState !== IS_VIEWABLE || looks.overrideRedirect === 0) return [];
          const [place, pid, dialogOf] = await Promise.all([
            placeOf(id),
            numbersOf(id, "_NET_WM_PID"),
            numbersOf(id, "WM_TRANSIENT_FOR"),
          ]);
          const owners = [clientOf(id), ...(pid?.[0] ? [`process ${pid[0]}`] : [])];
          const named = { id, title: "", program: null, focused: false };
          return [{ ...named, place, owners, dialogOf: dialogOf?.[0] ?? null }];
        }),
      );
      return seen.flat();
    },
  };
}

/** The smallest place around both. */
function around(one: Place | null, other: Place | undefined): Place | null {
  if (!one || !other) return one ?? other ?? null;
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  const right = Math.max(one.x + one.width, other.x + other.width);
  const bottom = Math.max(one.y + one.height, other.y + other.height);
  return { x, y, width: right - x, height: bottom - y };
}

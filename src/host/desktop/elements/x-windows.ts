/**
 * The windows that the X server has, with their places on the screen: some toolkits say places relative to a window, or in units of
 * their own.
 */
import { deadline } from "../../../lib/deadline";
import type { Rect } from "../geometry";
import { connect, type XConnection } from "../x11/connection";
import { IS_VIEWABLE, rectOf, windowProperties } from "../x11/properties";
import { normalized } from "./said";

const CONNECT_MS = 3_000;
/** How many windows are looked at. */
const MAX_WINDOWS = 500;
/** How long a list counts, in milliseconds: a search asks for hundreds of places. */
const FRESH_MS = 100;
/** The bits of an id that are the client's own: the others are the same for all of its windows (`RESOURCE_ID_MASK` of the server). */
const OWN_BITS = 0x1f_ffff;

/** A window on the screen, in pixels. */
export interface XWindow extends Rect {
  readonly id: number;
  /** The same for all windows of one connection to the server. */
  readonly client: number;
  /** The process that says it is its own; null for menus and the like. */
  readonly pid: number | null;
  readonly title: string;
  /** Whether no window manager cares for it: a menu, a list, a tip. */
  readonly isPopup: boolean;
  /** How far its contents begin inside of it, as it draws its own shadow (`_GTK_FRAME_EXTENTS`); undefined where it does not say. */
  readonly shadow: { readonly left: number; readonly top: number } | undefined;
}

/** The windows of a display. */
export interface XWindows {
  /** The windows that are shown, by id; none without an X server. */
  list(): Promise<readonly XWindow[]>;
  close(): void;
}

export function xWindows(env: NodeJS.ProcessEnv): XWindows {
  let connection: Promise<XConnection> | undefined;
  let latest: { readonly at: number; readonly windows: Promise<readonly XWindow[]> } | undefined;
  const opened = () => {
    connection ??= deadline(
      connect(env, () => {
        connection = undefined;
      }),
      { ms: CONNECT_MS },
    );
    connection.catch(() => {
      connection = undefined;
    });
    return connection;
  };
  const read = async () => (env.DISPLAY ? windowsOf(await opened()) : []);
  return {
    list() {
      if (!latest || performance.now() - latest.at > FRESH_MS)
        latest = { at: performance.now(), windows: read().catch(() => []) };
      return latest.windows;
    },
    close() {
      void connection?.then((one) => one.close()).catch(() => {});
    },
  };
}

async function windowsOf(connection: XConnection): Promise<readonly XWindow[]> {
  const { ask, screen } = connection;
  const properties = windowProperties(connection);
  const [listed, onRoot] = await Promise.all([properties.listed(), ask.QueryTree(screen.root)]);
  const popups = (onRoot?.children ?? []).filter((id) => !listed.includes(id));
  const look = async (id: number, isPopup: boolean): Promise<XWindow | undefined> => {
    const looks = await ask.GetWindowAttributes(id);
    if (looks?.mapState !== IS_VIEWABLE || (isPopup && looks.overrideRedirect === 0)) return undefined;
    const [place, pid, title, shadow] = await Promise.all([
      rectOf(connection, id),
      properties.numbersOf(id, "_NET_WM_PID"),
      isPopup ? "" : properties.titleOf(id),
      properties.numbersOf(id, "_GTK_FRAME_EXTENTS"),
    ]);
    if (!place) return undefined;
    const [left, , top] = shadow ?? [];
    return {
      ...place,
      id,
      client: id & ~OWN_BITS,
      pid: pid?.[0] ?? null,
      title: normalized(title),
      isPopup,
      shadow: left === undefined || top === undefined ? undefined : { left, top },
    };
  };
  const all = await Promise.all([
    ...listed.slice(0, MAX_WINDOWS).map((id) => look(id, false)),
    ...popups.slice(-MAX_WINDOWS).map((id) => look(id, true)),
  ]);
  return all.filter((one) => one !== undefined).toSorted((a, b) => a.id - b.id);
}

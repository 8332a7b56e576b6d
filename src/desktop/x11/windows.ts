/**
 * The windows of an X server: from its window manager (Extended Window Manager Hints 1.5), or from the window tree where
 * there is none.
 */
import type { XProperty } from "x11";
import { notFound, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Backend } from "../backend";
import type { XConnection } from "./connection";

const ANY_TYPE = 0;
/** Properties are read up to this many 4-byte units: 64 KiB. */
const PROPERTY_UNITS = 16_384;
/** Map state of a window that is shown (X11/X.h). */
const IS_VIEWABLE = 2;
const REVERT_TO_PARENT = 2;
/** The source of a request to activate: a pager, which acts for the user (EWMH, _NET_ACTIVE_WINDOW). */
const FROM_PAGER = 2;
/** `_NET_WM_DESKTOP` of a window that is on every desktop (EWMH). */
const ALL_DESKTOPS = 0xffff_ffff;
/** The bit of `WM_HINTS` that says whether its second field is set: whether keys may go to the window (ICCCM 4.1.2.4). */
const INPUT_HINT = 1;
/** How long a window may take to get the focus, how often the request is repeated, and the focus read, in milliseconds. */
const FOCUS_MS = 8_000;
const ASK_AGAIN_MS = 200;
const FOCUS_POLL_MS = 10;

export function createWindows(connection: XConnection): Pick<Backend, "windows" | "focus"> {
  const { client, screen, ask, need, settled } = connection;
  const atom = (name: string) => need.InternAtom(false, name);

  const propertyOf = async (id: number, name: string): Promise<XProperty | undefined> => {
    const found = await ask.GetProperty(0, id, await atom(name), ANY_TYPE, 0, PROPERTY_UNITS);
    return found?.type ? found : undefined;
  };

  /** The numbers (or ids, or atoms) in a property of a window; undefined when it is not set. */
  const numbersOf = async (id: number, name: string) => {
    const property = await propertyOf(id, name);
    if (property?.format !== 32) return undefined;
    const { data } = property;
    return Array.from({ length: data.length / 4 }, (_, n) => data.readUInt32LE(n * 4));
  };
  const rootIds = (name: string) => numbersOf(screen.root, name);

  /** Whether a window manager runs: the properties of one that has ended stay on the root (EWMH, _NET_SUPPORTING_WM_CHECK). */
  const isManaged = async () => {
    const [proof] = (await rootIds("_NET_SUPPORTING_WM_CHECK")) ?? [];
    if (proof === undefined) return false;
    return (await numbersOf(proof, "_NET_SUPPORTING_WM_CHECK"))?.[0] === proof;
  };

  /** The windows of programs: as the window manager lists them, else as they are on the root. */
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

  /**
   * `_NET_WM_NAME`, else the window manager's version of the name, else `WM_NAME`, which may be compound text (ICCCM
   * 4.1.2.1).
   */
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

  const takeFocus = async (hwnd: number) => {
    client.MapWindow(hwnd);
    client.RaiseWindow(hwnd);
    // A window must be shown before it can have the focus.
    await settled();
    client.SetInputFocus(hwnd, REVERT_TO_PARENT);
  };

  /**
   * Whether keys go to `hwnd` or a window inside it. The window manager's `_NET_ACTIVE_WINDOW` may mean a window that has
   * gone and had the same id.
   */
  const hasFocus = async (hwnd: number) => {
    const focus = await ask.GetInputFocus();
    // 0 and 1 are no window and the pointer's root (X11/X.h: None, PointerRoot).
    for (let id = focus?.focus ?? 0; id > 1 && id !== screen.root; ) {
      if (id === hwnd) return true;
      id = (await ask.QueryTree(id))?.parent ?? 0;
    }
    return false;
  };

  /** Asks the window manager for the desktop of `hwnd`, and for the window if it is minimised. */
  const bringBack = async (hwnd: number) => {
    const [own, current] = await desktopsOf(hwnd);
    if (own !== undefined && current !== undefined && own !== current) {
      client.SendClientMessage(screen.root, screen.root, await atom("_NET_CURRENT_DESKTOP"), 32, [
        own,
        0,
        0,
        0,
        0,
      ]);
      await settled();
    }
    // Mapping a window is how it stops being an icon (ICCCM 4.1.4).
    if ((await ask.GetWindowAttributes(hwnd))?.mapState !== IS_VIEWABLE) client.MapWindow(hwnd);
  };

  /**
   * The desktop that a window is on, undefined for all of them, and the one that is shown. Both count from 0, and neither is
   * known without a window manager.
   */
  const desktopsOf = async (hwnd: number) => {
    if (!(await isManaged())) return [];
    const [own] = (await numbersOf(hwnd, "_NET_WM_DESKTOP")) ?? [];
    const [current] = (await rootIds("_NET_CURRENT_DESKTOP")) ?? [];
    return [own === ALL_DESKTOPS ? undefined : own, current];
  };

  /** Whether its program wants no keys: neither given by the window manager nor taken by itself (ICCCM 4.1.7). */
  const takesNoKeys = async (hwnd: number) => {
    const [flags = 0, input] = (await numbersOf(hwnd, "WM_HINTS")) ?? [];
    const protocols = (await numbersOf(hwnd, "WM_PROTOCOLS")) ?? [];
    return (flags & INPUT_HINT) !== 0 && input === 0 && !protocols.includes(await atom("WM_TAKE_FOCUS"));
  };

  /** What keeps `hwnd` from the focus. @throws `not_found` when it has been closed. */
  const obstacle = async (hwnd: number): Promise<string> => {
    const attributes = await ask.GetWindowAttributes(hwnd);
    if (!attributes) throw notFound(`window ${hwnd} was closed`);
    const [own, current] = await desktopsOf(hwnd);
    if (own !== undefined && current !== undefined && own !== current) {
      return `it is on desktop ${own + 1}, and the window manager stays on desktop ${current + 1}`;
    }
    if (attributes.mapState !== IS_VIEWABLE)
      return "it is minimised, and the window manager does not restore it";
    for (const other of await listed()) {
      if (await hasFocus(other)) return `window ${other}${await programOf(other)} keeps it`;
    }
    return "no window has it";
  };

  /** ` of XTerm`: from `WM_CLASS`, an instance and a class (ICCCM 4.1.2.5). No title: those need another scope. */
  const programOf = async (id: number) => {
    const [, program] = (await propertyOf(id, "WM_CLASS"))?.data.toString("latin1").split("\0") ?? [];
    return program ? ` of ${printable(program, 80)}` : "";
  };

  return {
    async windows() {
      const ids = await listed();
      return Promise.all(ids.map(async (hwnd) => ({ hwnd, title: await titleOf(hwnd) })));
    },
    /** @throws `not_found` when there is no such window, `unavailable` with what stood in the way of the focus. */
    async focus(hwnd) {
      if (!(await ask.GetWindowAttributes(hwnd))) throw notFound(`there is no window ${hwnd}`);
      const activeWindow = await atom("_NET_ACTIVE_WINDOW");
      const supported = (await isManaged()) ? await rootIds("_NET_SUPPORTED") : undefined;
      const managed = supported?.includes(activeWindow) ?? false;
      if (managed && (await takesNoKeys(hwnd))) {
        throw unavailable(`window ${hwnd} did not get the focus: its program takes no keys`);
      }
      for (const end = performance.now() + FOCUS_MS; performance.now() < end; ) {
        // Repeated: a window manager busy with another window may drop a request.
        if (managed) {
          await bringBack(hwnd);
          client.SendClientMessage(screen.root, hwnd, activeWindow, 32, [FROM_PAGER, 0, 0, 0, 0]);
        } else await takeFocus(hwnd);
        await settled();
        for (const again = performance.now() + ASK_AGAIN_MS; performance.now() < again; ) {
          if (await hasFocus(hwnd)) return;
          await Bun.sleep(FOCUS_POLL_MS);
        }
      }
      const seconds = FOCUS_MS / 1_000;
      throw unavailable(`window ${hwnd} did not get the focus within ${seconds} s: ${await obstacle(hwnd)}`);
    },
  };
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

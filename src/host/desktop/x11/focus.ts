/**
 * Giving a window of an X server the focus: through its window manager, or directly where there is none.
 */
import { notFound, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import type { Backend } from "../backend";
import type { XConnection } from "./connection";
import { IS_VIEWABLE, type WindowProperties } from "./properties";

const REVERT_TO_PARENT = 2;
/** The source of a request: a pager, which acts for the user (EWMH, source indication). */
export const FROM_PAGER = 2;
/** The bit of `WM_HINTS` that says whether its second field is set: whether keys may go to the window (ICCCM 4.1.2.4). */
const INPUT_HINT = 1;
/** How long a window may take to get the focus, how often the request is repeated, and the focus read, in milliseconds. */
const FOCUS_MS = 8_000;
const ASK_AGAIN_MS = 200;
const FOCUS_POLL_MS = 10;

export function createFocus(connection: XConnection, properties: WindowProperties): Pick<Backend, "focus"> {
  const { client, screen, ask, settled } = connection;
  const { atom, numbersOf, rootIds, isManaged, listed, desktopOf, classOf, focused } = properties;
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
  const hasFocus = async (hwnd: number) => (await focused()).has(hwnd);

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

  /** The desktop that a window is on, undefined for all of them, and the one that is shown; neither without a window manager. */
  const desktopsOf = async (hwnd: number) => {
    if (!(await isManaged())) return [];
    const [current] = (await rootIds("_NET_CURRENT_DESKTOP")) ?? [];
    return [await desktopOf(hwnd), current];
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

  /** ` of XTerm`. No title: those need another scope. */
  const programOf = async (id: number) => {
    const program = await classOf(id);
    return program ? ` of ${printable(program, 80)}` : "";
  };

  return {
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

/**
 * The desktop of a Wayland session whose compositor keeps pointer, keys and pictures from programs (KDE): through the portal, once a person
 * has allowed it. Monitors and the clipboard are those of Wayland; pictures come through PipeWire.
 *
 * The portal lists and places no windows: that fails, and says so.
 */
import { messageOf, unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, BackendEvents } from "../backend";
import { createRemoteKeyboard } from "../remote/keyboard";
import { openPipeWire } from "../remote/pipewire";
import { createRemotePointer } from "../remote/pointer";
import { createRemoteScreen, pictureProblem } from "../remote/screen";
import { watchRemote } from "../remote/watch";
import { CLIPBOARD_PROTOCOLS, createClipboard } from "../wayland/clipboard";
import type { WaylandConnection } from "../wayland/connection";
import { boundsOf, createOutputs, type Output } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
import { openSeat } from "../wayland/seat";
import { isKwin, openPortal, type PortalOnBus } from "./portal";
import { createPortalSession, type PortalPermission, type PortalSession } from "./session";

/** The portal of the session; in words, why there is none that lets programs use the desktop. */
export async function findPortal(env: NodeJS.ProcessEnv, lost: () => void): Promise<PortalOnBus | string> {
  const onBus = await openPortal(env, lost);
  if (!onBus) return "there is no session bus (DBUS_SESSION_BUS_ADDRESS)";
  try {
    await onBus.attach();
    return onBus;
  } catch (error) {
    onBus.bus.close();
    return messageOf(error);
  }
}

/**
 * The monitors as the portal shows them. That of Plasma does not say which of several pictures is of which monitor, and 5.27 takes all places to be on
 * the last of them; so it is asked for one picture of them all.
 */
export function shownBy(compositor: string, monitors: readonly Output[]): readonly Output[] {
  const [first] = monitors;
  if (!first || monitors.length === 1 || !isKwin(compositor)) return monitors;
  return [{ ...first, name: "all monitors", region: boundsOf(monitors), transform: 0, scale: 1 }];
}

const NO_WINDOWS = "windows (the portal lists, focuses and places none)";

const noWindows = (): never => {
  throw unavailable(
    "the portal lists, focuses and places no windows: what programs show is found by name (svc help elements)",
  );
};

/** @param connection that to the compositor, as a Wayland client. */
export async function createPortalBackend(
  connection: WaylandConnection,
  onBus: PortalOnBus,
  { clipboard: owns }: Pick<BackendEvents, "clipboard">,
  permission: PortalPermission,
): Promise<Backend> {
  const outputs = await createOutputs(connection);
  const { compositor } = connection;
  const monitors = () => outputsOn(connection, outputs);
  const list = () => shownBy(compositor, monitors());
  const seat = once(() => openSeat(connection));
  const session = createPortalSession({ onBus, permission, monitors: list, compositor });
  const screen = createRemoteScreen(session, list, openPipeWire);
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = createClipboard(connection, seat, owns, clipboardListeners);
  const lookedUp = isKwin(compositor) ? "first" : "in use";
  const { lift: liftKeys, ...keyboard } = createRemoteKeyboard(session, connection, seat, lookedUp);
  const { lift: liftButtons, ...pointer } = createRemotePointer({
    ...{ session, seat, outputs: list, settled: connection.roundTrip, seen: screen.pointer },
  });
  return {
    session: async () => ({
      ...{ system: "wayland", name: compositor, way: "the portal" },
      lacks: [...(await notAllowed(session, screen)), ...noClipboard(connection), NO_WINDOWS],
    }),
    allow: session.allow,
    desktop: screen.desktop,
    monitors: async () => monitors().map(({ region }) => region),
    capture: screen.capture,
    ...pointer,
    ...keyboard,
    ...clipboard,
    windows: async () => noWindows(),
    focus: async () => noWindows(),
    place: async () => noWindows(),
    request: async () => noWindows(),
    keysDown: async () => null,
    async liftAll() {
      await liftKeys();
      await liftButtons();
    },
    watch(events) {
      follow();
      const shown = { ...outputs, list: () => shownBy(compositor, outputs.list()) };
      return watchRemote({ screen, outputs: shown, pointer: pointer.pointer, clipboardListeners }, events);
    },
    async close() {
      screen.close();
      await session.close();
      onBus.bus.close();
      connection.close();
    },
  };
}

/** What the portal does not let svc do, and why. */
async function notAllowed(
  session: PortalSession,
  screen: Pick<Backend, "monitors" | "capture">,
): Promise<readonly string[]> {
  try {
    await session.use();
  } catch (error) {
    return [`pictures, pointer and keys (${messageOf(error)})`];
  }
  const problem = await pictureProblem(screen);
  return problem === undefined ? [] : [`pictures (${problem})`];
}

function noClipboard(connection: WaylandConnection): readonly string[] {
  const offered = new Set(connection.globals().map((global) => global.interface));
  if (CLIPBOARD_PROTOCOLS.some((one) => offered.has(one))) return [];
  return [`clipboard (${CLIPBOARD_PROTOCOLS.join(" or ")})`];
}

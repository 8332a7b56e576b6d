/**
 * The desktop of a Wayland session whose compositor keeps pointer, keys and pictures from programs (KDE): through the portal, once a person
 * has allowed it. Monitors and the clipboard are those of Wayland; pictures come through PipeWire.
 *
 * The portal lists and places no windows: that fails, and says so.
 */
import { messageOf } from "../../../lib/errors";
import type { Backend, BackendEvents } from "../backend";
import { createRemoteBackend } from "../remote/backend";
import { pictureProblem } from "../remote/screen";
import { CLIPBOARD_PROTOCOLS, createClipboard } from "../wayland/clipboard";
import type { WaylandConnection } from "../wayland/connection";
import { boundsOf, createOutputs, type Output } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
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

/** @param connection that to the compositor, as a Wayland client. */
export async function createPortalBackend(
  connection: WaylandConnection,
  onBus: PortalOnBus,
  { clipboard: owns }: Pick<BackendEvents, "clipboard">,
  permission: PortalPermission,
): Promise<Backend> {
  const outputs = await createOutputs(connection);
  const { compositor } = connection;
  const shown = { ...outputs, list: () => shownBy(compositor, outputs.list()) };
  const session = createPortalSession({
    onBus,
    permission,
    monitors: () => outputsOn(connection, shown),
    compositor,
  });
  const desktop = createRemoteBackend({
    connection,
    bus: onBus.bus,
    session,
    outputs: shown,
    lookedUp: isKwin(compositor) ? "first" : "in use",
    clipboard: (seat, listeners) => createClipboard(connection, seat, owns, listeners),
    noWindows:
      "the portal lists, focuses and places no windows: what programs show is found by name (svc help elements)",
  });
  return {
    ...desktop,
    session: async () => ({
      system: "wayland",
      name: compositor,
      way: "the portal",
      lacks: [...(await notAllowed(session, desktop)), ...noClipboard(connection), NO_WINDOWS],
    }),
    allow: session.allow,
    monitors: async () => outputsOn(connection, outputs).map(({ region }) => region),
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

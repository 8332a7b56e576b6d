/**
 * The one place where the way to a Linux desktop is chosen: the protocols of wlroots, Mutter's remote desktop (GNOME), the portal (KDE), or X.
 */
import { isNoScreen } from "../../lib/errors";
import type { Backend, BackendEvents } from "./backend";
import type { PortalPermission } from "./portal/session";

/**
 * Wayland before X11: where both are there, the X server is Xwayland, which shows the windows of X programs alone.
 *
 * @throws `no_screen` where neither answers.
 */
export async function createLinuxBackend(
  events: BackendEvents,
  permission: PortalPermission,
): Promise<Backend> {
  const { WAYLAND_DISPLAY, DISPLAY } = process.env;
  if (WAYLAND_DISPLAY) {
    try {
      return await createOnWayland(events, permission);
    } catch (error) {
      // The variable may be left over from a session that has ended.
      if (!DISPLAY || !isNoScreen(error)) throw error;
    }
  }
  return (await import("./x11/backend")).createX11Backend(events);
}

/** A compositor that has none gets the first: what is done there names the protocol that it lacks. */
async function createOnWayland(events: BackendEvents, permission: PortalPermission): Promise<Backend> {
  const [{ connectWayland }, { createWaylandBackend, hasOwnProtocols }] = await Promise.all([
    import("./wayland/connection"),
    import("./wayland/backend"),
  ]);
  let isOver = false;
  const lost = () => {
    if (isOver) return;
    isOver = true;
    events.lost();
  };
  const connection = await connectWayland(process.env, lost);
  if (hasOwnProtocols(connection)) return createWaylandBackend(connection, events);
  const busLost = () => {
    connection.close();
    lost();
  };
  const { createGnomeBackend, findMutter } = await import("./gnome/backend");
  const mutter = await findMutter(process.env, connection.pid, busLost);
  if (mutter) return createGnomeBackend(connection, mutter, events);
  const { createPortalBackend, findPortal } = await import("./portal/backend");
  const portal = await findPortal(process.env, busLost);
  if (typeof portal === "string") return createWaylandBackend(connection, events, portal);
  return createPortalBackend(connection, portal, events, permission);
}

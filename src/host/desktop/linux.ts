/**
 * The one place where the way to a Linux desktop is chosen: the protocols of wlroots, Mutter's remote desktop (GNOME), or X.
 */
import { isNoScreen } from "../../lib/errors";
import type { Backend, BackendEvents } from "./backend";

/**
 * Wayland before X11: where both are there, the X server is Xwayland, which shows the windows of X programs alone.
 *
 * @throws `no_screen` where neither answers.
 */
export async function createLinuxBackend(events: BackendEvents): Promise<Backend> {
  const { WAYLAND_DISPLAY, DISPLAY } = process.env;
  if (WAYLAND_DISPLAY) {
    try {
      return await createOnWayland(events);
    } catch (error) {
      // The variable may be left over from a session that has ended.
      if (!DISPLAY || !isNoScreen(error)) throw error;
    }
  }
  return (await import("./x11/backend")).createX11Backend(events);
}

/** A compositor that has neither gets the first: what is done there names the protocol that it lacks. */
async function createOnWayland(events: BackendEvents): Promise<Backend> {
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
  if (!hasOwnProtocols(connection)) {
    const { createGnomeBackend, findMutter } = await import("./gnome/backend");
    const mutter = await findMutter(process.env, connection.pid, () => {
      connection.close();
      lost();
    });
    if (mutter) return createGnomeBackend(connection, mutter, events);
  }
  return createWaylandBackend(connection, events);
}

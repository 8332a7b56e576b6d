/**
 * The desktop of a Wayland compositor of the wlroots family, over its own protocols: nobody is asked, and no library of the host is needed.
 *
 * What a compositor does not offer fails when it is used, and says which protocol is missing.
 */
import { once } from "../../../lib/once";
import type { Backend, BackendEvents } from "../backend";
import { createClipboard } from "./clipboard";
import { connectWayland } from "./connection";
import { createKeyboard } from "./keyboard";
import { createOutputs } from "./outputs";
import { createPointer } from "./pointer";
import { createScreen } from "./screen";
import { openSeat } from "./seat";
import { openSway } from "./sway-ipc";
import { createSwayWindows } from "./sway-windows";
import { createToplevels } from "./toplevels";
import { watchWayland } from "./watch";

/**
 * @param events.lost called when the compositor has gone; the backend is of no use then.
 * @throws a `no_screen` failure where no compositor answers.
 */
export async function createWaylandBackend({ lost, clipboard: owns }: BackendEvents): Promise<Backend> {
  const connection = await connectWayland(process.env, lost);
  const outputs = await createOutputs(connection);
  const seat = once(() => openSeat(connection));
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = createClipboard(connection, seat, owns, clipboardListeners);
  const { lift: liftButtons, ...pointer } = createPointer(connection, outputs, seat);
  const { lift: liftKeys, ...keyboard } = createKeyboard(connection, seat);
  const sway = openSway(connection.pid, process.env);
  const liftAll = async () => {
    await liftKeys();
    await liftButtons();
  };
  return {
    ...createScreen(connection, outputs),
    ...pointer,
    ...keyboard,
    ...(sway ? createSwayWindows(sway) : createToplevels(connection, seat)),
    ...clipboard,
    liftAll,
    watch(events) {
      follow();
      return watchWayland({ connection, outputs, pointer: pointer.pointer, clipboardListeners }, events);
    },
    async close() {
      // The devices go with the connection.
      connection.close();
    },
  };
}

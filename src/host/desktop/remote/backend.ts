/**
 * What the desktops of GNOME and of the portal have in common. Neither lists nor places windows for svc: that fails, and says so.
 */
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend } from "../backend";
import type { WaylandConnection } from "../wayland/connection";
import type { Outputs } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
import { openSeat, type Seat } from "../wayland/seat";
import type { SessionBus } from "./dbus";
import { createRemoteKeyboard } from "./keyboard";
import type { LookedUp } from "./layout";
import { openPipeWire } from "./pipewire";
import { createRemotePointer } from "./pointer";
import { createRemoteScreen } from "./screen";
import type { RemoteSession } from "./session";
import { watchRemote } from "./watch";

/** What the desktop is made of. */
interface RemoteParts {
  readonly connection: WaylandConnection;
  readonly bus: SessionBus;
  readonly session: RemoteSession & { close(): Promise<void> };
  /** What is shown: each is a picture of its own. */
  readonly outputs: Outputs;
  readonly lookedUp: LookedUp;
  /** @param listeners each is called when the text may be another. */
  clipboard(
    seat: () => Promise<Seat>,
    listeners: ReadonlySet<() => void>,
  ): Pick<Backend, "clipboard" | "setClipboard"> & { follow(): void };
  /** What is said to who asks for windows. */
  readonly noWindows: string;
}

/** The desktop, but for what it says of the session. */
export function createRemoteBackend(parts: RemoteParts): Omit<Backend, "session"> {
  const { connection, session, outputs } = parts;
  const list = () => outputsOn(connection, outputs);
  const seat = once(() => openSeat(connection));
  const screen = createRemoteScreen(session, list, openPipeWire);
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = parts.clipboard(seat, clipboardListeners);
  const { lift: liftKeys, ...keyboard } = createRemoteKeyboard(session, connection, seat, parts.lookedUp);
  const { lift: liftButtons, ...pointer } = createRemotePointer({
    session,
    seat,
    outputs: list,
    settled: connection.roundTrip,
    seen: screen.pointer,
  });
  const noWindows = async (): Promise<never> => {
    throw unavailable(parts.noWindows);
  };
  return {
    desktop: screen.desktop,
    monitors: screen.monitors,
    capture: screen.capture,
    ...pointer,
    ...keyboard,
    ...clipboard,
    windows: noWindows,
    focus: noWindows,
    place: noWindows,
    request: noWindows,
    keysDown: async () => null,
    async liftAll() {
      await liftKeys();
      await liftButtons();
    },
    watch(events) {
      follow();
      return watchRemote({ screen, outputs, pointer: pointer.pointer, clipboardListeners }, events);
    },
    async close() {
      screen.close();
      await session.close();
      parts.bus.close();
      connection.close();
    },
  };
}

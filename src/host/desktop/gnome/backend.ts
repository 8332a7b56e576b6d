/**
 * The desktop of GNOME, through the interfaces that its compositor, Mutter, has on the session bus: nobody is asked. Monitors are those of Wayland;
 * pictures come through the PipeWire of the host.
 *
 * GNOME lists and places its windows for no other program: that fails, and says so.
 */
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, BackendEvents } from "../backend";
import { openSessionBus, type SessionBus } from "../remote/dbus";
import { createRemoteKeyboard } from "../remote/keyboard";
import { openPipeWire } from "../remote/pipewire";
import { createRemotePointer } from "../remote/pointer";
import { createRemoteScreen, pictureProblem } from "../remote/screen";
import { watchRemote } from "../remote/watch";
import type { WaylandConnection } from "../wayland/connection";
import { createOutputs } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
import { openSeat } from "../wayland/seat";
import { createGnomeClipboard } from "./clipboard";
import { createGnomeSession, MUTTER } from "./session";

/** Mutter on the session bus. */
export interface MutterOnBus {
  readonly bus: SessionBus;
  /** Its unique name. */
  readonly owner: string;
}

/**
 * Mutter, where it is the compositor that this process is connected to, and not that of another session.
 *
 * @param compositor its process. @param lost called when the session bus goes.
 */
export async function findMutter(
  env: NodeJS.ProcessEnv,
  compositor: number,
  lost: () => void,
): Promise<MutterOnBus | undefined> {
  const bus = await openSessionBus(env, lost).catch(() => undefined);
  const owner = await bus?.ownerOf(MUTTER).catch(() => undefined);
  if (bus && owner?.pid === compositor) return { bus, owner: owner.name };
  bus?.close();
  return undefined;
}

/** What GNOME does for no program but its own (`org.gnome.Shell.Introspect`). */
const NO_WINDOWS = "windows (GNOME lists, focuses and places them for its own programs alone)";

const noWindows = (): never => {
  throw unavailable(
    "GNOME lists, focuses and places windows for its own programs alone: what programs show is found by name (svc help elements)",
  );
};

/** @param connection that to Mutter, as a Wayland client. */
export async function createGnomeBackend(
  connection: WaylandConnection,
  { bus, owner }: MutterOnBus,
  { clipboard: owns }: Pick<BackendEvents, "clipboard">,
): Promise<Backend> {
  const outputs = await createOutputs(connection);
  const list = () => outputsOn(connection, outputs);
  const seat = once(() => openSeat(connection));
  const session = await createGnomeSession(bus, owner, list);
  const screen = createRemoteScreen(session, list, openPipeWire);
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = createGnomeClipboard(session, owns, clipboardListeners);
  const { lift: liftKeys, ...keyboard } = createRemoteKeyboard(session, connection, seat, "in use");
  const { lift: liftButtons, ...pointer } = createRemotePointer({
    ...{ session, seat, outputs: list, settled: connection.roundTrip, seen: screen.pointer },
  });
  return {
    async session() {
      const { castProblem } = await session.use();
      const pictures = castProblem ?? (await pictureProblem(screen));
      const lacks = [...(pictures === undefined ? [] : [`pictures (${pictures})`]), NO_WINDOWS];
      return { system: "wayland", name: connection.compositor, way: "Mutter's remote desktop", lacks };
    },
    desktop: screen.desktop,
    monitors: screen.monitors,
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
      return watchRemote({ screen, outputs, pointer: pointer.pointer, clipboardListeners }, events);
    },
    async close() {
      screen.close();
      await session.close();
      bus.close();
      connection.close();
    },
  };
}

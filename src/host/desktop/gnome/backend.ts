/**
 * The desktop of GNOME, through the interfaces that its compositor, Mutter, has on the session bus: nobody is asked. Monitors are those of Wayland;
 * pictures come through the PipeWire of the host.
 *
 * GNOME lists and places its windows for no other program: that fails, and says so.
 */
import { messageOf, unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend, BackendEvents } from "../backend";
import type { WaylandConnection } from "../wayland/connection";
import { createOutputs } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
import { openSeat } from "../wayland/seat";
import { createGnomeClipboard } from "./clipboard";
import { openSessionBus, type SessionBus } from "./dbus";
import { createGnomeKeyboard } from "./keyboard";
import { openPipeWire } from "./pipewire";
import { createGnomePointer } from "./pointer";
import { createGnomeScreen } from "./screen";
import { createGnomeSession, MUTTER } from "./session";
import { watchGnome } from "./watch";

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
  const screen = createGnomeScreen(session, list, openPipeWire);
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = createGnomeClipboard(session, owns, clipboardListeners);
  const { lift: liftKeys, ...keyboard } = createGnomeKeyboard(session, connection, seat);
  const { lift: liftButtons, ...pointer } = createGnomePointer({
    ...{ session, seat, outputs: list, settled: connection.roundTrip, seen: screen.pointer },
  });
  return {
    async session() {
      const { castProblem } = await session.use();
      const pictures = castProblem ?? (await problemOf(screen.monitors, screen.capture));
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
      return watchGnome({ screen, outputs, pointer: pointer.pointer, clipboardListeners }, events);
    },
    async close() {
      screen.close();
      await session.close();
      bus.close();
      connection.close();
    },
  };
}

/** Why there are no pictures; undefined where there are. */
async function problemOf(
  monitors: Backend["monitors"],
  capture: Backend["capture"],
): Promise<string | undefined> {
  try {
    const [first] = await monitors();
    if (first) await capture({ x1: first.x1, y1: first.y1, x2: first.x1 + 1, y2: first.y1 + 1 });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * The desktop of GNOME, through the interfaces that its compositor, Mutter, has on the session bus: nobody is asked. Monitors are those of Wayland;
 * pictures come through the PipeWire of the host.
 *
 * GNOME lists and places its windows for no other program: that fails, and says so.
 */
import type { Backend, BackendEvents } from "../backend";
import { createRemoteBackend } from "../remote/backend";
import { openSessionBus, type SessionBus } from "../remote/dbus";
import { pictureProblem } from "../remote/screen";
import type { WaylandConnection } from "../wayland/connection";
import { createOutputs } from "../wayland/outputs";
import { outputsOn } from "../wayland/screen";
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

/** @param connection that to Mutter, as a Wayland client. */
export async function createGnomeBackend(
  connection: WaylandConnection,
  { bus, owner }: MutterOnBus,
  { clipboard: owns }: Pick<BackendEvents, "clipboard">,
): Promise<Backend> {
  const outputs = await createOutputs(connection);
  const session = await createGnomeSession(bus, owner, () => outputsOn(connection, outputs));
  const desktop = createRemoteBackend({
    connection,
    bus,
    session,
    outputs,
    lookedUp: "in use",
    clipboard: (_seat, listeners) => createGnomeClipboard(session, owns, listeners),
    noWindows:
      "GNOME lists, focuses and places windows for its own programs alone: what programs show is found by name (svc help elements)",
  });
  return {
    ...desktop,
    async session() {
      const { castProblem } = await session.use();
      const pictures = castProblem ?? (await pictureProblem(desktop));
      const lacks = [...(pictures === undefined ? [] : [`pictures (${pictures})`]), NO_WINDOWS];
      return { system: "wayland", name: connection.compositor, way: "Mutter's remote desktop", lacks };
    },
  };
}

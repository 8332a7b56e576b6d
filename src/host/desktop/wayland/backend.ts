/**
 * The desktop of a Wayland compositor of the wlroots family, over its own protocols: nobody is asked, and no library of the host is needed.
 *
 * What a compositor does not offer fails when it is used, and says which protocol is missing.
 */
import { once } from "../../../lib/once";
import type { Backend, BackendEvents } from "../backend";
import { CAPTURE_PROTOCOLS } from "./capture";
import { CLIPBOARD_PROTOCOLS, createClipboard } from "./clipboard";
import type { WaylandConnection } from "./connection";
import { openFrames } from "./frames";
import { createKeyboard } from "./keyboard";
import { createOutputs } from "./outputs";
import { createWaylandPointer } from "./pointer";
import { createScreen } from "./screen";
import { openSeat } from "./seat";
import { openSway } from "./sway-ipc";
import { createSwayWindows } from "./sway-windows";
import { createToplevels } from "./toplevels";
import { watchWayland } from "./watch";

/** What svc does by which protocols, one of which a compositor has to offer. */
const PARTS: ReadonlyArray<readonly [what: string, ...protocols: string[]]> = [
  ["pictures", CAPTURE_PROTOCOLS[0], "zwlr_screencopy_manager_v1"],
  ["pointer", "zwlr_virtual_pointer_manager_v1"],
  ["keys", "zwp_virtual_keyboard_manager_v1"],
  ["clipboard", ...CLIPBOARD_PROTOCOLS],
  ["windows", "zwlr_foreign_toplevel_manager_v1"],
];

/** What cannot be done with these globals. @param listsWindows whether windows are listed by another way. */
function lacking(globals: ReadonlyArray<{ readonly interface: string }>, listsWindows: boolean): string[] {
  const offered = new Set(globals.map((global) => global.interface));
  return PARTS.flatMap(([what, ...protocols]) => {
    const isThere = protocols.some((one) => offered.has(one)) || (what === "windows" && listsWindows);
    return isThere ? [] : [`${what} (${protocols.join(" or ")})`];
  });
}

/** The parts by which a desktop is seen and used: KWin has a clipboard for programs, and keeps these from them. */
const OWN = PARTS.slice(0, 3).flatMap(([, ...protocols]) => protocols);

/** Whether a compositor lets programs see or use the desktop by protocols of Wayland. */
export const hasOwnProtocols = (connection: WaylandConnection): boolean =>
  connection.globals().some((global) => OWN.includes(global.interface));

/**
 * @param events.clipboard gets whether this process hands the text of the clipboard to others.
 * @param otherWay why there is no other way either, in words; undefined where none was looked for.
 */
export async function createWaylandBackend(
  connection: WaylandConnection,
  { clipboard: owns }: Pick<BackendEvents, "clipboard">,
  otherWay?: string,
): Promise<Backend> {
  const outputs = await createOutputs(connection);
  const seat = once(() => openSeat(connection));
  const clipboardListeners = new Set<() => void>();
  const { follow, ...clipboard } = createClipboard(connection, seat, owns, clipboardListeners);
  const { lift: liftButtons, ...pointer } = createWaylandPointer(connection, outputs, seat);
  const { lift: liftKeys, ...keyboard } = createKeyboard(connection, seat);
  // Bound once: the compositor keeps what is bound for as long as the connection.
  const frames = once(async () => openFrames(connection));
  const sway = openSway(connection.pid, process.env);
  const liftAll = async () => {
    await liftKeys();
    await liftButtons();
  };
  return {
    session: async () => ({
      system: "wayland",
      name: connection.compositor,
      way: "the protocols of wlroots",
      lacks: [
        ...lacking(connection.globals(), sway !== undefined),
        ...(otherWay === undefined ? [] : [`portal (${otherWay})`]),
      ],
    }),
    ...createScreen(connection, outputs, frames),
    ...pointer,
    ...keyboard,
    ...(sway ? createSwayWindows(sway) : createToplevels(connection, seat)),
    ...clipboard,
    // A compositor tells of keys only those windows that have the focus.
    keysDown: async () => null,
    liftAll,
    watch(events) {
      follow();
      const parts = { connection, outputs, frames, pointer: pointer.pointer, clipboardListeners };
      return watchWayland(parts, events);
    },
    async close() {
      // The devices go with the connection.
      connection.close();
    },
  };
}

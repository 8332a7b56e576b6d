/**
 * The token by which the portal restores a session: it is good for one session at a time.
 *
 * xdg-desktop-portal takes the token from its store when a session names it (`SelectDevices`), and puts it back when that session has started. Whoever
 * comes in between is not restored, but a person is asked; and where the session never starts, the token is lost
 * (`desktop-portal/xdp-session-persistence.c`, `start_done` in `remote-desktop.c`). So one process of a session bus restores at a time.
 */
import { sleep } from "../../../lib/deadline";
import { unavailable } from "../../../lib/errors";
import { isRefusal, type SessionBus } from "../remote/dbus";

const BUS = "org.freedesktop.DBus";
/** The name on the bus of who restores: the bus gives it to one connection at a time, and takes it from one that ends. */
const TURN = "svc.desktop.Restoring";
/** `RequestName` (D-Bus Specification, "Message Bus Messages"): not to wait in its queue; the answer of who owns the name by it. */
const [DO_NOT_QUEUE, IS_OWNER] = [4, 1];
/** How often it is tried while another process restores, in milliseconds. */
const AGAIN_MS = 50;
/** What keeps the tokens (`org.freedesktop.impl.portal.PermissionStore.xml`), and the table that they are in (`REMOTE_DESKTOP_PERMISSION_TABLE`). */
const STORE = "org.freedesktop.impl.portal.PermissionStore";
const STORE_PATH = "/org/freedesktop/impl/portal/PermissionStore";
const TABLE = "remote-desktop";
const NOT_FOUND = "org.freedesktop.portal.Error.NotFound";

const onBus = (member: string) => ({ path: "/org/freedesktop/DBus", face: BUS, member });

/**
 * Runs `work` while no other process of svc on this bus is in such a piece of work.
 *
 * @param ms how long to wait for that. @throws `unavailable` where it takes longer; what `work` throws.
 */
export async function inTurn<T>(bus: SessionBus, ms: number, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  while (!(await takesTurn(bus))) {
    if (performance.now() - began > ms)
      throw unavailable("the portal is still letting another process of svc in: try again in a minute");
    await sleep(AGAIN_MS, undefined);
  }
  try {
    return await work();
  } finally {
    await bus.call(BUS, onBus("ReleaseName"), "s", [TURN]).catch(() => {});
  }
}

/** A bus that gives out no names has no turns: what the store says is all there is. */
async function takesTurn(bus: SessionBus): Promise<boolean> {
  try {
    const [answer] = await bus.call(BUS, onBus("RequestName"), "su", [TURN, DO_NOT_QUEUE]);
    return answer === IS_OWNER;
  } catch (error) {
    if (isRefusal(error, "org.freedesktop.DBus.Error.AccessDenied")) return true;
    throw error;
  }
}

/** Whether the portal has `token`: without it, the portal would ask a person. Undefined where its store does not say. */
export async function isInStore(bus: SessionBus, token: string): Promise<boolean | undefined> {
  try {
    await bus.call(STORE, { path: STORE_PATH, face: STORE, member: "Lookup" }, "ss", [TABLE, token]);
    return true;
  } catch (error) {
    // The message names the token: it goes nowhere.
    return isRefusal(error, NOT_FOUND) ? false : undefined;
  }
}

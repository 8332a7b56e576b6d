/**
 * Moving, resizing, closing, minimising and maximising windows of an X server: by asking its window manager (EWMH 1.5,
 * "Root Window Messages"), or directly where there is none.
 */
import { notFound, unavailable } from "../../../lib/errors";
import type { Backend, Place, WindowRequest } from "../backend";
import type { XConnection } from "./connection";
import { FROM_PAGER } from "./focus";
import { IS_VIEWABLE, type WindowProperties } from "./properties";
import type { WindowLook } from "./windows";

/** How long a window manager may take, how often it is asked, and the window looked at, in milliseconds. */
const DONE_MS = 3_000;
const ASK_AGAIN_MS = 300;
const POLL_MS = 10;
/** How long a window stays at a place other than what was asked for until that counts, in milliseconds. */
const SETTLED_MS = 600;

/** `_NET_WM_STATE_REMOVE`, `_NET_WM_STATE_ADD` (EWMH). */
const [REMOVE, ADD] = [0, 1];
/** IconicState (ICCCM 4.1.4). */
const ICONIC = 3;
/** `_NET_MOVERESIZE_WINDOW`: the place is that of the frame's corner (NorthWestGravity), and the bits of x, y, width, height. */
const NORTH_WEST = 1;
const GIVEN = { x: 1 << 8, y: 1 << 9, width: 1 << 10, height: 1 << 11 };

export function createArrange(
  connection: XConnection,
  properties: WindowProperties,
  look: WindowLook,
): Pick<Backend, "place" | "request"> {
  const { client, ask, settled } = connection;
  const { isManaged } = properties;
  const { placeOf, marginOf, stateOf } = look;
  const messages = createMessages(connection, properties);
  const requests = createRequests(connection, properties, look, messages);

  const requireWindow = async (hwnd: number) => {
    if (!(await ask.GetWindowAttributes(hwnd))) throw notFound(`there is no window ${hwnd}`);
  };

  /** Makes it a window of its own size, which a window manager may then move. */
  const makeNormal = async (hwnd: number) => {
    const reset = async () => {
      await messages.setStates(hwnd, REMOVE, "MAXIMIZED_VERT", "MAXIMIZED_HORZ");
      await messages.setStates(hwnd, REMOVE, "FULLSCREEN");
    };
    const isFree = async () => !["maximized", "fullscreen"].includes(await stateOf(hwnd));
    if (!(await isFree())) await ensure(reset, isFree);
  };

  /** Asks for `wanted`, in the measures of the window itself. */
  const askFor = async (hwnd: number, wanted: Partial<Place>) => {
    const margin = await marginOf(hwnd);
    const inner = {
      ...(wanted.x !== undefined && { x: wanted.x }),
      ...(wanted.y !== undefined && { y: wanted.y }),
      ...(wanted.width !== undefined && { width: Math.max(1, wanted.width - margin.left - margin.right) }),
      ...(wanted.height !== undefined && { height: Math.max(1, wanted.height - margin.top - margin.bottom) }),
    };
    if (!(await messages.understands("_NET_MOVERESIZE_WINDOW"))) {
      client.ConfigureWindow(hwnd, inner);
      return settled();
    }
    const { x = 0, y = 0, width = 0, height = 0 } = inner;
    const given = Object.keys(inner).reduce((bits, name) => bits | GIVEN[name as keyof Place], 0);
    const flags = NORTH_WEST | given | (FROM_PAGER << 12);
    await messages.send(hwnd, "_NET_MOVERESIZE_WINDOW", flags, x, y, width, height);
  };

  return {
    async place(hwnd, wanted) {
      await requireWindow(hwnd);
      if (await isManaged()) await makeNormal(hwnd);
      let last: Place | undefined;
      let since = performance.now();
      await ensure(
        () => askFor(hwnd, wanted),
        async () => {
          const place = await placeOf(hwnd);
          if (!place) throw notFound(`window ${hwnd} was closed`);
          if (JSON.stringify(place) !== JSON.stringify(last)) since = performance.now();
          last = place;
          const isThere = Object.entries(wanted).every(
            ([name, value]) => place[name as keyof Place] === value,
          );
          return isThere || performance.now() - since > SETTLED_MS;
        },
      );
      if (!last) throw notFound(`window ${hwnd} was closed`);
      return last;
    },
    async request(hwnd, what) {
      await requireWindow(hwnd);
      await requests[what](hwnd);
    },
  };
}

/** Repeats `request`, which a window manager that is busy may drop, until `isDone`. @returns whether it is. */
async function ensure(request: () => Promise<void>, isDone: () => Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + DONE_MS; performance.now() < end; ) {
    await request();
    for (const again = performance.now() + ASK_AGAIN_MS; performance.now() < again; ) {
      if (await isDone()) return true;
      await Bun.sleep(POLL_MS);
    }
  }
  return false;
}

/** What a window manager is asked with. */
interface WindowMessages {
  /** Sends a message about a window, with up to five numbers. */
  send(hwnd: number, message: string, ...data: readonly number[]): Promise<void>;
  /** Whether there is a window manager that understands the message. */
  understands(message: string): Promise<boolean>;
  /** @param action what becomes of them: `ADD` or `REMOVE`. @param names one or two, without `_NET_WM_STATE_`. */
  setStates(hwnd: number, action: number, ...names: readonly string[]): Promise<void>;
}

function createMessages(
  { client, screen, settled }: XConnection,
  { atom, rootIds, isManaged }: WindowProperties,
): WindowMessages {
  const send: WindowMessages["send"] = async (hwnd, message, ...data) => {
    const filled = [...data, 0, 0, 0, 0, 0].slice(0, 5).map((value) => value >>> 0);
    client.SendClientMessage(screen.root, hwnd, await atom(message), 32, filled);
    await settled();
  };
  return {
    send,
    understands: async (message) =>
      (await isManaged()) && ((await rootIds("_NET_SUPPORTED")) ?? []).includes(await atom(message)),
    async setStates(hwnd, action, ...names) {
      const [first = 0, second = 0] = await Promise.all(names.map((name) => atom(`_NET_WM_STATE_${name}`)));
      await send(hwnd, "_NET_WM_STATE", action, first, second, FROM_PAGER);
    },
  };
}

/** What the buttons of a window do. */
function createRequests(
  { client, ask, settled }: XConnection,
  { atom, numbersOf, isManaged }: WindowProperties,
  { stateOf }: WindowLook,
  { send, understands, setStates }: WindowMessages,
): Record<WindowRequest, (hwnd: number) => Promise<void>> {
  const requireManager = async (hwnd: number, what: string) => {
    if (!(await isManaged()))
      throw unavailable(`window ${hwnd} cannot be ${what}: there is no window manager`);
  };
  return {
    async close(hwnd) {
      if (await understands("_NET_CLOSE_WINDOW")) {
        return send(hwnd, "_NET_CLOSE_WINDOW", 0, FROM_PAGER);
      }
      const [protocols, close] = [await atom("WM_PROTOCOLS"), await atom("WM_DELETE_WINDOW")];
      if (!((await numbersOf(hwnd, "WM_PROTOCOLS")) ?? []).includes(close)) {
        throw unavailable(`window ${hwnd} cannot be asked to close: its program does not take that request`);
      }
      client.SendClientMessage(hwnd, hwnd, protocols, 32, [close, 0, 0, 0, 0], 0);
      await settled();
    },
    async minimize(hwnd) {
      await requireManager(hwnd, "minimised");
      const isDone = async () => (await stateOf(hwnd)) === "minimized";
      if (await ensure(() => send(hwnd, "WM_CHANGE_STATE", ICONIC), isDone)) return;
      throw unavailable(`window ${hwnd} was not minimised: the window manager did not do it`);
    },
    async maximize(hwnd) {
      await requireManager(hwnd, "maximised");
      const isDone = async () => (await stateOf(hwnd)) === "maximized";
      const request = async () => {
        // Mapping a window is how it stops being an icon (ICCCM 4.1.4).
        if ((await ask.GetWindowAttributes(hwnd))?.mapState !== IS_VIEWABLE) client.MapWindow(hwnd);
        await setStates(hwnd, REMOVE, "FULLSCREEN");
        await setStates(hwnd, ADD, "MAXIMIZED_VERT", "MAXIMIZED_HORZ");
      };
      if (await ensure(request, isDone)) return;
      throw unavailable(`window ${hwnd} was not maximised: the window manager did not do it`);
    },
  };
}
